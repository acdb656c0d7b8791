// Naive mean field: the best approximation of p by a product of independent distributions, by coordinate
// ascent.
//
// Source: M. I. Jordan, Z. Ghahramani, T. Jaakkola, L. Saul, An introduction to variational methods for
// graphical models, Machine Learning 37 (1999); the damped form as in K. Murphy, Machine Learning (2012),
// 21.3.
//
//   bound(q) = E_q[log p~(x)] + H(q) <= log Z,    q(x) = prod_v q_v(x_v)
//   update:  r(k) ~ exp( E_q[log p~(x) | x_v = k] ),    q_v <- (1 - D) q_v + D r
//
// The bound is concave in each q_v and r is its maximum, so no update with 0 < D <= 1 lowers it. Variables
// are visited by colour classes (compile/colouring.hpp): those of a class share no factor, so threads may
// update them together and the result is that of one after the other, bit for bit.
//
// Hard zeros: 0 log 0 counts as 0, so the bound is finite where every state with q(x) > 0 is possible. A
// start in one possible state has this property and updates keep it; other starts may stay at minus infinity.
//
// When it fails: the bound has local maxima, and q underrates the dependence between variables: marginals
// are too sure of themselves, and below a phase transition q takes the side of one mode. Nothing in the
// result says how far off it is; log Z is at least the bound, that much is sure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "drover/compile/colouring.hpp"
#include "drover/compile/graph.hpp"
#include "drover/compile/spin_graph.hpp"

namespace drover {

struct MeanFieldOptions {
  std::uint64_t iterations = 1000;  ///< sweeps at most
  double step = 1;                  ///< D above, in (0, 1]
  double tolerance = 1e-7;          ///< converged when a sweep asks for no larger change of any probability
};

struct MeanFieldRun {
  std::vector<double> probabilities;  ///< of every variable and state, as Graph::unary
  double bound = log_zero;            ///< of log Z
  std::uint64_t iterations = 0;       ///< sweeps done
  bool converged = false;
};

/// Prepared once for a graph, which must outlive it; runs from any number of starts.
class MeanField {
 public:
  explicit MeanField(const Graph& graph);
  explicit MeanField(Graph&&) = delete;

  /// Starts: the unaries alone; one state; independent random distributions.
  std::vector<double> start_at_unaries() const;
  std::vector<double> start_at(std::span<const Value> state) const;
  std::vector<double> start_at_random(std::uint64_t seed, std::uint32_t number) const;

  /// Asked after every sweep with the sweeps done and the largest change asked for: whether to go on.
  using GoOn = std::function<bool(std::uint64_t, double)>;
  MeanFieldRun run(std::vector<double> start, const MeanFieldOptions& options, const GoOn& go_on = {}) const;

  /// Updates one variable; returns |r - q_v|, the largest over its states, before the step is applied.
  double update(VariableId variable, std::span<double> probabilities, double step) const;
  /// Updates every variable; returns the largest change asked for.
  double sweep(std::span<double> probabilities, double step) const;
  double bound(std::span<const double> probabilities) const;

 private:
  struct Link {
    VariableId neighbour;
    double coupling;  ///< as a Potts pair: a spin pair J counts as 2J, which differs by a constant
  };
  double update(VariableId variable, std::span<double> probabilities, double step,
                std::span<double> field) const;
  void add_table(std::size_t factor, VariableId variable, std::span<const double> probabilities,
                 std::span<double> field) const;
  double expected_table(std::size_t factor, std::span<const double> probabilities) const;

  const Graph& graph_;
  SpinGraph spins_;  ///< when the graph is_spin(); then there are no links and tables below
  Colouring colours_;
  std::vector<std::size_t> link_offsets_;
  std::vector<Link> links_;
  std::vector<std::size_t> table_offsets_;
  std::vector<std::uint32_t> tables_;  ///< factors of variable v: table_offsets_[v] .. table_offsets_[v+1]
  std::uint32_t max_states_ = 2;
};

}  // namespace drover
