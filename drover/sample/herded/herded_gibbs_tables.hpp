// Herded Gibbs with a table of weights per variable: deterministic Gibbs sampling.
//
// Source: L. Bornn, Y. Chen, N. de Freitas, M. Eskelin, J. Fang, M. Welling, Herded Gibbs sampling, ICLR
// 2013.
//
//   visit variable i with its neighbours in configuration c:
//   two states:  x_i = [w_ic > 0],       w_ic += pi(x_i = 1 | c) - x_i
//   K states:    x_i = argmax_k w_ick,   w_ic += pi(. | c) - e_(x_i)
//
// Nothing is drawn but the first weights, which make the chains of a seed differ. Each weight stands beside
// its probability, so a visit touches one place of memory; both belong to the State, since the probabilities
// depend on its temperature. Sharing:
//   none    one weight (vector) per configuration
//   exact   one per distinct conditional of the variable: for equal couplings, per sum of the neighbours.
//           Conditionals count as equal when their log odds agree to the nearest multiple of 1e-9.
//
// Estimates. The 1/T rate is that of the *states*: their frequencies are what the weights hold down. So
// ConditionalSums get the indicator of the state, not the conditional as the random samplers add it; an
// average of conditionals would have no such bound.
//
// Guarantee: for a complete graph the error of the joint distribution falls as 1/T; so for one variable. On
// sparse graphs there is none: neighbourhoods that the weights do not tell apart may stay correlated, and the
// marginals may settle beside the true ones. Memory is exponential in the degree: see herded_gibbs_plan.hpp,
// and herded_gibbs_visited.hpp for graphs whose tables do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/sample/herded/herded_gibbs_layout.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

enum class HerdedSharing { none, exact };

class HerdedGibbsTables {
 public:
  struct State {
    std::uint64_t seed = 0;
    std::uint32_t chain = 0;
    float inverse_temperature = 1;
    std::vector<Value> values;          ///< by position
    std::vector<Value> scratch;         ///< for jacobi
    std::vector<std::int32_t> numbers;  ///< per variable and table row: its weights, then its probabilities

    template <class Archive>
    void visit(Archive& archive) {
      archive(seed);
      archive(chain);
      archive(inverse_temperature);
      archive(values);
      archive(scratch);
      archive(numbers);
    }
  };

  /// The graph must outlive the kernel. Raises misfit for a variable of more than `most_rows` configurations,
  /// and what HerdedLayout raises.
  HerdedGibbsTables(const Graph& graph, HerdedSharing sharing, HerdedOptions options = {});
  HerdedGibbsTables(Graph&&, HerdedSharing, HerdedOptions = {}) = delete;
  static constexpr std::size_t most_rows = std::size_t{1} << 20;  ///< of one variable (exact: 2^16)

  std::size_t size() const { return layout_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return layout_.entry_count(); }
  const HerdedLayout& layout() const { return layout_; }
  std::size_t rows() const { return row_count_; }                             ///< of all tables
  std::size_t state_bytes() const { return 4 * bases_.back() + 4 * size(); }  ///< of one chain

  State start(std::uint64_t seed, std::uint32_t first_chain) const;
  void sweep(State& state, std::uint64_t sweep) const;
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const;
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const;
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const;
  void log_scores(const State& state, std::span<double> scores) const;
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const;

 private:
  /// How the configurations of a variable become rows; equal ones are stored once.
  struct Map {
    std::size_t rows_of;         ///< row of configuration c: rows_of_[rows_of + c]
    std::size_t representative;  ///< a configuration of row r: representatives_[representative + r]
    std::uint32_t rows;
  };
  void share();
  std::size_t row_count(std::size_t position) const;
  void fill(State& state, bool fresh) const;
  void run(State& state, float* sums) const;

  HerdedLayout layout_;
  bool binary_;
  bool shared_;
  std::size_t row_count_ = 0;
  std::vector<std::size_t> bases_;     ///< numbers of the variable at p: bases_[p] .. bases_[p+1]
  std::vector<std::uint32_t> map_of_;  ///< by position, when shared
  std::vector<Map> maps_;
  std::vector<std::uint16_t> rows_of_;
  std::vector<std::uint16_t> representatives_;
};

}  // namespace drover
