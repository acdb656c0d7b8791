// Gibbs with gradients on spin graphs: flips one variable at a time, chosen by how much its flip would gain.
//
// Source: W. Grathwohl, K. Swersky, M. Hashemi, D. Duvenaud, C. Maddison, Oops I took a gradient: scalable
// sampling for discrete distributions, ICML 2021. With d_i = log p~(x with i flipped) - log p~(x),
//
//   propose i with q(i | x) = exp(d_i / 2) / Z(x),  Z(x) = sum_j exp(d_j / 2)
//   accept with min(1, exp(d_i) q(i | x') / q(i | x)) = min(1, Z(x) / Z(x')):
//
// the exponentials cancel, because d_i changes sign when i is flipped. The paper takes d from a gradient; for
// pairs it is exact, d_i = (1 - 2 x_i) f_i with f_i the field. A tree of partial sums of exp(d / 2) gives a
// draw in O(log n), and a flip updates it in O(degree log n) (O(n) where that is less).
//
// A sweep is n or n + 1 proposals by the toss of a coin: nearly every proposal is accepted on easy models, so
// that after exactly n of them the parity of the ones would hardly ever change. That is about n, so that it
// costs about as much as a Gibbs sweep on sparse graphs; a variable may be proposed several times in it or
// never. Good at low temperatures and on graphs where few flips matter at a time; on easy models it is Gibbs
// sampling with overhead. Sums are in double: fields beyond `largest_field` would overflow them and are
// refused.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/spin_graph.hpp"
#include "drover/sample/gibbs/sum_tree.hpp"
#include "drover/sample/parted_kernel.hpp"

namespace drover {

class GibbsWithGradients {
 public:
  using Totals = Moves;

  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<std::uint8_t> values;
    std::vector<double> fields;  ///< f_i at temperature 1
    std::uint64_t step = 0;      ///< of a sweep that was ended in its midst
    // Every sweep makes these anew.
    SumTree gains;                       ///< exp(d_i / 2)
    std::vector<std::uint32_t> changed;  ///< of the flip that is being made

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(values);
      archive(fields);
      archive(step);
    }
  };

  static constexpr double most_field = 1000;  ///< exp(500) times any number of variables is still a double

  /// The graph must outlive the kernel, and its fields stay within `most_field`.
  explicit GibbsWithGradients(const SpinGraph& graph);
  GibbsWithGradients(SpinGraph&&) = delete;

  std::size_t size() const { return graph_->size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return size(); }

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  Moves sweep(State& state, std::uint64_t sweep, const RunControl& control = no_control()) const;
  /// Adds p(x_i = 1 | rest) of every variable as it is at the end of the sweep.
  Moves sweep(State& state, std::uint64_t sweep, ConditionalSums sums,
              const RunControl& control = no_control()) const;
  bool is_midway(const State& state) const { return state.step > 0; }
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

 private:
  void refresh(State& state) const;
  void weigh(State& state) const;
  void flip(State& state, std::size_t variable) const;

  const SpinGraph* graph_;
};

}  // namespace drover
