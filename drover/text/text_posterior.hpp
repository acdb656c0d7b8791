// A whole run of the text sampler: burn-in, lag, chains; what its draws say about labels, words and
// convergence.
//
// Label probabilities average the conditionals that labels were drawn from (Rao-Blackwell), not the labels.
//
// Classes without a labelled document are interchangeable, so a chain may swap their names, and chains name
// them differently. Each draw is therefore renamed to agree best with the chain's first kept draw, and each
// chain to agree best with the chain of the highest log joint (matching.hpp). This names modes alike; it does
// not make chains in different modes agree: chain_agreement and R-hat say whether they do. The mass of a mode
// grows with exp(log joint), so a chain that stays far below the best one (by more than four standard
// deviations of both) says nothing about the posterior: it is left out of what is averaged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/keeper.hpp"
#include "drover/core/run_control.hpp"
#include "drover/diagnose/summary.hpp"
#include "drover/text/naive_bayes_gibbs.hpp"

namespace drover {

struct TextRun {
  std::uint64_t burn_in = 100;
  std::uint64_t sweeps = 400;     ///< after burn-in
  std::uint64_t thin = 1;         ///< every thin-th sweep is kept
  StateKeeper* keeper = nullptr;  ///< goes on from what it has, saves on the way and at the end
};

struct TextPosterior {
  std::uint32_t classes = 0;
  std::vector<double> probabilities;    ///< (document, class); 0 and 1 where the label is known
  std::vector<double> class_documents;  ///< by class: documents on average
  std::vector<double> class_tokens;     ///< by class: words on average
  std::vector<double> word_counts;      ///< (word, class): occurrences on average
  double class_pseudo_count = 0;        ///< on average
  double word_pseudo_count = 0;
  std::vector<double> word_pseudo_counts;  ///< by word; empty: all are word_pseudo_count
  std::vector<std::vector<double>> trace;  ///< log joint by chain, every sweep from the first
  std::uint64_t burn_in = 0;               ///< sweeps done
  bool shortened_burn_in = false;          ///< by the time limit
  std::uint64_t sweeps = 0;                ///< done after burn-in
  std::uint64_t draws = 0;                 ///< kept, per chain
  DrawsSummary log_joint{};                ///< of the kept draws
  std::vector<double> kept_log_joint;      ///< chain after chain
  bool renamed = false;                    ///< there were interchangeable classes
  double chain_agreement = 1;         ///< the smallest share of open documents that two chains label alike
  std::uint32_t chains_left_out = 0;  ///< which stayed in modes far less probable
  double updates = 0;                 ///< labels drawn times distinct words in them

  std::uint32_t label(std::size_t document) const;
};

/// Looks at the control after every sweep. A time limit that would end inside burn-in shortens it to half of
/// the time. Raises stopped or interrupted when no draw was kept.
TextPosterior sample_text(const WordCounts& documents, std::span<const std::uint32_t> labels,
                          const NaiveBayesOptions& options, const TextRun& run,
                          const RunControl& control = no_control());

/// The share of documents whose label is the truth (documents without truth are left out; NaN when none is
/// left). With `renamed`, classes are first matched to true classes one to one, to agree most.
double label_accuracy(std::span<const std::uint32_t> labels, std::span<const std::uint32_t> truth,
                      std::uint32_t classes, bool renamed);

/// The labels with only a share of each class left, chosen at random by the seed; the others become no_label.
std::vector<std::uint32_t> hide_labels(std::span<const std::uint32_t> labels, std::uint32_t classes,
                                       double share, std::uint64_t seed);

}  // namespace drover
