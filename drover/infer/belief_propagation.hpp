// Sum-product and max-product belief propagation on a factor graph, also in its tree-reweighted form.
//
// Sources: Pearl 1988; Kschischang, Frey and Loeliger 2001; residual schedule: Elidan, McGraw and Koller
// 2006; Bethe free energy: Yedidia, Freeman and Weiss 2005; tree-reweighted: Wainwright, Jaakkola and Willsky
// 2005.
//
//   b_i(k)     = u_i(k) + sum over factors a of rho_a m_ai(k)                        variable beliefs (logs)
//   n_ia(k)    = b_i(k) - m_ai(k)                                                    variable to factor
//   m_ai(k)   <- reduce over x_a with x_i = k of theta_a(x_a) / rho_a + sum over j != i of n_ja(x_j)
//   log Z      = sum_i log Z_i + sum_a rho_a (log Z_a - sum over i in a of log Z_i),
//                Z_i = sum_k exp b_i(k),  Z_a = sum over x_a of exp(theta_a / rho_a + sum_i n_ia)
//
// rho_a = 1 is ordinary belief propagation and the Bethe approximation. Messages are normalised logs; hard
// zeros are minus infinity, counted apart from the finite parts, so that no infinity is ever subtracted. A
// zero that messages have found is one of the model: a variable with no state left proves Z = 0 (bad_data).
//
// Schedules: `flooding` sends every message from the same beliefs (parallel; the bits do not depend on
// threads); `sequential` goes through the factors breadth first, backwards and forwards, and is exact on
// forests after one such iteration; `residual` always sends the messages of the factor that changed most.
//
// Graphs of spin pairs without hard zeros are handed to a vector engine (spin_engine.hpp), which has the same
// fixed points and sends in an order of its own; everything else is done here, factor by factor.
//
// When it fails: on graphs with cycles it may not converge, and what it converges to is an approximation
// whose error is not known. Both are said in the result, not hidden.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "drover/core/distributions.hpp"
#include "drover/infer/factor_graph.hpp"
#include "drover/infer/factor_messages.hpp"
#include "drover/infer/spin_engine.hpp"

namespace drover {

struct BeliefOptions {
  Semiring semiring = Semiring::sum;
  MessageSchedule schedule = MessageSchedule::flooding;
  std::uint64_t iterations = 1000;  ///< of every message once
  double damping = 0;               ///< share of the old message that is kept, 0 <= damping < 1
  /// Converged when no message changes by more: in probability (sum) or relative to its size (maximum).
  double tolerance = 1e-10;
  bool vectors = true;  ///< false: factor by factor also where a vector engine fits, as the reference
  const RunControl* control =
      &no_control();  ///< ends what comes before the first iteration, by Error stopped
};

/// Called after every iteration with their number and the largest change; false stops.
using OnIteration = std::function<bool(std::uint64_t, double)>;

class BeliefPropagation {
 public:
  /// `appearance`: rho of every factor, in (0, 1]; empty means 1. The graph must outlive this.
  BeliefPropagation(const FactorGraph& graph, const BeliefOptions& options,
                    std::span<const double> appearance = {});

  /// Iterates until converged, stopped or at the limit. May be called again to go on. A stop by `go_on`
  /// leaves the last iteration half done and not counted.
  void run(const OnIteration& on_iteration = {}, const GoOn& go_on = {});

  /// For the next run().
  void set_iteration_limit(std::uint64_t iterations) { options_.iterations = iterations; }

  bool converged() const { return change_ <= options_.tolerance; }
  double largest_change() const { return change_; }
  std::uint64_t iterations() const { return iterations_; }

  /// Replaces the unaries (same layout as Graph::unary) and keeps the messages.
  void set_unary(std::span<const double> unary);
  /// Multiplies the log of every factor; without it by 1 / rho.
  void set_scales(std::span<const double> scales) { scales_.assign(scales.begin(), scales.end()); }
  /// Factor-to-variable messages in the layout of FactorGraph::message_offsets, shifted so that their log-sum
  /// or their maximum is 0.
  std::span<const double> messages() const { return messages_; }
  /// Starts from other messages; minus infinity is not allowed among them.
  void set_messages(std::span<const double> messages);

  /// log b_i, maximum 0, in the layout of Graph::unary_offsets: log marginals up to a constant, or
  /// max-marginals.
  std::vector<double> log_beliefs() const;
  Distributions marginals() const;
  /// The free energy above at the present messages; an approximation of log Z (exact on forests when
  /// converged).
  double log_z() const;

  /// The best state of every belief on its own; equal ones: the lowest.
  std::vector<Value> decode() const;
  /// One variable after the other in breadth-first order, each the best given those before; after convergence
  /// on a forest a most probable state even when beliefs tie.
  std::vector<Value> decode_in_order(const FactorOrder& order) const;

 private:
  double appearance(std::size_t factor) const { return appearance_.empty() ? 1.0 : appearance_[factor]; }
  double scale(std::size_t factor) const {
    return scales_.empty() ? 1 / appearance(factor) : scales_[factor];
  }
  void sum_messages();
  void sum_messages(VariableId v);
  void incoming(std::size_t factor, double* in) const;
  /// New normalised messages of a factor, undamped.
  void propose(std::size_t factor, double* in, double* out, FactorScratch& scratch) const;
  double damp_and_store(std::size_t factor, const double* proposed);
  void store_and_update(std::size_t factor, const double* proposed);
  double change_of(std::size_t factor, const double* proposed) const;
  double flood(const GoOn& go_on);
  double pass(const GoOn& go_on);
  double residual_round(const GoOn& go_on);
  double iterate(const GoOn& go_on);
  /// The engine for this graph at the present messages, if there is one.
  std::unique_ptr<SpinEngine> engine() const;
  void take_messages(const SpinEngine& engine);
  [[noreturn]] void fail_impossible(VariableId v) const;

  const FactorGraph& graph_;
  BeliefOptions options_;
  std::vector<double> appearance_;
  std::vector<double> scales_;
  std::vector<double> unary_;
  std::vector<double> messages_;
  std::vector<double> sums_;            // finite part of b, by unary offset
  std::vector<std::uint32_t> zeros_;    // how many terms of b are minus infinity
  FactorOrder order_;                   // sequential only
  std::vector<double> pending_;         // residual only: proposed messages
  std::vector<double> tournament_;      // residual only: a tree of maxima over the factors' changes
  std::unique_ptr<SpinEngine> engine_;  // only during a run; holds the messages meanwhile
  std::uint64_t iterations_ = 0;
  double change_;
};

}  // namespace drover
