#include "drover/infer/belief_propagation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/core/error.hpp"
#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/infer/spin_kernels.hpp"
#include "drover/infer/vector_exp.hpp"

namespace drover {

namespace {

constexpr std::size_t grain = 512;             // factors or variables of one task
constexpr std::size_t factors_a_look = 16384;  // between two questions whether to go on
constexpr std::size_t updates_a_look = 1024;   // the same, of the residual schedule

// Working memory of one task.
struct Workspace {
  std::vector<double> in, out;
  FactorScratch factor;
  explicit Workspace(std::size_t entries) : in(entries), out(entries) {}
};

// The sum of exp(logs - shift), no log above the shift.
double sum_of_numbers(std::span<const double> logs, double shift) {
  constexpr std::size_t most = 32;
  double numbers[most], sum = 0;
  for (std::size_t begin = 0; begin < logs.size(); begin += most) {
    const std::size_t count = std::min(most, logs.size() - begin);
    for (std::size_t k = 0; k < count; ++k) numbers[k] = logs[begin + k] - shift;
    exp_all(numbers, count, numbers);
    for (std::size_t k = 0; k < count; ++k) sum += numbers[k];
  }
  return sum;
}

// Shifts a message to log-sum 0 (sum) or maximum 0; false when every entry is a hard zero.
bool normalise(Semiring semiring, std::span<double> message) {
  double high = log_zero;
  for (double value : message) high = std::max(high, value);
  if (high == log_zero) return false;
  const double shift = semiring == Semiring::sum ? high + std::log(sum_of_numbers(message, high)) : high;
  for (double& value : message) value -= shift;
  return true;
}

// Of an entry of two messages of maxima, relative to its size.
double difference_of_maxima(double a, double b) {
  if (a == b) return 0;
  if (a == log_zero || b == log_zero) return std::numeric_limits<double>::infinity();
  return std::abs(a - b) / std::max({1.0, std::abs(a), std::abs(b)});
}

}  // namespace

BeliefPropagation::BeliefPropagation(const FactorGraph& graph, const BeliefOptions& options,
                                     std::span<const double> appearance)
    : graph_(graph),
      options_(options),
      appearance_(appearance.begin(), appearance.end()),
      unary_(graph.graph->unary),
      messages_(graph.message_entries(), 0.0),
      sums_(unary_.size()),
      zeros_(unary_.size()),
      change_(std::numeric_limits<double>::infinity()) {
  assert(options.damping >= 0 && options.damping < 1);
  assert(appearance_.empty() || appearance_.size() == graph.factor_count());
  StopCheck check(*options_.control, "message passing", "began");
  if (options_.semiring == Semiring::sum)
    for (std::size_t e = 0; e < graph_.edge_count(); ++e) {
      check.step();
      const std::size_t begin = graph_.message_offsets[e], states = graph_.message_offsets[e + 1] - begin;
      const double uniform = states == 2 ? -log_of_two : -std::log(static_cast<double>(states));
      std::fill_n(messages_.begin() + static_cast<std::ptrdiff_t>(begin), states, uniform);
    }
  sum_messages();
}

void BeliefPropagation::set_unary(std::span<const double> unary) {
  assert(unary.size() == unary_.size());
  unary_.assign(unary.begin(), unary.end());
  sum_messages();
}

void BeliefPropagation::set_messages(std::span<const double> messages) {
  assert(messages.size() == messages_.size());
  messages_.assign(messages.begin(), messages.end());
  for (std::size_t e = 0; e < graph_.edge_count(); ++e)
    normalise(options_.semiring, {messages_.data() + graph_.message_offsets[e],
                                  graph_.message_offsets[e + 1] - graph_.message_offsets[e]});
  sum_messages();
}

void BeliefPropagation::fail_impossible(VariableId v) const {
  throw Error(ErrorKind::bad_data, fmt::format("every state has probability zero: the factors leave no value "
                                               "for variable {}",
                                               graph_.graph->name(v)));
}

void BeliefPropagation::sum_messages(VariableId v) {
  const std::size_t begin = graph_.graph->unary_offsets[v], states = graph_.graph->cardinalities[v];
  for (std::size_t k = 0; k < states; ++k) {
    const bool zero = unary_[begin + k] == log_zero;
    sums_[begin + k] = zero ? 0.0 : unary_[begin + k];
    zeros_[begin + k] = zero;
  }
  for (std::size_t e : graph_.edges(v)) {
    const double rho = appearance(graph_.factor[e]);
    const double* message = messages_.data() + graph_.message_offsets[e];
    for (std::size_t k = 0; k < states; ++k) {
      if (message[k] == log_zero)
        ++zeros_[begin + k];
      else
        sums_[begin + k] += rho * message[k];
    }
  }
}

void BeliefPropagation::sum_messages() {
  parallel_for(IndexRange(0, graph_.variable_count(), grain), [&](const IndexRange& range) {
    for (std::size_t v = range.begin(); v != range.end(); ++v) sum_messages(static_cast<VariableId>(v));
  });
}

// n = b - m; where m is a hard zero, b without it: the factor does not listen there.
void BeliefPropagation::incoming(std::size_t factor, double* in) const {
  for (std::size_t e = graph_.edge_offsets[factor]; e < graph_.edge_offsets[factor + 1]; ++e) {
    const VariableId v = graph_.variable[e];
    const std::size_t begin = graph_.graph->unary_offsets[v];
    const double* message = messages_.data() + graph_.message_offsets[e];
    for (std::size_t k = 0; k < graph_.graph->cardinalities[v]; ++k) {
      const bool own_zero = message[k] == log_zero;
      const double value = own_zero ? sums_[begin + k] : sums_[begin + k] - message[k];
      *in++ = zeros_[begin + k] > (own_zero ? 1U : 0U) ? log_zero : value;
    }
  }
}

void BeliefPropagation::propose(std::size_t factor, double* in, double* out, FactorScratch& scratch) const {
  incoming(factor, in);
  factor_messages(options_.semiring, graph_, factor, scale(factor), in, out, scratch);
  for (std::size_t e = graph_.edge_offsets[factor]; e < graph_.edge_offsets[factor + 1]; ++e) {
    const std::size_t states = graph_.message_offsets[e + 1] - graph_.message_offsets[e];
    if (!normalise(options_.semiring, {out, states})) fail_impossible(graph_.variable[e]);
    out += states;
  }
}

double BeliefPropagation::change_of(std::size_t factor, const double* proposed) const {
  double change = 0;
  const std::size_t begin = graph_.message_offsets[graph_.edge_offsets[factor]];
  const std::size_t end = graph_.message_offsets[graph_.edge_offsets[factor + 1]];
  if (options_.semiring == Semiring::maximum) {
    for (std::size_t k = begin; k < end; ++k)
      change = std::max(change, difference_of_maxima(proposed[k - begin], messages_[k]));
    return change;
  }
  constexpr std::size_t most = 32;
  double old[most], next[most];
  for (std::size_t k = begin; k < end; k += most) {
    const std::size_t count = std::min(most, end - k);
    exp_all(messages_.data() + k, count, old);
    exp_all(proposed + (k - begin), count, next);
    for (std::size_t j = 0; j < count; ++j) change = std::max(change, std::abs(next[j] - old[j]));
  }
  return change;
}

// A hard zero is taken at once: it is true whatever the damping.
double BeliefPropagation::damp_and_store(std::size_t factor, const double* proposed) {
  const double change = change_of(factor, proposed);
  const std::size_t begin = graph_.message_offsets[graph_.edge_offsets[factor]];
  const std::size_t end = graph_.message_offsets[graph_.edge_offsets[factor + 1]];
  for (std::size_t k = begin; k < end; ++k) {
    const double next = proposed[k - begin];
    messages_[k] = next == log_zero || messages_[k] == log_zero
                       ? log_zero
                       : (1 - options_.damping) * next + options_.damping * messages_[k];
  }
  return change;
}

// As damp_and_store, and corrects the sums of the factor's variables.
void BeliefPropagation::store_and_update(std::size_t factor, const double* proposed) {
  const double rho = appearance(factor);
  const auto correct = [&](double sign) {
    for (std::size_t e = graph_.edge_offsets[factor]; e < graph_.edge_offsets[factor + 1]; ++e) {
      const std::size_t begin = graph_.graph->unary_offsets[graph_.variable[e]];
      const double* message = messages_.data() + graph_.message_offsets[e];
      for (std::size_t k = 0; k < graph_.message_offsets[e + 1] - graph_.message_offsets[e]; ++k) {
        if (message[k] == log_zero)
          zeros_[begin + k] += sign > 0 ? 1U : ~0U;
        else
          sums_[begin + k] += sign * rho * message[k];
      }
    }
  };
  correct(-1);
  damp_and_store(factor, proposed);
  correct(+1);
}

double BeliefPropagation::flood(const GoOn& go_on) {
  // In place: what a factor reads is its own messages and the sums, which stand still meanwhile.
  double change = 0;
  for (std::size_t begin = 0; begin < graph_.factor_count(); begin += factors_a_look) {
    if (begin > 0 && go_on && !go_on()) break;
    const std::size_t end = std::min(graph_.factor_count(), begin + factors_a_look);
    change = parallel_max(IndexRange(begin, end, grain), change, [&](const IndexRange& range) {
      Workspace work(graph_.largest_factor);
      double largest = 0;
      for (std::size_t f = range.begin(); f != range.end(); ++f) {
        propose(f, work.in.data(), work.out.data(), work.factor);
        largest = std::max(largest, damp_and_store(f, work.out.data()));
      }
      return largest;
    });
  }
  sum_messages();
  return change;
}

double BeliefPropagation::pass(const GoOn& go_on) {
  Workspace work(graph_.largest_factor);
  double change = 0;
  std::size_t visited = 0;
  bool stopped = false;
  const auto visit = [&](std::uint32_t f) {
    if (stopped) return;
    if (++visited % factors_a_look == 0 && go_on && !go_on()) {
      stopped = true;
      return;
    }
    propose(f, work.in.data(), work.out.data(), work.factor);
    change = std::max(change, change_of(f, work.out.data()));
    store_and_update(f, work.out.data());
  };
  for (std::size_t p = order_.factors.size(); p-- > 0;) visit(order_.factors[p]);
  for (std::uint32_t f : order_.factors) visit(f);
  sum_messages();  // corrections drift by rounding
  return change;
}

// As many factors as there are, each time the one whose messages would change most.
double BeliefPropagation::residual_round(const GoOn& go_on) {
  const std::size_t factors = graph_.factor_count();
  const std::size_t leaves = std::bit_ceil(std::max<std::size_t>(1, factors));
  Workspace work(graph_.largest_factor);
  const auto messages_of = [&](std::size_t f) {
    return pending_.data() + graph_.message_offsets[graph_.edge_offsets[f]];
  };
  const auto set_priority = [&](std::size_t f, double priority) {
    std::size_t node = leaves + f;
    tournament_[node] = priority;
    for (node /= 2; node > 0; node /= 2)
      tournament_[node] = std::max(tournament_[2 * node], tournament_[2 * node + 1]);
  };
  const auto refresh = [&](std::size_t f) {
    propose(f, work.in.data(), messages_of(f), work.factor);
    set_priority(f, change_of(f, messages_of(f)));
  };
  sum_messages();
  pending_.resize(messages_.size());
  tournament_.assign(2 * leaves, 0.0);
  for (std::size_t f = 0; f < factors; ++f) {
    if (f % factors_a_look == factors_a_look - 1 && go_on && !go_on())
      return std::numeric_limits<double>::infinity();
    refresh(f);
  }
  for (std::size_t update = 0; update < factors && tournament_[1] > options_.tolerance; ++update) {
    if (update % updates_a_look == updates_a_look - 1 && go_on && !go_on()) break;
    std::size_t node = 1;
    while (node < leaves) node = tournament_[2 * node] >= tournament_[2 * node + 1] ? 2 * node : 2 * node + 1;
    const std::size_t f = node - leaves;
    store_and_update(f, messages_of(f));
    refresh(f);
    for (VariableId v : graph_.scope(f))
      for (std::size_t e : graph_.edges(v))
        if (graph_.factor[e] != f) refresh(graph_.factor[e]);
  }
  return factors == 0 ? 0.0 : tournament_[1];
}

double BeliefPropagation::iterate(const GoOn& go_on) {
  if (engine_) return engine_->iterate(options_.damping, options_.tolerance, go_on);
  switch (options_.schedule) {
    case MessageSchedule::flooding:
      return flood(go_on);
    case MessageSchedule::sequential:
      return pass(go_on);
    case MessageSchedule::residual:
      return residual_round(go_on);
  }
  return 0;
}

void BeliefPropagation::run(const OnIteration& on_iteration, const GoOn& go_on) {
  engine_ = engine();
  if (!engine_ && options_.schedule == MessageSchedule::sequential && order_.variables.empty())
    order_ = breadth_first(graph_, *options_.control);
  bool stopped = false;
  const GoOn asked = [&] {
    stopped |= go_on && !go_on();
    return !stopped;
  };
  for (std::uint64_t i = 0; i < options_.iterations; ++i) {
    const double change = iterate(asked);
    if (stopped) break;  // what was not looked at may have changed more
    change_ = change;
    ++iterations_;
    const bool more = !on_iteration || on_iteration(iterations_, change_);
    if (converged() || !more) break;
  }
  if (engine_) take_messages(*engine_);
  engine_.reset();
}

std::unique_ptr<SpinEngine> BeliefPropagation::engine() const {
  const Graph& graph = *graph_.graph;
  if (!options_.vectors || graph_.edge_count() == 0) return nullptr;
  SpinProblem problem;
  problem.semiring = options_.semiring;
  problem.control = options_.control;
  StopCheck check(*options_.control, "message passing", "began");
  for (std::size_t f = 0; f < graph_.factor_count(); ++f) {
    check.step();
    const std::size_t edge = graph_.edge_offsets[f];
    if (edge == graph_.edge_offsets[f + 1]) continue;
    if (graph_.kind[f] != FactorKind::spin_pair) return nullptr;
    const double* message = messages_.data() + graph_.message_offsets[edge];
    problem.first.push_back(graph_.variable[edge]);
    problem.second.push_back(graph_.variable[edge + 1]);
    problem.coupling.push_back(scale(f) * graph.spin_pairs.couplings[graph_.index[f]]);
    problem.to_first.push_back(message[1] - message[0]);
    problem.to_second.push_back(message[3] - message[2]);
    if (!appearance_.empty()) problem.appearance.push_back(appearance_[f]);
  }
  // Variables of more states stand alone here; nobody asks for their log odds.
  for (VariableId v = 0; v < graph_.variable_count(); ++v) {
    check.step();
    const double* unary = unary_.data() + graph.unary_offsets[v];
    problem.log_odds.push_back(graph.cardinalities[v] == 2 ? unary[1] - unary[0] : 0.0);
    if (!std::isfinite(problem.log_odds.back())) return nullptr;
  }
  const bool in_order = options_.schedule == MessageSchedule::sequential;
  return spin_engine(
      problem, options_.schedule,
      in_order ? breadth_first(graph_, *options_.control).variables : std::vector<VariableId>());
}

void BeliefPropagation::take_messages(const SpinEngine& engine) {
  const SpinPairMessages found = engine.messages();
  std::size_t pair = 0;
  for (std::size_t f = 0; f < graph_.factor_count(); ++f) {
    const std::size_t edge = graph_.edge_offsets[f];
    if (edge == graph_.edge_offsets[f + 1]) continue;
    double* message = messages_.data() + graph_.message_offsets[edge];
    message[0] = std::min(0.0, -found.to_first[pair]);
    message[1] = std::min(0.0, found.to_first[pair]);
    message[2] = std::min(0.0, -found.to_second[pair]);
    message[3] = std::min(0.0, found.to_second[pair++]);
  }
  sum_messages();
}

std::vector<double> BeliefPropagation::log_beliefs() const {
  std::vector<double> beliefs(sums_.size());
  const std::vector<double> log_odds = engine_ ? engine_->log_odds() : std::vector<double>();
  for (VariableId v = 0; v < graph_.variable_count(); ++v) {
    const std::size_t begin = graph_.graph->unary_offsets[v], end = graph_.graph->unary_offsets[v + 1];
    double high = log_zero;
    for (std::size_t k = begin; k < end; ++k) {
      beliefs[k] = zeros_[k] > 0 ? log_zero : sums_[k];
      if (engine_ && graph_.graph->cardinalities[v] == 2) beliefs[k] = k == begin ? 0.0 : log_odds[v];
      high = std::max(high, beliefs[k]);
    }
    if (high == log_zero) fail_impossible(v);
    for (std::size_t k = begin; k < end; ++k) beliefs[k] -= high;
  }
  return beliefs;
}

Distributions BeliefPropagation::marginals() const {
  const std::vector<double> beliefs = log_beliefs();
  Distributions result;
  result.assign(graph_.graph->cardinalities, 0);
  parallel_for(IndexRange(0, graph_.variable_count(), grain), [&](const IndexRange& range) {
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      const std::span<double> p = result[v];
      std::copy_n(beliefs.begin() + static_cast<std::ptrdiff_t>(graph_.graph->unary_offsets[v]), p.size(),
                  p.begin());
      normalise_logs(p);
    }
  });
  return result;
}

double BeliefPropagation::log_z() const {
  // Terms by threads, their sum in order: the same bits for any number of them.
  const std::size_t n = graph_.variable_count(), factors = graph_.factor_count();
  std::vector<double> log_z_of(n), terms(factors, 0.0);
  parallel_for(IndexRange(0, n, grain), [&](const IndexRange& range) {
    std::vector<double> values;
    for (std::size_t v = range.begin(); v != range.end(); ++v) {
      values.clear();
      for (std::size_t k = graph_.graph->unary_offsets[v]; k < graph_.graph->unary_offsets[v + 1]; ++k)
        values.push_back(zeros_[k] > 0 ? log_zero : sums_[k]);
      log_z_of[v] = log_sum_exp(values);
    }
  });
  double total = graph_.graph->log_constant;
  for (VariableId v = 0; v < n; ++v) {
    if (log_z_of[v] == log_zero) fail_impossible(v);
    total += log_z_of[v];
  }
  parallel_for(IndexRange(0, factors, grain), [&](const IndexRange& range) {
    Workspace work(graph_.largest_factor);
    std::vector<double> values;
    for (std::size_t f = range.begin(); f != range.end(); ++f) {
      const auto scope = graph_.scope(f);
      if (scope.empty()) continue;
      incoming(f, work.in.data());
      factor_messages(Semiring::sum, graph_, f, scale(f), work.in.data(), work.out.data(), work.factor);
      values.clear();
      for (std::size_t k = 0; k < graph_.graph->cardinalities[scope[0]]; ++k)
        values.push_back(work.in[k] + work.out[k]);
      terms[f] = log_sum_exp(values);
      if (terms[f] == log_zero) fail_impossible(scope[0]);
      for (VariableId v : scope) terms[f] -= log_z_of[v];
      terms[f] *= appearance(f);
    }
  });
  for (double term : terms) total += term;
  return total;
}

std::vector<Value> BeliefPropagation::decode() const {
  const std::vector<double> beliefs = log_beliefs();
  std::vector<Value> best(graph_.variable_count());
  for (VariableId v = 0; v < best.size(); ++v) {
    const double* begin = beliefs.data() + graph_.graph->unary_offsets[v];
    best[v] = static_cast<Value>(std::max_element(begin, begin + graph_.graph->cardinalities[v]) - begin);
  }
  return best;
}

std::vector<Value> BeliefPropagation::decode_in_order(const FactorOrder& order) const {
  const Graph& graph = *graph_.graph;
  std::vector<Value> best(graph_.variable_count());
  std::vector<char> known(best.size(), 0);
  Workspace work(graph_.largest_factor);
  std::vector<double> score;
  for (VariableId v : order.variables) {
    score.assign(unary_.begin() + static_cast<std::ptrdiff_t>(graph.unary_offsets[v]),
                 unary_.begin() + static_cast<std::ptrdiff_t>(graph.unary_offsets[v + 1]));
    for (std::size_t own : graph_.edges(v)) {
      const std::size_t f = graph_.factor[own];
      const auto scope = graph_.scope(f);
      const double* message = messages_.data() + graph_.message_offsets[own];
      if (std::any_of(scope.begin(), scope.end(), [&](VariableId u) { return known[u]; })) {
        incoming(f, work.in.data());
        std::size_t at = 0;
        for (VariableId u : scope)
          for (std::size_t k = 0; k < graph.cardinalities[u]; ++k, ++at)
            if (known[u]) work.in[at] = k == best[u] ? 0.0 : log_zero;
        factor_messages(Semiring::maximum, graph_, f, scale(f), work.in.data(), work.out.data(), work.factor);
        message =
            work.out.data() + (graph_.message_offsets[own] - graph_.message_offsets[graph_.edge_offsets[f]]);
        // Only with cycles can the values before leave none here; then this factor is not obeyed.
        if (std::all_of(message, message + score.size(), [](double m) { return m == log_zero; })) continue;
      }
      for (std::size_t k = 0; k < score.size(); ++k) score[k] += message[k];
    }
    best[v] = static_cast<Value>(std::max_element(score.begin(), score.end()) - score.begin());
    known[v] = 1;
  }
  return best;
}

}  // namespace drover
