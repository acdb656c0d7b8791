// Herded Gibbs for graphs whose tables do not fit: weights of what was visited, found by hashing.
//
// The rule is that of herded_gibbs_tables.hpp (Bornn et al., Herded Gibbs sampling, ICLR 2013); the
// conditional is worked out at every visit, and its weight (vector) is kept in an open-addressing table of
// the variable's own, keyed by
//   configuration   the values of the neighbours: bit for bit the states of the dense tables. Beyond 2^64
//                   configurations the key is a hash of them; two that collide share a weight, no more.
//   conditional     the distinct value of the conditional, as in `exact` sharing
//   bins            each probability's place among `bins` equal intervals; zero is a place of its own. The
//                   paper's open problem: on dense graphs configurations hardly ever recur, and a weight that
//                   is visited once herds nothing.
//
// A weight that serves several conditionals still holds down the difference between the ones and their
// summed probabilities (herded_gibbs_weights.hpp), but no longer for each configuration apart: what is lost
// is some of the dependence between variables, the less the finer the bins. No guarantee is known for it.
//
// ConditionalSums get the indicator of the state, as in herded_gibbs_tables.hpp. Memory grows with what is
// visited, in a sweep that meets something new; herded_gibbs_plan.hpp bounds it beforehand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/sample/herded/herded_gibbs_layout.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

enum class HerdedKey { configuration, conditional, bins };

/// Weights by key, `width` of them each.
class HerdedTable {
 public:
  /// The place of the key, and whether it is new: then its weights have to be filled in. Good until the next
  /// call.
  std::pair<std::int32_t*, bool> find(std::uint64_t key, std::uint32_t width);
  std::size_t size() const { return used_; }
  std::size_t bytes() const { return keys_.size() * sizeof(std::uint64_t) + weights_.size() * 4; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(used_);
    archive(keys_);
    archive(weights_);
  }

 private:
  void grow(std::uint32_t width);
  std::uint64_t used_ = 0;
  std::vector<std::uint64_t> keys_;  ///< a power of two of them, or none; `no_key` marks a free place
  std::vector<std::int32_t> weights_;
};

class HerdedGibbsVisited {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<Value> values;        ///< by position
    std::vector<Value> scratch;       ///< for jacobi
    std::vector<HerdedTable> tables;  ///< by position

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(values);
      archive(scratch);
      for (HerdedTable& table : tables) table.visit(archive);
    }
  };

  /// The graph must outlive the kernel; `bins` counts for HerdedKey::bins only and is at least 1.
  HerdedGibbsVisited(const Graph& graph, HerdedKey key, std::uint32_t bins = 1, HerdedOptions options = {});
  HerdedGibbsVisited(Graph&&, HerdedKey, std::uint32_t = 1, HerdedOptions = {}) = delete;

  std::size_t size() const { return layout_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return layout_.entry_count(); }
  const HerdedLayout& layout() const { return layout_; }
  static std::size_t rows(const State& state);         ///< weights (or vectors of them) in use
  static std::size_t state_bytes(const State& state);  ///< of the tables

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

 private:
  struct Scratch {
    std::vector<Value> y;
    std::vector<double> logs;
    std::vector<std::int32_t> probabilities;
  };
  std::uint64_t key_of(std::size_t position, double inverse_temperature, Scratch& scratch) const;
  Value update(State& state, std::size_t position, const Value* from, const Random& random,
               Scratch& scratch) const;
  void run(State& state, float* sums) const;

  HerdedLayout layout_;
  HerdedKey key_;
  std::uint32_t bins_;
};

}  // namespace drover
