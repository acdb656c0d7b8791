#include "drover/infer/mplp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "drover/core/error.hpp"

namespace drover {

namespace {

class Dual {
 public:
  explicit Dual(const Graph& graph)
      : graph_(graph),
        layout_(factor_graph(graph)),
        delta_(layout_.message_entries(), 0.0),
        belief_(graph.unary),
        in_(layout_.largest_factor),
        out_(layout_.largest_factor) {}

  void sweep() {
    for (std::size_t f = 0; f < layout_.factor_count(); ++f) update(f);
    sum_beliefs();  // corrections drift by rounding
  }

  double bound() {
    double total = graph_.log_constant;
    for (VariableId v = 0; v < graph_.size(); ++v) {
      const double most = best_of(v).second;
      if (most == log_zero)
        throw Error(ErrorKind::bad_data, fmt::format("every state has probability zero: the factors leave no "
                                                     "value for variable {}",
                                                     graph_.name(v)));
      total += most;
    }
    for (std::size_t f = 0; f < layout_.factor_count(); ++f) {
      const std::size_t begin = first_entry(f), entries = first_entry(f + 1) - begin;
      for (std::size_t k = 0; k < entries; ++k)
        in_[k] = delta_[begin + k] == log_zero ? log_zero : -delta_[begin + k];
      total += maximum_of_factor(f);
    }
    return total;
  }

  std::vector<Value> decode() const {
    std::vector<Value> state(graph_.size());
    for (VariableId v = 0; v < state.size(); ++v) state[v] = best_of(v).first;
    return state;
  }

 private:
  std::size_t first_entry(std::size_t factor) const {
    return layout_.message_offsets[layout_.edge_offsets[factor]];
  }

  std::pair<Value, double> best_of(VariableId v) const {
    const double* const begin = belief_.data() + graph_.unary_offsets[v];
    const double* const best = std::max_element(begin, begin + graph_.cardinalities[v]);
    return {static_cast<Value>(best - begin), *best};
  }

  // The maximum over the factor's states of theta + the numbers in in_.
  double maximum_of_factor(std::size_t f) {
    factor_messages(Semiring::maximum, layout_, f, 1, in_.data(), out_.data(), scratch_);
    double most = log_zero;
    for (std::size_t k = 0; k < graph_.cardinalities[layout_.scope(f)[0]]; ++k)
      most = std::max(most, in_[k] + out_[k]);
    return most;
  }

  void update(std::size_t f) {
    const std::size_t begin = first_entry(f);
    std::size_t at = 0;
    for (std::size_t e = layout_.edge_offsets[f]; e < layout_.edge_offsets[f + 1]; ++e) {
      const double* const belief = belief_.data() + graph_.unary_offsets[layout_.variable[e]];
      for (std::size_t k = 0; k < layout_.message_offsets[e + 1] - layout_.message_offsets[e]; ++k, ++at)
        in_[at] = belief[k] == log_zero ? log_zero : belief[k] - delta_[begin + at];
    }
    factor_messages(Semiring::maximum, layout_, f, 1, in_.data(), out_.data(), scratch_);
    const double share = 1 / static_cast<double>(layout_.scope(f).size());
    at = 0;
    for (std::size_t e = layout_.edge_offsets[f]; e < layout_.edge_offsets[f + 1]; ++e) {
      double* const belief = belief_.data() + graph_.unary_offsets[layout_.variable[e]];
      for (std::size_t k = 0; k < layout_.message_offsets[e + 1] - layout_.message_offsets[e]; ++k, ++at) {
        const double max_marginal = in_[at] + out_[at];
        delta_[begin + at] = max_marginal == log_zero ? log_zero : share * max_marginal - in_[at];
        belief[k] = max_marginal == log_zero ? log_zero : share * max_marginal;
      }
    }
  }

  void sum_beliefs() {
    belief_ = graph_.unary;
    for (std::size_t e = 0; e < layout_.edge_count(); ++e) {
      double* const belief = belief_.data() + graph_.unary_offsets[layout_.variable[e]];
      for (std::size_t k = layout_.message_offsets[e]; k < layout_.message_offsets[e + 1]; ++k)
        belief[k - layout_.message_offsets[e]] += delta_[k];
    }
  }

  const Graph& graph_;
  FactorGraph layout_;
  std::vector<double> delta_, belief_, in_, out_;
  FactorScratch scratch_;
};

}  // namespace

bool bound_meets(double upper, double log_score) {
  return upper - log_score <= 1e-8 * (1 + std::abs(upper));
}

MplpResult mplp(const Graph& graph, const MplpOptions& options, const OnIteration& on_iteration) {
  Dual dual(graph);
  MplpResult result;
  result.upper = std::numeric_limits<double>::infinity();
  while (result.iterations < options.iterations && !result.converged && !result.optimal) {
    dual.sweep();
    ++result.iterations;
    const double bound = dual.bound();
    result.converged = result.upper - bound <= options.tolerance * (1 + std::abs(bound));
    const double fall = result.upper - bound;
    result.upper = std::min(result.upper, bound);
    std::vector<Value> state = dual.decode();
    const double score = log_score(graph, state);
    if (result.state.empty() || score > result.log_score) {
      result.state = std::move(state);
      result.log_score = score;
    }
    result.optimal = bound_meets(result.upper, result.log_score);
    if (on_iteration && !on_iteration(result.iterations, fall)) break;
  }
  return result;
}

}  // namespace drover
