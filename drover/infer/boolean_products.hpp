// Max-product for Boolean products: outputs y_p = OR over k of (x_left(p,k) AND x_right(p,k)), where the
// outputs are known and the binary inputs are not. Deconvolution of binary images and Boolean matrix
// factorisation are of this kind. Sixteen problems at a time that differ in their unaries alone, each in its
// own SIMD lane.
//
// Source: Lazaro-Gredilla, Dedieu and George, Perturb-and-max-product, NeurIPS 2021, section 5.6 and appendix
// C. The AND variables are not kept: in one pass over the terms of an output, with P and Q what arrives from
// the left and right variable of a term,
//
//   up    u = P + Q - max(0, P, Q)                                   (AND: to its output)
//   OR    d = min( o + S - max(0, u), max(0, -T) ),  S = sum of max(0, u), T the largest u of the others
//   down  to the left max(0, Q + d) - max(0, Q), to the right max(0, P + d) - max(0, P)
//
// with o the log-odds of the output (large: as good as known). Flooding with damping; x_i = [B_i >= 0] with
// B_i = bias + the sum of the messages to i. That is half the memory of separate gates and a sweep in one
// pass. Parallel max-product on such loopy problems need not find the best state, and its result hangs on
// where it starts: score() compares several.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/table_graph.hpp"

namespace drover {

struct BooleanProducts {
  std::vector<float> bias;                 ///< log-odds of each variable
  std::vector<std::uint32_t> first = {0};  ///< output p has the terms first[p] .. first[p + 1]
  std::vector<std::uint32_t> left, right;  ///< variables of each term
  std::vector<float> odds;                 ///< log-odds of each output

  std::size_t size() const { return bias.size(); }
  std::size_t outputs() const { return odds.size(); }
  std::size_t terms() const { return left.size(); }
  /// Whether output p is on: a term of it has both variables on.
  bool is_on(std::size_t p, std::span<const std::uint8_t> state) const;
  /// Ends the output whose terms have been appended to left and right.
  void end_output(float output_odds) {
    first.push_back(static_cast<std::uint32_t>(left.size()));
    odds.push_back(output_odds);
  }
};

/// log p~ of a state with `extra` added to the biases: what max-product maximises.
double score(const BooleanProducts& products, std::span<const float> extra,
             std::span<const std::uint8_t> state);

class BooleanMaxProduct {
 public:
  static constexpr std::size_t lanes = 16;

  /// Sixteen problems; numbers of variable i are at 16 i, messages of term k at 32 k (left, then right).
  struct State {
    AlignedFloats bias, sums, messages;
  };

  /// The products must outlive this.
  explicit BooleanMaxProduct(const BooleanProducts& products);
  explicit BooleanMaxProduct(BooleanProducts&&) = delete;

  /// Problem l has the biases b + row l of `extra` (`lanes` rows of size()). Messages start at zero, or such
  /// that those to variable i sum to entry i of row l of `lean`.
  State start(std::span<const float> extra, std::span<const float> lean = {}) const;
  /// `damping` is the share of the old message that is kept.
  void run(State& state, std::uint32_t sweeps, float damping) const;
  void decode(const State& state, std::size_t lane, std::span<std::uint8_t> values) const;

 private:
  const BooleanProducts& products_;
  std::size_t longest_ = 0;  ///< terms of an output
};

}  // namespace drover
