// The options of the four questions about a model (marginals, best state, log Z, sample): small groups of
// typed fields. Each group has one function that describes its fields (drover/core/option_list.hpp).
// A method heeds the groups that concern it; options_of() in drover/methods/method.hpp lists which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/infer/belief_propagation.hpp"
#include "drover/model/observations.hpp"
#include "drover/sample/herded/herded_gibbs_layout.hpp"
#include "drover/sample/herded/herded_gibbs_plan.hpp"
#include "drover/sample/scan.hpp"

namespace drover {

/// How Markov chains run. Annealing, ais, icm and mean field read `count` as the number of their starts.
struct Chains {
  std::optional<std::uint32_t> count{};
  std::optional<std::uint64_t> sweeps{};  ///< after burn-in; for annealing and ais, of one run in all
  std::optional<std::uint64_t> burn_in{};
  std::uint64_t thin = 1;
  std::optional<double> target_rhat{};  ///< the run ends when the largest R-hat has fallen to it
  std::optional<double> target_mcse{};
  Scan scan = Scan::fixed;
};

/// How messages and mean field iterate.
struct Messages {
  std::optional<std::uint64_t> iterations{};
  std::optional<double> damping{};
  std::optional<MessageSchedule> schedule{};
};

/// Herded Gibbs.
struct Herded {
  std::optional<HerdedShare> share{};
  std::uint32_t bins = default_herded_bins;
  std::optional<HerdedSchedule> schedule{};
};

/// The samplers and optimisers with duals.
struct Dual {
  double bond_share = 0.5;
  bool redraw = false;
  double tolerance = 0.1;
  bool forest = false;
};

/// Tempering and annealing.
struct Temperatures {
  std::optional<std::uint32_t> count{};
  std::optional<double> min_inverse{};
};

/// Where a run is saved, and whether it goes on from there.
struct Checkpointing {
  std::string file{};
  double every = 30;  ///< seconds from the end of one save to the next
  bool resume = false;
};

struct InferenceOptions {
  /// Variables whose value is known, by name or number, each with its state by name or number; or with a
  /// likelihood for every state, as "0.2:0.8".
  std::vector<std::pair<std::string, std::string>> observe{};
  /// The same by number.
  Observations evidence{};
  /// Variables of a Bayesian network that are set from outside: the arcs into them are cut.
  std::vector<std::pair<std::string, std::string>> intervene{};
  std::string method = "auto";
  std::uint64_t seed = 1;
  Chains chains{};
  std::optional<std::uint64_t> samples{};  ///< draws in all
  Messages messages{};
  Herded herded{};
  Dual dual{};
  Temperatures temperatures{};
  std::optional<double> memory_limit{};  ///< gigabytes; unset: half of the machine's memory
  std::uint64_t best = 1;                ///< how many of the most probable states
  bool pairs = false;                    ///< also the joint distributions of pairs that share a factor
  /// Sets of variables, by name or number, whose joint distributions are wanted too.
  std::vector<std::vector<std::string>> joint{};
  bool check = false;  ///< compare with exact marginals where they can be had
  Checkpointing checkpoint{};
  /// With a value for each state of every variable, methods that can give means of them instead of marginals,
  /// which may be too many to hold.
  std::vector<float> state_values{};
  bool every_diagnosis = true;  ///< R-hat and ESS of every variable by itself, not of the worst alone
  std::string input{};          ///< what the model is called in the answer; empty: its own name
  /// Chains and iterations start here, a state of every variable of the model, unless it is empty.
  std::vector<Value> start{};
};

/// The four questions.
enum class Task { marginals, map, logz, sample };

template <>
struct ChoiceNames<Task> {
  static constexpr std::array names = {std::pair{Task::marginals, std::string_view("marginals")},
                                       std::pair{Task::map, std::string_view("map")},
                                       std::pair{Task::logz, std::string_view("logz")},
                                       std::pair{Task::sample, std::string_view("sample")}};
};
inline std::string_view task_name(Task task) {
  return choice_name(task);
}

template <>
struct ChoiceNames<Scan> {
  static constexpr std::array names = {std::pair{Scan::fixed, std::string_view("fixed")},
                                       std::pair{Scan::random, std::string_view("random")}};
};
template <>
struct ChoiceNames<MessageSchedule> {
  static constexpr std::array names = {std::pair{MessageSchedule::flooding, std::string_view("flooding")},
                                       std::pair{MessageSchedule::sequential, std::string_view("sequential")},
                                       std::pair{MessageSchedule::residual, std::string_view("residual")}};
};
template <>
struct ChoiceNames<HerdedSchedule> {
  static constexpr std::array names = {std::pair{HerdedSchedule::sequential, std::string_view("sequential")},
                                       std::pair{HerdedSchedule::colours, std::string_view("colours")},
                                       std::pair{HerdedSchedule::jacobi, std::string_view("jacobi")}};
};
template <>
struct ChoiceNames<HerdedShare> {
  static constexpr std::array names = {std::pair{HerdedShare::dense, std::string_view("dense")},
                                       std::pair{HerdedShare::hashed, std::string_view("hashed")},
                                       std::pair{HerdedShare::exact, std::string_view("exact")},
                                       std::pair{HerdedShare::bins, std::string_view("bins")}};
};

/// Method and seed.
void describe_method(OptionList& list, InferenceOptions& options);
/// The fields that the methods of a task read, in words that fit the task. Observations and the sets
/// of joint distributions are left to the caller, who knows their syntax.
void describe(OptionList& list, InferenceOptions& options, Task task);

}  // namespace drover
