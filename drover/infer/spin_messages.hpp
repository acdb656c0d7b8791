// Flooding belief propagation and max-product on one spin graph, in float, vectorised over pairs.
//
//   log p~ = sum b_i x_i + sum w_ij x_i x_j, x in {0, 1};   messages n_ij = log m(1) - log m(0)
//   max-product   n_ij = max(0, P + w) - max(0, P),                       P = B_i - n_ji, B_i = b_i + sum
//   n_ki sum-product   n_ij = log(1 + e^(P + w)) - log(1 + e^P)
//                      = the same + log (1 + e^-|P + w|) / (1 + e^-|P|)
//
// Numbers are kept in units of log 2. The logarithm is 2 atanh of (u - v) / (2 + u + v) with u, v the two
// small exponentials: at most a third, so a short odd polynomial does, and small weights lose no digits.
//
// Two layouts, chosen by structure: when pairs lie on few diagonals j - i (lattices of any dimension,
// periodic or not, chains), each diagonal is one contiguous pass without indices, missing pairs counting as
// weight 0; any other graph has lists of pairs, gathers of B, and sums added pair by pair. Both messages of a
// pair read each other and B only, so a sweep is in place.
//
// Float: beliefs are right to some 1e-6 of their size. Methods that promise more go on in double from these
// messages (BeliefPropagation::set_messages).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/compile/table_graph.hpp"
#include "drover/infer/semiring.hpp"

namespace drover {

class SpinMessages {
 public:
  /// Messages begin at w / 2: the uniform message of a pair J s s'.
  SpinMessages(const SpinGraph& graph, Semiring semiring);

  /// One sweep: every message once. Returns the largest difference between a message and what it should be.
  float sweep(float damping);

  /// B_i = log b_i(1) - log b_i(0).
  std::vector<float> log_odds() const;
  /// n from i to j and from j to i of every pair i < j, in the order of the graph's rows.
  struct PairMessages {
    std::vector<std::uint32_t> first, second;
    std::vector<float> forward, backward;
  };
  PairMessages messages() const;
  std::size_t message_count() const { return 2 * pairs_; }
  bool uses_diagonals() const { return !diagonals_.empty(); }

 private:
  struct Diagonal {
    std::size_t distance;  // j - i
    std::size_t offset;    // of its numbers
  };
  Semiring semiring_;
  std::size_t size_ = 0, pairs_ = 0;
  std::vector<Diagonal> diagonals_;
  std::vector<std::uint32_t> pair_place_;                // of every pair i < j, by rows
  std::vector<std::uint32_t> pair_first_, pair_second_;  // likewise, padded
  AlignedFloats weights_, forward_, backward_;           // by place
  AlignedFloats bias_, sums_, new_sums_;
};

}  // namespace drover
