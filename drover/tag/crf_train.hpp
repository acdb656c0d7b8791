// Trains a chain CRF: L-BFGS for an L2 penalty, OWL-QN when there is an L1 penalty too, stochastic gradient
// descent for data of which many passes are too much.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "drover/core/keeper.hpp"
#include "drover/tag/crf.hpp"
#include "drover/tag/crf_data.hpp"
#include "drover/tag/crf_objective.hpp"

namespace drover {

enum class CrfAlgorithm { lbfgs, sgd };

template <>
struct ChoiceNames<CrfAlgorithm> {
  static constexpr std::array names = {std::pair{CrfAlgorithm::lbfgs, std::string_view("lbfgs")},
                                       std::pair{CrfAlgorithm::sgd, std::string_view("sgd")}};
};

struct CrfTrainOptions {
  CrfAlgorithm algorithm = CrfAlgorithm::lbfgs;
  double l1 = 0;
  double l2 = 1;
  std::size_t iterations = 200;  ///< at most; passes over the data for sgd
  double tolerance = 1e-4;       ///< stops when 10 iterations lower the loss by less than this share
  std::uint32_t min_count = 1;   ///< features that occur less often are left out
  std::size_t patience = 0;      ///< stops when held-out F1 has not risen for so many iterations; 0: never
  std::uint64_t seed = 1;
  PartKeeper* parts = nullptr;  ///< goes on from the evaluations (sgd: passes) that it has, and keeps others
};

struct CrfProgress {
  std::size_t iteration = 0;
  double loss = 0;
  double f1 = std::numeric_limits<double>::quiet_NaN();  ///< on held-out text, when there is some
};

struct CrfTrainSummary {
  std::uint64_t features = 0, rows = 0, bundles = 0;
  std::size_t iterations = 0, evaluations = 0;
  std::size_t best_iteration = 0;  ///< whose weights were kept
  double loss = 0;
  bool converged = false;
  bool stopped = false;  ///< by the control
  std::string ended;
  std::vector<CrfProgress> trace;
};

/// The control is looked at while features are collected (which leaves no result) and after each iteration.
/// `text` has labels, all in `scheme`; `held_out` (may be null) has label names among those of `text`.
Crf train_crf(const TaggedText& text, LabelScheme scheme, const TaggedText* held_out,
              const FeatureTemplates& templates, const Gazetteers& gazetteers, const CrfTrainOptions& options,
              CrfTrainSummary& summary, const RunControl& control = no_control());

/// Stochastic gradient descent (crf_sgd.cpp) over rows of features with the scale of CrfObjective. `after` is
/// told the loss after each pass and says whether to go on; it may ask for the weights.
using SgdPass =
    std::function<bool(std::size_t pass, double loss, const std::function<CrfWeights()>& weights)>;
CrfWeights train_by_sgd(const CrfData& data, std::size_t rows, std::size_t labels,
                        std::span<const float> scale, bool transitions, const CrfTrainOptions& options,
                        const SgdPass& after);

}  // namespace drover
