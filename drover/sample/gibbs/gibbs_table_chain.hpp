// Gibbs sampling of one long chain by colour classes, for any graph: K-ary variables, Potts and spin pairs,
// tables of any arity, hard zeros.
//
// No two variables of a colour share a factor, so all of them can be drawn at once from the same conditionals
// as one after the other (Gonzalez, Low, Gretton and Guestrin, Parallel Gibbs sampling: from colored fields
// to thin junction trees, AISTATS 2011). Sites of one colour and cardinality are laid out in groups of
// sixteen. A group gathers the values of its neighbours and treats its sites as SIMD lanes: a Potts link is a
// compare and a masked add for every value k; a table link adds a row over k per site. Groups of a colour run
// in parallel (oneTBB); the bits do not depend on the number of threads.
//
// With random scan the sites are visited one by one in a fresh order per sweep, by one thread and without
// SIMD.
//
// When it fails: dense graphs have as many colours as variables and leave nothing to do at once; hard zeros
// may cut the support into parts (see compile/connectivity.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/value_sums.hpp"

namespace drover {

/// Up to sixteen sites of one colour and cardinality; site s of the group has slot 16 * group + s.
struct ChainGroup {
  std::uint32_t first;         ///< its first variable in the order of the layout
  std::uint32_t count;         ///< of its sites
  std::uint32_t states;        ///< of each site
  std::uint32_t potts_rounds;  ///< the most Potts links of a site
  std::size_t unary;           ///< [state][site] in ChainLayout::unary
  std::size_t potts;           ///< [round][site] in ChainLayout::neighbours and couplings
  bool has_tables;
};

struct ChainLayout {
  TableGraph tables;  ///< in the order of the groups; its links name slots instead of variables
  std::vector<ChainGroup> groups;
  std::size_t max_group_links = 0;           ///< table links of the sites of one group
  std::vector<std::uint32_t> colour_groups;  ///< colour c: groups[colour_groups[c] .. colour_groups[c+1])
  std::vector<float> unary;
  std::vector<std::int32_t> neighbours;  ///< slots; a missing link has coupling 0
  std::vector<float> couplings;
  std::vector<VariableId> order;         ///< position -> variable
  std::vector<std::uint32_t> slot_of;    ///< variable -> slot
  std::vector<std::size_t> conditional;  ///< position -> its entries in ConditionalSums
};

class GibbsTableChain {
 public:
  struct Options {
    Scan scan = Scan::fixed;
    /// States in the support, used in turn by the chains. Needed when a table has hard zeros; without it a
    /// chain starts uniformly among the values that its unaries allow.
    std::vector<std::vector<Value>> starts;
  };

  struct State {
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<std::int32_t> values;  ///< by slot
    float inverse_temperature = 1;
    std::vector<VariableId> order;  ///< of this sweep, for random scan

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(first_chain);
      archive(values);
      archive(inverse_temperature);
      archive(order);
    }
  };

  /// The graph must outlive the kernel. Raises misfit when hard zeros need starting states that are missing
  /// or have probability zero.
  GibbsTableChain(const Graph& graph, Options options);
  explicit GibbsTableChain(const Graph& graph) : GibbsTableChain(graph, Options()) {}
  explicit GibbsTableChain(Graph&&) = delete;
  GibbsTableChain(Graph&&, Options) = delete;

  std::size_t size() const { return layout_.order.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return entry_count_; }
  std::size_t colours() const { return layout_.colour_groups.size() - 1; }

  State start(std::uint64_t seed, std::uint32_t chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void sweep(State& state, std::uint64_t sweep, ValueSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

  /// For a chain that lies on several ranks (fixed scan): the conditionals of variable v go to
  /// sums[offset_of[v]] on.
  void place_conditionals(std::span<const std::size_t> offset_of);
  struct GroupRange {
    std::uint32_t begin, end;
  };
  /// Draws some groups, all of one colour; ranges may be drawn at once.
  void draw_groups(State& state, std::span<const GroupRange> ranges, std::uint64_t sweep, float* sums) const;
  const ChainLayout& layout() const { return layout_; }
  const Graph& graph() const { return *graph_; }

 private:
  void draw_ranges(State& state, std::span<const GroupRange> ranges, std::uint64_t sweep, float* sums,
                   const float* values) const;
  void run(State& state, std::uint64_t sweep, float* sums, const float* values) const;
  void sweep_one_by_one(State& state, std::uint64_t sweep, float* sums, const float* values) const;

  const Graph* graph_;
  Options options_;
  ChainLayout layout_;
  std::vector<std::vector<GroupRange>> colour_ranges_;  ///< what one task draws, by colour
  std::size_t entry_count_;
  std::uint32_t max_states_;
};

}  // namespace drover
