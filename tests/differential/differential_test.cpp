// Random small models through every method and question, against the sum over all states.
//
// What is held against an answer is what it says of itself: exact and proven answers are compared as such,
// bounds must lie on their side, estimates that are judged good must lie within their standard errors, draws
// must be of the model. Every question is also asked by someone who ends it early, at any moment: then there is
// nothing, or an answer that is held to the same. No answer's JSON may hold null where a result must be. The numbers 0 to 39 are tried by continuous integration; `make differential` tries
// as many as one has time for (DROVER_QUESTIONS, from DROVER_FIRST_QUESTION on).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/methods/method.hpp"
#include "drover/task/cases.hpp"
#include "drover/task/inference.hpp"
#include "tests/differential/random_questions.hpp"
#include "tests/differential/whole_sum.hpp"

namespace drover {
namespace {

using testing::RandomQuestion;
using testing::WholeSum;

/// Standard errors that an estimate judged good may be off by. Errors are estimated themselves, from at least
/// 400 effective draws, so this is far out: a false alarm is less likely than one in 10^8 per number.
constexpr double most_errors = 6;
/// Beyond rounding, a rare mode that no chain has met may be missed without a trace.
constexpr double rare_mode = 0.01;

std::uint64_t number_of(const char* name, std::uint64_t without) {
  const char* text = std::getenv(name);
  return text == nullptr ? without : std::strtoull(text, nullptr, 10);
}

/// Options as somebody might set them; each method heeds some.
InferenceOptions random_options(RandomSequence& random, const RandomQuestion& question,
                                const Method& method) {
  InferenceOptions options;
  options.method = method.name;
  options.evidence = question.seen;
  options.seed = random();
  const auto one_in = [&](std::uint32_t n) { return random.below(n) == 0; };
  if (heeds(method, "chains") && one_in(2)) options.chains.count = 1 + random.below(70);
  if (heeds(method, "sweeps")) options.chains.sweeps = one_in(3) ? 100 + random.below(200) : 1000;
  if (heeds(method, "burn-in") && one_in(3)) options.chains.burn_in = 20 + random.below(100);
  if (heeds(method, "thin") && one_in(4)) options.chains.thin = 1 + random.below(5);
  if (heeds(method, "scan") && one_in(3)) options.chains.scan = Scan::random;
  if (heeds(method, "iterations") && one_in(4)) options.messages.iterations = 50 + random.below(500);
  if (heeds(method, "damping") && one_in(3)) options.messages.damping = 0.6 * random.uniform();
  if (heeds(method, "schedule") && method.name != "herded-gibbs" && one_in(2))
    options.messages.schedule = static_cast<MessageSchedule>(random.below(3));
  if (method.name == "herded-gibbs" && one_in(2))
    options.herded.schedule = static_cast<HerdedSchedule>(random.below(2));
  if (method.name == "herded-gibbs" && one_in(2))
    options.herded.share = static_cast<HerdedShare>(random.below(4));
  if (heeds(method, "bond-share") && one_in(2)) options.dual.bond_share = random.uniform();
  if (heeds(method, "redraw") && one_in(2)) options.dual.redraw = true;
  if (heeds(method, "forest") && one_in(2)) options.dual.forest = true;
  if (heeds(method, "temperatures") && one_in(2)) options.temperatures.count = 2 + random.below(8);
  if (heeds(method, "pairs") && one_in(3)) options.pairs = true;
  if (heeds(method, "joint") && one_in(3)) {
    std::vector<std::string> set;
    for (VariableId v = 0; v < question.model.variable_count() && set.size() < 3; ++v)
      if (one_in(2)) set.push_back(std::to_string(v));
    if (!set.empty()) options.joint.push_back(set);
  }
  return options;
}

/// Whether the marginals of a method tend to the model's own as its runs grow.
bool is_consistent(std::string_view method) {
  for (std::string_view approximate :
       {"pmp", "herded-gibbs", "bp", "trw", "mean-field", "primal-dual-mean-field"})
    if (method == approximate) return false;
  return true;
}

class Questioning {
 public:
  Questioning(std::uint64_t number, std::map<std::string, std::uint64_t>& asked)
      : number_(number),
        question_(testing::random_question(number)),
        truth_(question_.model, question_.seen),
        scale_(1),
        asked_(asked) {
    for (double score : truth_.scores()) scale_ = std::max(scale_, std::abs(score));
  }

  void ask_everything() {
    for (const Method& method : all_methods())
      for (Task task : {Task::marginals, Task::map, Task::logz, Task::sample})
        if (method.does(task)) {
          ask(method, task);
          ask_ended(method, task);
        }
    ask_cases();
    ask_best_values();
    if (question_.model.kind == ModelKind::bayes) ask_intervention();
  }

 private:
  /// By the clock, and after so many looks at the control.
  void ask_ended(const Method& method, Task task) {
    RandomSequence random(number_, Stream::order, 20 + static_cast<std::uint32_t>(task));
    ended_ = true;
    RunControl in_time;
    in_time.limit_time(1e-4 * random.below(100));
    ask(method, task, in_time);
    std::atomic<std::uint32_t> looks = 0;
    const std::uint32_t most = random.below(3) == 0 ? random.below(500) : random.below(10);
    RunControl by_looks;
    by_looks.stop_when([&] { return ++looks > most; });
    ask(method, task, by_looks);
    ended_ = false;
  }

  void ask(const Method& method, Task task, const RunControl& control = no_control()) {
    RandomSequence random(number_, Stream::order, static_cast<std::uint32_t>(task));
    where_ = fmt::format("question {} ({}), {} by {}{}", number_, question_.kind, task_name(task),
                         method.name, ended_ ? ", ended early" : "");
    InferenceOptions options = random_options(random, question_, method);
    try {
      switch (task) {
        case Task::marginals:
          check(marginals(question_.model, options, control), method);
          break;
        case Task::map:
          if (heeds(method, "best") && random.below(3) == 0) options.best = 2 + random.below(6);
          check(best_state(question_.model, options, control), options.best);
          break;
        case Task::logz:
          check(log_z(question_.model, options, control), method);
          break;
        case Task::sample:
          options.samples = 2000;
          check(sample(question_.model, options, control), method);
          break;
      }
      ++asked_[fmt::format("{} {}", task_name(task), method.name)];
    } catch (const Error& error) {
      // Methods may refuse a model; whoever accepts it must notice evidence that cannot be.
      const bool refused = error.kind() == ErrorKind::misfit || error.kind() == ErrorKind::usage ||
                           (ended_ && error.kind() == ErrorKind::stopped);
      expect(refused || (!truth_.is_possible() && error.kind() == ErrorKind::bad_data),
             fmt::format("raises {}: {}", error.exit_code(), error.what()));
      if (refused && error.kind() == ErrorKind::usage) ++asked_["refused options"];
    }
  }

  void expect(bool holds, const std::string& what) const {
    if (!holds) ADD_FAILURE() << where_ << ": " << what;
  }

  /// What a result must hold is there, in numbers.
  void expect_members(const JsonObject& object, std::initializer_list<const char*> members) const {
    const std::string text = object.text();
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return expect(false, "no JSON: " + text);
    for (const char* member : members)
      expect(json.contains(member) && json[member].dump().find("null") == std::string::npos,
             fmt::format("{} is not known: {}", member, json.value(member, nlohmann::json()).dump()));
  }

  double rounding() const { return 1e-9 * scale_; }

  /// Exact: up to rounding, which grows with the size of the logarithms. Good: within standard errors.
  void check_distribution(std::span<const double> p, std::span<const double> mcse,
                          std::span<const double> truth, bool exact, bool good, const std::string& of) const {
    if (p.size() != truth.size()) return expect(false, fmt::format("{} has {} entries", of, p.size()));
    double sum = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      sum += p[k];
      expect(p[k] >= 0 && p[k] <= 1 + 1e-9, fmt::format("{} has {}", of, p[k]));
      const double error = std::abs(p[k] - truth[k]);
      if (exact)
        expect(error <= 1e-9 + rounding(), fmt::format("{} is {}, exactly {}", of, p[k], truth[k]));
      else if (good)
        expect(
            error <= most_errors * (std::isnan(mcse[k]) ? 0 : mcse[k]) + (question_.mild ? 1e-5 : rare_mode),
            fmt::format("{} is {} +- {}, exactly {}", of, p[k], mcse[k], truth[k]));
    }
    expect(std::abs(sum - 1) <= 1e-6, fmt::format("{} sums to {}", of, sum));
  }

  void check(const Marginals& answer, const Method& method) const {
    if (!truth_.is_possible()) return expect(false, "answers what is impossible");
    const bool good = judge(answer).verdict == Verdict::good && is_consistent(method.name);
    expect_members(to_json(answer), {"marginals", "verdict_text", "seconds"});
    for (VariableId v = 0; v < question_.model.variable_count(); ++v)
      check_distribution(answer.probabilities[v], answer.mcse[v], truth_.marginal(v), answer.exact, good,
                         fmt::format("p of {}", v));
    for (std::size_t k = 0; k < answer.pairs.size(); ++k) {
      const VariableId pair[] = {answer.pairs[k].first, answer.pairs[k].second};
      const std::vector<double> truth = truth_.joint(pair);
      // No errors are known of pairs; those of 400 effective draws are an upper bound.
      std::vector<double> errors;
      for (double p : truth) errors.push_back(std::sqrt(std::max(0.0, p * (1 - p)) / 400));
      check_distribution(answer.pair_probabilities[k], errors, truth, answer.exact, good,
                         fmt::format("p of pair {} {}", pair[0], pair[1]));
    }
    for (const Joint& joint : answer.joints)
      check_distribution(joint.probabilities, joint.mcse, truth_.joint(joint.variables), answer.exact, good,
                         fmt::format("joint of {}", fmt::join(joint.variables, " ")));
    if (!answer.best_state.empty()) check_state(answer.best_state, answer.best_log_score);
  }

  void check_state(std::span<const Value> state, double score) const {
    for (std::size_t e = 0; e < question_.seen.size(); ++e)
      expect(state[question_.seen.variables[e]] == question_.seen.values[e], "a state against the evidence");
    const double own = score_of(state);
    // Kernels add up scores in single precision.
    expect(own == score || std::abs(own - score) <= 1e-6 * scale_,
           fmt::format("a state of score {} is said to have {}", own, score));
    expect(score <= truth_.best_score() + 1e-6 * scale_,
           fmt::format("a score of {} above the best, {}", score, truth_.best_score()));
  }

  double score_of(std::span<const Value> state) const {
    double score = testing::stated_score(question_.model, state);
    for (std::size_t f = 0; f < question_.seen.likelihoods.size(); ++f)
      score += question_.seen.likelihoods.values(f)[state[question_.seen.likelihoods.variables[f]]];
    return score;
  }

  void check(const BestState& answer, std::uint64_t best) const {
    if (!truth_.is_possible()) return expect(!answer.optimal, "proves what is impossible");
    expect_members(to_json(answer), {"assignment", "log_score", "verdict_text", "seconds"});
    check_state(answer.assignment, answer.log_score);
    if (answer.optimal)
      expect(answer.log_score >= truth_.best_score() - rounding(),
             fmt::format("proves {}, the best is {}", answer.log_score, truth_.best_score()));
    if (std::isfinite(answer.upper))
      expect(answer.upper >= truth_.best_score() - 1e-6 * scale_,
             fmt::format("bounds by {}, the best is {}", answer.upper, truth_.best_score()));
    if (best == 1) return;
    for (std::size_t k = 0; k < answer.states.size(); ++k) {
      check_state(answer.states[k].assignment, answer.states[k].log_score);
      for (std::size_t j = 0; j < k; ++j)
        expect(answer.states[j].assignment != answer.states[k].assignment, "a state twice");
    }
    if (!answer.optimal) return;
    expect(answer.states.size() == std::min<std::size_t>(best, truth_.states().size()),
           fmt::format("proves {} states of {}", answer.states.size(), truth_.states().size()));
    for (std::size_t k = 0; k < std::min(answer.states.size(), truth_.states().size()); ++k)
      expect(
          std::abs(answer.states[k].log_score - truth_.scores()[k]) <= 1e-6 * scale_,
          fmt::format("state {} scores {}, exactly {}", k, answer.states[k].log_score, truth_.scores()[k]));
  }

  void check(const LogZ& answer, const Method& method) const {
    if (!truth_.is_possible()) return expect(!answer.exact, "an exact log Z of what is impossible");
    const double truth = truth_.log_z(), error = std::isfinite(answer.mcse) ? most_errors * answer.mcse : 0;
    const std::string said = fmt::format("log Z is {}, said {} +- {} in [{}, {}]", truth, answer.log_z,
                                         answer.mcse, answer.lower, answer.upper);
    expect(std::isfinite(answer.log_z), said);
    expect_members(to_json(answer), {"log_z", "verdict_text", "seconds"});
    if (answer.exact) expect(std::abs(answer.log_z - truth) <= 1e-9 + rounding(), said);
    const double slack = 1e-6 * scale_;
    if (std::isfinite(answer.lower)) expect(answer.lower <= truth + slack, said);
    if (std::isfinite(answer.upper)) expect(answer.upper >= truth - slack, said);
    if (answer.bound == Bound::lower) expect(answer.log_z <= truth + error + slack, said);
    if (answer.bound == Bound::upper) expect(answer.log_z >= truth - error - slack, said);
    if (method.name == "ais" && question_.mild)
      expect(std::abs(answer.log_z - truth) <= error + slack + 1e-4, said);
  }

  void check(const Samples& answer, const Method& method) const {
    if (!truth_.is_possible()) return expect(false, "draws what is impossible");
    const Judgement judgement = judge(answer);
    const std::uint64_t rows = answer.draws / std::max(1U, answer.chains);
    expect(rows * answer.chains == answer.draws && answer.draws >= (ended_ ? 1 : 2000),
           fmt::format("{} draws", answer.draws));
    for (std::uint64_t t = 0; t < rows; t += 97)
      for (std::uint32_t c = 0; c < answer.chains; ++c)
        if (method.name != "pmp") check_state(answer.draw(t, c), answer.log_scores[t * answer.chains + c]);
    if (judgement.verdict != Verdict::good || !is_consistent(method.name)) return;
    const double effective =
        answer.independent ? static_cast<double>(answer.draws) : answer.diagnostics.ess_min;
    for (VariableId v = 0; v < question_.model.variable_count(); ++v) {
      const std::vector<double> truth = truth_.marginal(v);
      std::vector<double> p(truth.size(), 0.0), errors;
      for (std::uint64_t t = 0; t < rows; ++t)
        for (std::uint32_t c = 0; c < answer.chains; ++c)
          p[answer.draw(t, c)[v]] += 1 / static_cast<double>(answer.draws);
      for (double q : truth)
        errors.push_back(std::sqrt(std::max(0.0, q * (1 - q)) / effective) + 3 / effective);
      check_distribution(p, errors, truth, false, true, fmt::format("share of {} in the draws", v));
    }
  }

  /// Many rows of evidence at once give what one at a time gives.
  void ask_cases() {
    where_ = fmt::format("question {} ({}), cases", number_, question_.kind);
    RandomSequence random(number_, Stream::order, 9);
    std::vector<Observations> rows;
    for (int r = 0; r < 4; ++r) {
      Observations row = question_.seen;
      const VariableId v = random.below(static_cast<std::uint32_t>(question_.model.variable_count()));
      bool known = false;
      for (VariableId u : row.variables) known |= u == v;
      if (!known) row.add(v, static_cast<Value>(random.below(question_.model.cardinalities[v])));
      rows.push_back(std::move(row));
    }
    CaseAnswers answer;
    try {
      answer = answer_cases(question_.model, rows);
    } catch (const Error& error) {
      return expect(error.kind() == ErrorKind::bad_data && !WholeSum(question_.model, {}).is_possible(),
                    fmt::format("raises {}: {}", error.exit_code(), error.what()));
    }
    expect(answer.exact && answer.cases == rows.size(), "cases of a small model are exact");
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const WholeSum truth(question_.model, rows[r]);
      expect(std::isnan(answer.of(r, 0)[0]) == !truth.is_possible(), "what is impossible has no answer");
      if (!truth.is_possible()) continue;
      expect(std::abs(answer.log_z[r] - truth.log_z()) <= 1e-9 + rounding(),
             fmt::format("log Z is {}, said {}", truth.log_z(), answer.log_z[r]));
      for (VariableId v = 0; v < question_.model.variable_count(); ++v) {
        const std::vector<double> marginal = truth.marginal(v);
        check_distribution(answer.of(r, v), marginal, marginal, true, true, fmt::format("row {}, {}", r, v));
      }
    }
  }

  /// Marginal MAP: of all values of some variables, those whose summed probability is largest.
  void ask_best_values() {
    where_ = fmt::format("question {} ({}), best values", number_, question_.kind);
    RandomSequence random(number_, Stream::order, 10);
    std::vector<VariableId> of;
    std::vector<std::string> names;
    for (VariableId v = 0; v < question_.model.variable_count(); ++v) {
      bool known = false;
      for (VariableId u : question_.seen.variables) known |= u == v;
      if (known || random.below(2) == 0) continue;
      of.push_back(v);
      names.push_back(std::to_string(v));
    }
    if (of.empty()) return;
    InferenceOptions options;
    options.evidence = question_.seen;
    try {
      const BestValues answer = best_values(question_.model, names, options);
      if (!truth_.is_possible()) return expect(!answer.optimal, "proves what is impossible");
      const std::vector<double> joint = truth_.joint(answer.of);
      std::size_t entry = 0;
      for (std::size_t k = 0; k < answer.of.size(); ++k)
        entry = entry * question_.model.cardinalities[answer.of[k]] + answer.assignment[k];
      const double best = std::log(*std::ranges::max_element(joint)), own = std::log(joint[entry]);
      const std::string said = fmt::format("said {} in [{}, {}], has {}, the best {}", answer.log_probability,
                                           answer.lower, answer.upper, own, best);
      const double slack = 1e-6 * scale_;
      expect(answer.of == of, "answers for other variables");
      expect(answer.log_probability <= own + slack, said);
      if (answer.optimal) expect(own >= best - slack && answer.log_probability >= best - slack, said);
      expect(!(answer.lower > best + slack) && !(answer.upper < best - slack), said);
    } catch (const Error& error) {
      expect(!truth_.is_possible() && error.kind() == ErrorKind::bad_data,
             fmt::format("raises {}: {}", error.exit_code(), error.what()));
    }
  }

  /// Setting a variable of a network from outside: its own table gives way to the value.
  void ask_intervention() {
    where_ = fmt::format("question {} ({}), an intervention", number_, question_.kind);
    RandomSequence random(number_, Stream::order, 11);
    const VariableId v = random.below(static_cast<std::uint32_t>(question_.model.variable_count()));
    const auto value = static_cast<Value>(random.below(question_.model.cardinalities[v]));
    Model cut = question_.model;
    Observations set;
    set.add(v, value);
    // The table of v, whose last variable it is, becomes constant.
    for (std::size_t f = 0; f < cut.unaries.size(); ++f)
      if (cut.unaries.variables[f] == v)
        for (std::size_t e = cut.unaries.offsets[f]; e < cut.unaries.offsets[f + 1]; ++e)
          cut.unaries.log_values[e] = 0;
    for (std::size_t f = 0; f < cut.tables.size(); ++f)
      if (cut.tables.scope(f).back() == v)
        for (std::size_t e = cut.tables.table_offsets[f]; e < cut.tables.table_offsets[f + 1]; ++e)
          cut.tables.log_values[e] = 0;
    const WholeSum truth(cut, set);
    InferenceOptions options;
    options.intervene = {{std::to_string(v), std::to_string(value)}};
    const Marginals answer = marginals(question_.model, options);
    for (VariableId u = 0; u < cut.variable_count(); ++u) {
      const std::vector<double> marginal = truth.marginal(u);
      check_distribution(answer.probabilities[u], marginal, marginal, true, true,
                         fmt::format("p of {} with {} set to {}", u, v, value));
    }
    const LogZ log_z_answer = log_z(question_.model, options);
    expect(std::abs(log_z_answer.log_z - truth.log_z()) <= 1e-9 + rounding(),
           fmt::format("log Z is {}, said {}", truth.log_z(), log_z_answer.log_z));
  }

  std::uint64_t number_;
  RandomQuestion question_;
  WholeSum truth_;
  double scale_;  ///< of log scores, for rounding
  std::string where_;
  bool ended_ = false;  ///< somebody ends the question early
  std::map<std::string, std::uint64_t>& asked_;
};

TEST(Differential, EveryMethodAgainstTheSumOverAllStates) {
  const std::uint64_t first = number_of("DROVER_FIRST_QUESTION", 0);
  const std::uint64_t count = number_of("DROVER_QUESTIONS", 40);
  std::map<std::string, std::uint64_t> asked;
  for (std::uint64_t number = first; number < first + count; ++number)
    Questioning(number, asked).ask_everything();
  std::uint64_t all = 0;
  for (const auto& [what, times] : asked) all += times;
  fmt::print("{} models, {} answers\n", count, all);
  // Every method was asked, and answered, about each of its questions.
  for (const Method& method : all_methods())
    for (Task task : {Task::marginals, Task::map, Task::logz, Task::sample})
      if (count >= 400 && method.does(task)) {
        EXPECT_GT(asked[fmt::format("{} {}", task_name(task), method.name)], 0U)
            << method.name << " never fitted " << task_name(task);
      }
}

}  // namespace
}  // namespace drover
