// What the kernels of herded Gibbs share: the order of the scan, the neighbours of every variable, and its
// conditional as a function of their values.
//
//   pi_v(k) ~ exp(beta (unary_v(k) + sum over pairs (j, c) of c [y_j = k] + sum over tables of their entry))
//
// y holds the values of the neighbours of v in ascending order of their numbers; a configuration is y read as
// a number in mixed radix, the first neighbour the most significant digit. Sums are in double: a conditional
// is herded for a whole run, so its error does not average out. A spin pair J counts as c = 2J (their
// difference is constant in k).
//
// Variables stand in the order of the scan (positions). Schedules:
//   sequential   one after the other, in the order given (Gauss-Seidel, the reference)
//   colours      by colour classes, the variables of a class by many threads: no two of them are neighbours,
//                so the bits are those of `sequential` in the same order
//   jacobi       all from the state before the sweep; a different algorithm, without the guarantees
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

enum class HerdedSchedule { sequential, colours, jacobi };

/// Variables of so many states keep visits instead of weights at first: the states are the same bits, but
/// below this little is saved.
inline constexpr std::uint32_t herded_visits_from_states = 17;

struct HerdedOptions {
  HerdedSchedule schedule = HerdedSchedule::sequential;
  std::vector<VariableId> order;           ///< of the sequential scan; empty: 0, 1, 2, ...
  std::vector<std::vector<Value>> starts;  ///< see check_starts() in gibbs_table_schedule.hpp
  std::uint32_t visits_from_states = herded_visits_from_states;  ///< see herded_gibbs_visited.hpp
};

class HerdedLayout {
 public:
  /// The graph must outlive the layout. Raises misfit for missing starts, and for jacobi with hard zeros in
  /// tables.
  HerdedLayout(const Graph& graph, HerdedOptions options);

  std::size_t size() const { return order_.size(); }
  std::size_t entry_count() const { return entry_count_; }
  const Graph& graph() const { return *graph_; }
  HerdedSchedule schedule() const { return options_.schedule; }
  std::span<const VariableId> order() const { return order_; }
  std::uint32_t visits_from_states() const { return options_.visits_from_states; }

  VariableId variable(std::size_t position) const { return order_[position]; }
  std::uint32_t states(std::size_t position) const { return states_[position]; }
  std::size_t entry(std::size_t position) const { return entries_[position]; }  ///< in ConditionalSums
  std::span<const std::uint32_t> neighbours(std::size_t position) const {       ///< positions
    return {neighbours_.data() + offsets_[position], offsets_[position + 1] - offsets_[position]};
  }
  std::size_t max_degree() const { return max_degree_; }
  std::uint32_t max_states() const { return max_states_; }
  /// Configurations of the neighbours; may be infinite.
  double configurations(std::size_t position) const;

  void gather(std::size_t position, const Value* values, Value* y) const {
    const std::uint32_t* near = neighbours_.data() + offsets_[position];
    const std::size_t degree = offsets_[position + 1] - offsets_[position];
    for (std::size_t j = 0; j < degree; ++j) y[j] = values[near[j]];
  }
  /// The sums of the log factors for every state, times beta; minus infinity stays.
  void log_weights(std::size_t position, const Value* y, double beta, double* out) const;
  /// The conditional in the fixed-point numbers of herded_gibbs_weights.hpp: one number for two states, else
  /// one per state. All zero where every state is impossible. `scratch` holds max_states() numbers.
  void conditional(std::size_t position, const Value* y, double beta, double* scratch,
                   std::int32_t* probabilities) const;

  /// The start of a chain, by position.
  std::vector<Value> start(std::uint64_t seed, std::uint32_t chain) const;
  void read(std::span<const Value> values, std::span<Value> out) const;
  void write(std::span<Value> values, std::span<const Value> in) const;
  double score(std::span<const Value> values) const;

  /// Calls step(begin, end, from, to) for ranges of positions that may be updated in any order, reading
  /// neighbours in `from` and writing to `to`; `scratch` has the size of `values` for jacobi.
  template <class Step>
  void run(std::vector<Value>& values, std::vector<Value>& scratch, Step step) const {
    constexpr std::size_t grain = 2048;
    const auto threaded = [&](std::size_t begin, std::size_t end, const Value* from, Value* to) {
      if (end - begin <= grain) return step(begin, end, from, to);
      parallel_for(IndexRange(begin, end, grain),
                   [&](const IndexRange& range) { step(range.begin(), range.end(), from, to); });
    };
    switch (options_.schedule) {
      case HerdedSchedule::sequential:
        for (std::size_t p = 0; p < size(); ++p) step(p, p + 1, values.data(), values.data());
        break;
      case HerdedSchedule::colours:
        for (std::size_t c = 0; c + 1 < colour_begin_.size(); ++c)
          threaded(colour_begin_[c], colour_begin_[c + 1], values.data(), values.data());
        break;
      case HerdedSchedule::jacobi:
        threaded(0, size(), values.data(), scratch.data());
        values.swap(scratch);
        break;
    }
  }

 private:
  struct PairLink {
    std::uint32_t neighbour;  ///< its place in y
    double coupling;
  };
  struct TableLink {
    const double* values;
    std::uint32_t own_stride;
    std::uint32_t others_begin;  ///< others_[others_begin .. others_end)
    std::uint32_t others_end;
  };
  struct Other {
    std::uint32_t neighbour;  ///< its place in y
    std::uint32_t stride;
  };
  void add_pairs(const Adjacency& near);
  void add_tables(const Adjacency& near);

  const Graph* graph_;
  HerdedOptions options_;
  std::vector<VariableId> order_;  ///< position -> variable
  std::vector<std::uint32_t> position_of_;
  std::vector<std::uint32_t> states_;
  std::vector<std::size_t> entries_;
  std::size_t entry_count_ = 0;
  std::vector<std::size_t> colour_begin_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<std::size_t> pair_offsets_;
  std::vector<PairLink> pairs_;
  std::vector<std::size_t> table_offsets_;
  std::vector<TableLink> tables_;
  std::vector<Other> others_;
  std::size_t max_degree_ = 0;
  std::uint32_t max_states_ = 2;
};

}  // namespace drover
