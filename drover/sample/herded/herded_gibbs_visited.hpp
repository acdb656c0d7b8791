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
// Memory. A vector of K weights is large beside the values of a few neighbours, of which it is a function:
// start, then one rule per visit. So a variable of many states first keeps its visits (a part of the key, and
// the values of the neighbours) and works the weights of a key out of them when it comes again; only a key
// that comes often gets its weights stored. The states are the same bits.
//
// ConditionalSums get the indicator of the state, as in herded_gibbs_tables.hpp. Memory grows with what is
// visited, in a sweep that meets something new; herded_gibbs_plan.hpp bounds it beforehand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "drover/core/random.hpp"
#include "drover/sample/herded/herded_gibbs_layout.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/value_sums.hpp"

namespace drover {

enum class HerdedKey { configuration, conditional, bins };

/// Visits of a key after which its weights are stored. Working them out costs a conditional for every visit
/// before: over all visits of a key less than 9 each.
inline std::uint32_t herded_visits_before_weights(std::uint32_t states) {
  return std::clamp(states / 16, 2U, 16U);
}

/// Weights by key, `width` of them each.
class HerdedTable {
 public:
  /// The place of the key, and whether it is new: then its weights have to be filled in. Good until the next
  /// call.
  std::pair<std::int32_t*, bool> find(std::uint64_t key, std::uint32_t width);
  /// The weights of the key, or null.
  std::int32_t* lookup(std::uint64_t key, std::uint32_t width);
  /// A place for a key that is not there yet; a table of a few rows is full.
  std::int32_t* insert(std::uint64_t key, std::uint32_t width);
  std::size_t size() const { return used_; }
  std::size_t bytes() const { return keys_.size() * sizeof(std::uint64_t) + weights_.size() * 4; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(used_);
    archive(keys_);
    archive(weights_);
  }

 private:
  void grow(std::size_t places, std::uint32_t width);
  std::uint64_t used_ = 0;
  std::vector<std::uint64_t> keys_;  ///< a power of two of them, or none; `no_key` marks a free place
  std::vector<std::int32_t> weights_;
};

/// The visits of a variable, in order: 32 bits of the key, and the values of the neighbours in one byte each
/// (two where they have more than 256 states).
class HerdedVisits {
 public:
  static constexpr std::size_t most = 256;  ///< they are searched one by one

  std::size_t size(std::size_t degree, std::size_t value_bytes) const {
    return records_.size() / (mark_bytes + degree * value_bytes);
  }
  std::size_t bytes() const { return records_.capacity(); }
  void add(std::uint32_t mark, std::span<const Value> y, std::size_t value_bytes);
  void clear() { records_ = {}; }
  /// Calls see(y) for the visits with this mark, or for all when it is null, after filling y.
  template <class See>
  void for_each(const std::uint32_t* mark, std::span<Value> y, std::size_t value_bytes, See see) const {
    const std::size_t length = mark_bytes + y.size() * value_bytes;
    for (std::size_t at = 0; at < records_.size(); at += length) {
      if (mark != nullptr && std::memcmp(records_.data() + at, mark, mark_bytes) != 0) continue;
      const std::uint8_t* value = records_.data() + at + mark_bytes;
      for (std::size_t j = 0; j < y.size(); ++j, value += value_bytes)
        y[j] = static_cast<Value>(value_bytes == 1 ? value[0] : value[0] + 256 * value[1]);
      see();
    }
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(records_);
  }

 private:
  static constexpr std::size_t mark_bytes = sizeof(std::uint32_t);
  std::vector<std::uint8_t> records_;
};

class HerdedGibbsVisited {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<Value> values;         ///< by position
    std::vector<Value> scratch;        ///< for jacobi
    std::vector<HerdedTable> tables;   ///< by position
    std::vector<HerdedVisits> visits;  ///< by position, of keys that have no weights yet; or none

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(values);
      archive(scratch);
      for (HerdedTable& table : tables) table.visit(archive);
      for (HerdedVisits& some : visits) some.visit(archive);
    }
  };

  /// The graph must outlive the kernel; `bins` counts for HerdedKey::bins only and is at least 1.
  HerdedGibbsVisited(const Graph& graph, HerdedKey key, std::uint32_t bins = 1, HerdedOptions options = {});
  HerdedGibbsVisited(Graph&&, HerdedKey, std::uint32_t = 1, HerdedOptions = {}) = delete;

  std::size_t size() const { return layout_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return layout_.entry_count(); }
  const HerdedLayout& layout() const { return layout_; }
  static std::size_t rows(const State& state);         ///< weights (or vectors of them) that are stored
  static std::size_t state_bytes(const State& state);  ///< of the tables and visits

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void sweep(State& state, std::uint64_t sweep, ValueSums sums) const;
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
  struct Scratches {
    Scratch now, past;
    std::vector<std::int32_t> weights;
  };
  Scratches make_scratch() const;
  bool keeps_visits(std::size_t position) const { return layout_.states(position) >= fewest_states_; }
  std::size_t value_bytes() const { return layout_.max_states() <= 256 ? 1 : 2; }
  Value visit(State& state, std::size_t position, std::uint64_t key, const Random& random,
              Scratches& scratch) const;
  /// Stores the weights of every key, so that nothing depends on the past conditionals any more.
  void settle(State& state) const;
  std::uint64_t key_of(std::size_t position, double inverse_temperature, Scratch& scratch) const;
  Value update(State& state, std::size_t position, const Value* from, const Random& random,
               Scratches& scratches) const;
  template <class See>
  void run(State& state, See see) const;

  HerdedLayout layout_;
  HerdedKey key_;
  std::uint32_t bins_;
  std::uint32_t fewest_states_;
};

}  // namespace drover
