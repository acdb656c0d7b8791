// What a run of drover text found, and its report page.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "app/settings.hpp"
#include "drover/text/corpus.hpp"
#include "drover/text/text_model.hpp"
#include "drover/text/text_posterior.hpp"

namespace drover::app {

/// Documents whose most probable class has a similar probability: how often is it right?
struct CalibrationBin {
  std::uint64_t documents = 0;
  double mean_probability = 0;
  double accuracy = 0;
};

/// Ten equal steps from 1 / classes to 1; empty ones are left out.
std::vector<CalibrationBin> calibration(std::span<const double> probabilities,
                                        std::span<const std::uint32_t> labels,
                                        std::span<const std::uint32_t> truth, std::uint32_t classes);

struct TextResult {
  Corpus corpus;
  std::vector<std::uint32_t> shown;  ///< labels that the sampler saw
  std::size_t open = 0;              ///< documents without a shown label
  NaiveBayesOptions options;
  TextPosterior posterior;
  TextModel model;
  std::vector<std::uint32_t> labels;                           ///< the most probable class of every document
  double accuracy = std::numeric_limits<double>::quiet_NaN();  ///< on hidden labels; NaN when none was hidden
  std::vector<CalibrationBin> calibration;
  std::vector<std::string> warnings;
  double seconds = 0;
};

std::string text_page(const Invocation& invocation, const TextResult& result, const std::string& result_json);

}  // namespace drover::app
