// Blocks of variables that blocked Gibbs draws jointly: large induced subgraphs of small elimination width.
//
// A block is what remains of the graph after removing a w-cutset (Bidyuk and Dechter: Cutset sampling for
// Bayesian networks, JAIR 2007; blocks that overlap to restore connectivity: Jensen, Kong and Kjaerulff:
// Blocking Gibbs sampling in very large probabilistic expert systems, 1995). Found in one pass: eliminate the
// variable whose table is smallest; when even that table would exceed the limit, remove the variable with the
// largest one from the block instead (it will be conditioned on). With a limit of K^2 entries the blocks of a
// pairwise graph are induced forests, about 60 % of a grid.
// The next blocks remove what earlier ones hold most often, so few blocks cover all variables: a round, which
// is what one sweep draws. Variables of factors with hard zeros are removed last.
//
// Connectivity: single-site moves cannot cross hard zeros. When every connected component of factors with
// zeros lies inside one block, each block can set its components to any possible values, so the sampler
// reaches every state of positive probability. Otherwise that is not known, warning() says so, and there are
// several rounds with other cutsets, which sweeps take in turn: measured on Promedus and pedigree networks,
// that variety helps more than wider blocks.
//
// Fails to help where the graph is dense: on a complete graph a forest has two variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

struct BlockOptions {
  /// The largest table a block may need; 0 chooses: trees where there are no hard zeros, otherwise the
  /// smallest of 2^6, 2^9 and 2^12 that keeps related hard zeros together, or 2^9 when none does.
  std::size_t max_entries = 0;
  std::size_t max_total_entries = std::size_t{1}
                                  << 22;  ///< of the tables of all blocks, beyond the first round
  std::size_t max_blocks =
      12;  ///< of bounded width per round; what they leave out is covered by independent sets
  std::size_t max_rounds = 8;  ///< when connectivity is not known, otherwise there is one
  std::uint64_t seed = 1;      ///< breaks ties
};

struct Block {
  std::vector<VariableId> order;  ///< its variables, in the order of elimination
  std::size_t largest_table = 0;  ///< entries
  std::size_t total_entries = 0;  ///< of all its tables
};

struct Blocks {
  std::vector<Block> list;
  /// Round r is list[round_ends[r - 1] .. round_ends[r]); every variable is in at least one of its blocks.
  std::vector<std::size_t> round_ends;
  std::size_t max_entries = 0;
  std::size_t hard_factors = 0;           ///< tables with zeros
  std::size_t hard_factors_outside = 0;   ///< those that lie inside no block
  std::size_t hard_components = 0;        ///< groups of variables joined by such tables
  std::size_t hard_components_split = 0;  ///< those that no block holds whole

  bool connectivity_known() const { return hard_components_split == 0; }
  /// A plain sentence when connectivity is not known, otherwise empty.
  std::string warning() const;
};

Blocks choose_blocks(const Graph& graph, const BlockOptions& options = {});

}  // namespace drover
