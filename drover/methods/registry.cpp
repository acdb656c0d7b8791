#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <unordered_map>
#include <vector>

#include "drover/compile/stoppable.hpp"
#include "drover/core/chooser.hpp"
#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/methods/all.hpp"
#include "drover/methods/memory_need.hpp"
#include "drover/methods/method.hpp"

namespace drover {

namespace {

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace

bool Method::does(Task task) const {
  switch (task) {
    case Task::marginals:
      return marginals != nullptr;
    case Task::map:
      return map != nullptr;
    case Task::logz:
      return logz != nullptr;
    case Task::sample:
      return sample != nullptr;
  }
  return false;
}

bool Method::shares(Task task) const {
  return std::ranges::find(shared, task) != shared.end();
}

std::span<const Method> all_methods() {
  // One a line.
  // clang-format off
  static const std::vector<Method> methods = {
      exact_method(),
      portfolio_method(),
      max_flow_method(),
      race_method(),
      bracket_method(),
      gibbs_method(),
      blocked_gibbs_method(),
      tempering_method(),
      ais_method(),
      annealed_gibbs_method(),
      icm_method(),
      herded_gibbs_method(),
      gwg_method(),
      pmp_method(),
      bp_method(),
      max_product_method(),
      trw_method(),
      mplp_method(),
      lp_method(),
      primal_dual_method(),
      tree_primal_dual_method(),
      primal_dual_em_method(),
      primal_dual_mean_field_method(),
      swendsen_wang_method(),
      partial_swendsen_wang_method(),
      generalized_swendsen_wang_method(),
      mean_field_method(),
  };
  // clang-format on
  return methods;
}

Problem::Problem(Graph graph, InferenceOptions options, const RunControl& control,
                 std::span<const std::vector<VariableId>> joint)
    : graph_(std::move(graph)), options_(std::move(options)), control_(control) {
  for (const std::vector<VariableId>& set : joint) {
    joint_.emplace_back();
    for (VariableId v : set)
      if (graph_.free_variable[v] != no_variable) joint_.back().push_back(graph_.free_variable[v]);
  }
  if (graph_.gates.size() > 0 && can_expand_gates(graph_)) expanded_ = expand_gates(graph_);
  if (options_.start.empty()) return;
  if (options_.start.size() != graph_.model_size())
    throw OptionError("start", fmt::format("{} values", options_.start.size()),
                      fmt::format("a value for each of {} variables", graph_.model_size()));
  for (VariableId v : graph_.model_variable) start_.push_back(options_.start[v]);
}

Problem::Problem(const Model& model, const Evidence& evidence, InferenceOptions options,
                 const RunControl& control, std::span<const std::vector<VariableId>> joint)
    : Problem(compile(model, evidence, PairTables::recognised, control), std::move(options), control, joint) {
  model_ = &model;
  evidence_ = evidence;
}

Graph Problem::table_graph(const Evidence& decided) const {
  assert(decided.variables.empty() || model_ != nullptr);
  Evidence all = evidence_;
  all.variables.insert(all.variables.end(), decided.variables.begin(), decided.variables.end());
  all.values.insert(all.values.end(), decided.values.begin(), decided.values.end());
  Graph tables = model_ == nullptr ? graph() : compile(*model_, all, PairTables::kept, control_);
  return tables.gates.size() > 0 && can_expand_gates(tables) ? expand_gates(tables) : tables;
}

std::size_t memory_limit_bytes(const InferenceOptions& options) {
  if (options.memory_limit) return static_cast<std::size_t>(*options.memory_limit * 1e9);
  static const std::size_t half = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                  static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)) / 2;
  return half;
}

std::size_t Problem::memory_limit_bytes() const {
  return drover::memory_limit_bytes(options_);
}

const ExactPlan& Problem::exact_plan() const {
  const std::lock_guard lock(working_out_);
  if (!exact_plan_) {
    // An order that is found too late is of no use.
    const RunControl part(
        control_, control_.has_time_limit() ? std::optional(0.1 * control_.seconds_left()) : std::nullopt);
    ExactOptions options;
    options.control = &part;
    exact_plan_ = plan_exact(graph(), options);
  }
  return *exact_plan_;
}

const ConnectivityReport& Problem::connectivity() const {
  const std::lock_guard lock(working_out_);
  if (!connectivity_) connectivity_ = analyse_connectivity(graph());
  return *connectivity_;
}

namespace {

/// The largest finite value in absolute terms. Four at once: each maximum waits for the one before it.
double largest_finite(std::span<const double> values) {
  std::array<double, 4> largest{};
  const auto take = [&](double& most, double value) {
    const double size = std::abs(value);
    most = size > most && size <= std::numeric_limits<double>::max() ? size : most;
  };
  const std::size_t whole = values.size() / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4)
    for (std::size_t k = 0; k < 4; ++k) take(largest[k], values[i + k]);
  for (std::size_t i = whole; i < values.size(); ++i) take(largest[0], values[i]);
  return *std::ranges::max_element(largest);
}

}  // namespace

double Problem::largest_log_factor() const {
  const std::lock_guard lock(working_out_);
  if (!largest_log_factor_)
    largest_log_factor_ =
        std::max({largest_finite(graph().unary), largest_finite(graph().spin_pairs.couplings),
                  largest_finite(graph().potts_pairs.couplings), largest_finite(graph().tables.log_values)});
  return *largest_log_factor_;
}

double Problem::largest_span() const {
  const std::lock_guard lock(working_out_);
  if (largest_span_) return *largest_span_;
  const Graph& g = graph();
  std::vector<double> spans(g.size(), 0.0);
  const auto span_of = [](std::span<const double> values) {
    double low = -log_zero, high = log_zero;
    for (double value : values)
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    return high > low ? high - low : 0.0;
  };
  for (VariableId v = 0; v < g.size(); ++v) spans[v] = span_of(g.unary_of(v));
  const auto add = [&](const Pairs& pairs, double times) {
    for (std::size_t p = 0; p < pairs.size(); ++p)
      for (VariableId v : {pairs.first[p], pairs.second[p]}) spans[v] += times * std::abs(pairs.couplings[p]);
  };
  add(g.spin_pairs, 2);
  add(g.potts_pairs, 1);
  std::unordered_map<const double*, double> of_tables;  // which factors may share
  for (std::size_t f = 0; f < g.tables.size(); ++f) {
    const auto [place, is_new] = of_tables.try_emplace(g.tables.values(f).data(), 0.0);
    if (is_new) place->second = span_of(g.tables.values(f));
    for (VariableId v : g.tables.scope(f)) spans[v] += place->second;
  }
  largest_span_ = spans.empty() ? 0 : *std::ranges::max_element(spans);
  return *largest_span_;
}

std::string why_not(const Method& method, const Problem& problem, Task task) {
  if (problem.largest_log_factor() > method.largest_log_factor)
    return fmt::format("log factors as large as {:.3g} are beyond its arithmetic (at most {:.0e})",
                       problem.largest_log_factor(), method.largest_log_factor);
  if (!problem.joint().empty() && task == Task::marginals && !heeds(method, "joint"))
    return "it gives no joint distributions";
  if (!method.knows_gates && problem.graph().gates.size() > 0)
    return fmt::format("it needs a table for every factor, and a gate has more than {} variables",
                       largest_expanded_gate);
  const std::string reason = method.why_not(problem, task);
  return reason.empty() ? why_not_memory(method, problem, task) : reason;
}

bool heeds(const Method& method, std::string_view option) {
  return has_word(method.options, option);
}

bool is_unheeded(const Method& method, std::string_view option) {
  static const std::set<std::string, std::less<>> heeded_by_some = [] {
    std::set<std::string, std::less<>> names;
    for (const Method& one : all_methods()) {
      std::istringstream words(one.options);
      for (std::string word; words >> word;) names.insert(word);
    }
    return names;
  }();
  return heeded_by_some.contains(option) && !has_word(method.options, option);
}

namespace {

/// What the options of a task are when nothing is set, in the order of their description.
std::vector<Detail> default_values(Task task) {
  InferenceOptions defaults;
  OptionList list;
  describe(list, defaults, task);
  std::vector<Detail> values;
  for (const Option& option : list.options()) values.push_back(option.value());
  return values;
}

}  // namespace

std::vector<std::string> unused_options(const Method& method, Task task, const OptionList& given) {
  // Made once, and the cheap questions first: a call on a small model takes microseconds.
  static const std::array defaults = {default_values(Task::marginals), default_values(Task::map),
                                      default_values(Task::logz), default_values(Task::sample)};
  const std::vector<Detail>& usual = defaults.at(static_cast<std::size_t>(task));
  assert(given.options().size() == usual.size());
  std::vector<std::string> names;
  for (std::size_t k = 0; k < usual.size(); ++k) {
    const Option& option = given.options()[k];
    if (option.value().value() == usual[k].value()) continue;
    if (is_unheeded(method, option.name)) names.push_back(option.name);
  }
  return names;
}

const Method& method_named(std::string_view name) {
  for (const Method& method : all_methods())
    if (method.name == name) return method;
  std::vector<std::string> names = {"auto"};
  for (const Method& method : all_methods()) names.emplace_back(method.name);
  std::vector<const char*> candidates;
  for (const std::string& candidate : names) candidates.push_back(candidate.c_str());
  const std::string nearest = nearest_name(std::string(name), candidates.data(), candidates.size());
  throw OptionError("method", std::string(name),
                    nearest.empty() ? "auto or the name of a method"
                                    : fmt::format("auto or the name of a method; did you mean {}?", nearest));
}

namespace {

/// "these do: ..."; the problem's control ends the search.
std::string methods_for(Task task, const Problem* problem) {
  std::string names;
  for (const Method& method : all_methods()) {
    if (!method.does(task)) continue;
    if (problem != nullptr) {
      StopCheck(problem->control(), "a method", "was chosen").ask();
      if (!why_not(method, *problem, task).empty()) continue;
    }
    names += (names.empty() ? "" : ", ") + std::string(method.name);
  }
  return names.empty() ? "no other does" : "these do: " + names;
}

// The methods `auto` considers, best first; the first that fits is taken.
std::vector<std::string_view> preference(const Problem& problem, Task task) {
  const bool positive = problem.graph().is_strictly_positive();
  switch (task) {
    case Task::marginals:
      return positive ? std::vector<std::string_view>{"exact", "race", "gibbs"}
                      : std::vector<std::string_view>{"exact", "race", "blocked-gibbs", "gibbs", "bp"};
    case Task::sample:
      return positive ? std::vector<std::string_view>{"exact", "gibbs"}
                      : std::vector<std::string_view>{"exact", "blocked-gibbs", "gibbs", "bp"};
    case Task::map:
      // A cut costs little where a tree may take minutes.
      if (problem.options().best == 1 && problem.graph().size() > 256)
        return {"max-flow", "exact", "portfolio", "annealed-gibbs", "max-product"};
      return {"exact", "max-flow", "portfolio", "annealed-gibbs", "max-product"};
    case Task::logz:
      return {"exact", "bracket", "ais", "bp"};
  }
  return {};
}

Choice named_method(const Problem& problem, Task task) {
  const std::string& wanted = problem.options().method;
  const Method& method = method_named(wanted);
  if (!method.does(task))
    throw Error(ErrorKind::misfit, fmt::format("method {} does not do {}; {}", wanted, task_name(task),
                                               methods_for(task, nullptr)));
  const std::string reason = why_not(method, problem, task);
  if (!reason.empty())
    throw Error(ErrorKind::misfit, fmt::format("method {} does not fit this model: {}; {}", wanted, reason,
                                               methods_for(task, &problem)));
  return {&method, ""};
}

template <class WhyNot>
Choice first_that_fits(std::span<const Candidate<const Method*>> candidates, WhyNot why_not) {
  std::string refused;
  auto chosen = choose(candidates, why_not, refused);
  if (!chosen) throw Error(ErrorKind::misfit, fmt::format("no method fits this model: {}", refused));
  return {chosen->choice, std::move(chosen->because)};
}

}  // namespace

Choice choose_method(const Problem& problem, Task task, bool tried_exact) {
  if (problem.options().method != "auto") return named_method(problem, task);
  std::vector<Candidate<const Method*>> candidates;
  for (std::string_view name : preference(problem, task))
    candidates.push_back({&method_named(name), name, ""});
  StopCheck check(problem.control(), "a method", "was chosen");
  Choice choice = first_that_fits(candidates, [&](const Method* method) {
    check.ask();
    return tried_exact && method->name == "exact" ? "exact inference took more than its share of the time"
                                                  : why_not(*method, problem, task);
  });
  if (choice.method->name == "exact") choice.because = exact_reason(problem);
  return choice;
}

}  // namespace drover
