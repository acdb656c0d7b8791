// What the ways to maximise share: an engine is a problem, its weights and its last pseudo-sample.
//
//   s_t = argmax_s <w_{t-1}, phi(s)>,   w_t = w_{t-1} + mu - phi(s_t)
//
// Weights are never added up. w_t = w_0 + t mu - n_t, where n_t counts how often each feature held, so they
// carry one rounding however long the run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/herd/features.hpp"

namespace drover {

/// How the search for the maximum went.
struct SearchFacts {
  std::uint64_t changes = 0;   ///< of single variables, in all
  std::uint64_t hard = 0;      ///< samples where the plain search fell short of <w, mu> and more was tried
  std::uint64_t short_of = 0;  ///< samples that fell short all the same: the weights grew
};

class HerdEngine {
 public:
  virtual ~HerdEngine() = default;
  /// Finds the next pseudo-sample and updates the weights.
  virtual void step() = 0;
  virtual std::span<const Value> state() const = 0;
  /// n_t of every feature: the sum of its values.
  virtual void counts(std::span<double> out) const = 0;
  virtual SearchFacts facts() const { return {}; }
  /// All that the next step looks at, for checkpoints.
  virtual void save(SaveArchive& archive) = 0;
  virtual void load(LoadArchive& archive) = 0;
};

// The moments must outlive the engine; `start_weights` has one number per feature, or none for zeros.

/// Every joint state is looked at; ties go to the first state. Raises nothing: see enumeration_words().
std::unique_ptr<HerdEngine> make_enumerating_engine(const Moments& moments,
                                                    std::span<const double> start_weights);
/// The 64-bit words the engine above needs, infinite when there are too many states to count.
double enumeration_words(const FeatureSet& set);
double state_count(const FeatureSet& set);

/// Exact, by a junction tree over variables that share a feature.
std::unique_ptr<HerdEngine> make_tree_engine(const Moments& moments, std::span<const double> start_weights);
/// Table entries that one maximisation visits; infinite when the tree does not fit.
double tree_operations(const FeatureSet& set);

/// Coordinate ascent from the previous state. `adaptive` searches harder where that falls short.
std::unique_ptr<HerdEngine> make_sparse_engine(const Moments& moments, std::span<const double> start_weights,
                                               bool adaptive);
/// The same pseudo-samples up to rounding, faster; only for sets with a complete_order.
std::unique_ptr<HerdEngine> make_dense_engine(const Moments& moments, std::span<const double> start_weights,
                                              bool adaptive);

/// Coordinate ascent for products of spins.
std::unique_ptr<HerdEngine> make_spin_engine(const Moments& moments, std::span<const double> start_weights,
                                             bool adaptive);

}  // namespace drover
