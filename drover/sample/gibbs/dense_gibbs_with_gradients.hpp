// Gibbs with gradients (sample/gibbs/gibbs_with_gradients.hpp has the formulas) where most pairs exist:
// learning complete Boltzmann machines spends its time here.
//
// A flip changes every field, so all exponentials are made anew: one pass over a row of the weight matrix, in
// float and vectorised, into a second pair of arrays that takes the place of the first when the flip is
// accepted. Leaves exp(d_i / 2 - shift) lie in blocks of 16 columns by 8 rows: a draw looks at 16 column
// sums, then at a column of blocks, then at the column within a block.
//
// The shift makes the largest leaf 1 whenever fields are made afresh: at the start of every advance, and when
// the sum leaves the range where floats are accurate. So there is no bound on fields; leaves below 1e-38 of
// the largest count as zero.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

class DenseGibbsWithGradients {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    AlignedFloats signs;      ///< 1 - 2 x; 1 beyond the last variable
    AlignedFloats fields[2];  ///< the second one is of the proposal
    AlignedFloats leaves[2];
    AlignedFloats block_sums[2];

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(signs);
      for (AlignedFloats* part : {fields, leaves, block_sums})
        for (int k = 0; k < 2; ++k) archive(part[k]);
    }
  };

  explicit DenseGibbsWithGradients(const SpinGraph& graph);

  std::size_t size() const { return bias_.size(); }

  /// A random state.
  State start(std::uint64_t seed, std::uint32_t chain) const;
  /// `proposals` proposals; the random numbers are those of (seed, chain, sweep).
  Moves advance(State& state, std::uint64_t sweep, std::size_t proposals) const;
  /// size() or size() + 1 proposals by the toss of a coin, as GibbsWithGradients does.
  Moves sweep(State& state, std::uint64_t sweep) const;
  void read(const State& state, std::span<Value> values) const;
  void write(State& state, std::span<const Value> values) const;

 private:
  float refresh(State& state, float& shift) const;

  std::size_t stride_;  ///< variables, rounded up to whole blocks
  std::vector<float> bias_;
  AlignedFloats weights_;  ///< (variable, variable), rows of stride_
};

}  // namespace drover
