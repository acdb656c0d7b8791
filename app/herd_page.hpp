// The report of `drover herd`.
#pragma once

#include <string>
#include <vector>

#include "drover/herd/herding.hpp"

namespace drover::app {

struct HerdMoment {
  std::string feature;
  double asked, reached;
};

struct HerdPage {
  std::string data;
  std::size_t variables = 0;
  std::size_t rows = 0;  ///< 0 for a moments file
  std::size_t features = 0;
  std::string search{};
  double seconds = 0;
  const HerdSummary& summary;
  std::vector<double> data_count_distribution{};  ///< may be empty
  std::vector<HerdMoment> worst{};                ///< the largest error first
  std::string classified{};                       ///< a sentence; empty without --classify
  std::vector<std::string> warnings{};
  std::string json{};
};

std::string herd_page(const HerdPage& page);

}  // namespace drover::app
