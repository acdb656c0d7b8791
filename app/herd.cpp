// drover herd: pseudo-samples from the moments of a data table or of a moments file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "app/commands.hpp"
#include "app/herd_page.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/classify/online_logistic.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/core/random.hpp"
#include "drover/herd/consistency.hpp"
#include "drover/herd/herding.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/evidence.hpp"
#include "drover/io/moments.hpp"
#include "drover/io/text_source.hpp"

namespace drover::app {

namespace {

constexpr std::uint64_t default_samples = 100000;
constexpr double most_features = 2e7;

/// A column that is learned from the others while pseudo-samples pass by; test rows were kept apart.
struct Classification {
  VariableId column;
  LabelledRows test;
  double majority_error;  ///< of always naming the class that is most frequent in the data that is herded
  OnlineLogistic learner;
  std::vector<Value> inputs;  ///< room for one row

  void learn(std::span<const Value> x) {
    copy_inputs(x, inputs);
    learner.learn(inputs, x[column]);
  }
  /// All but the column.
  void copy_inputs(std::span<const Value> x, std::span<Value> out) const {
    std::copy_n(x.begin(), column, out.begin());
    std::copy(x.begin() + column + 1, x.end(), out.begin() + column);
  }
};

/// What is to be herded: moments, and the names of variables and states (a model without factors).
struct HerdInput {
  Moments moments;
  Model names;
  std::size_t rows = 0;                    ///< of the data; 0 for a moments file
  std::vector<double> count_distribution;  ///< of the ones in the data; empty unless all is binary
  std::optional<Classification> classification{};
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// "rain;sky;rain,sky", or the lines of a file.
FeatureSet parse_features(const Model& names, const std::string& text) {
  std::vector<std::string> lines;
  if (text.front() == '@') {
    TextSource source(text.substr(1));
    while (source.next_token()) lines.emplace_back(source.token());
  } else {
    lines = split(text, ';');
  }
  std::vector<std::vector<VariableId>> groups;
  for (const std::string& line : lines) {
    std::vector<VariableId> group = parse_query(names, line);
    std::sort(group.begin(), group.end());
    if (group.empty() || group.size() > max_feature_order ||
        std::adjacent_find(group.begin(), group.end()) != group.end())
      throw Error(
          ErrorKind::usage,
          fmt::format("--features: expected one to three different variables, found {}", printable(line)));
    groups.push_back(std::move(group));
  }
  if (groups.empty()) throw Error(ErrorKind::usage, "--features: expected at least one feature");
  return chosen_features(names.cardinalities, groups);
}

HerdInput load_moments(const Invocation& invocation) {
  for (const char* option : {"order", "features", "binarise", "columns", "header", "classify"})
    if (invocation.was_given(option))
      throw Error(
          ErrorKind::usage,
          fmt::format("--{} is for data tables; a moments file says itself what its features are", option));
  HerdInput input;
  input.moments = read_moments(invocation.arguments.at(0));
  input.names.cardinalities = input.moments.set.cardinalities;
  for (std::size_t v = 0; v < input.names.cardinalities.size(); ++v)
    input.names.variable_names.push_back("x" + std::to_string(v));
  return input;
}

/// Moves the test rows from the table to the classification.
Classification keep_test_rows(DataTable& table, const Model& names, const Settings& settings) {
  const std::vector<VariableId> chosen = parse_query(names, settings.classify);
  if (chosen.size() != 1 || table.variables() < 2)
    throw Error(ErrorKind::usage,
                fmt::format("--classify {}: expected one column, and others to learn it from",
                            printable(settings.classify)));
  const VariableId column = chosen.front();
  const std::size_t n = table.variables();
  const std::size_t count =
      settings.test_rows > 0 ? static_cast<std::size_t>(settings.test_rows) : (table.rows + 4) / 5;
  if (count >= table.rows)
    throw Error(ErrorKind::usage,
                fmt::format("--test-rows {}: the data has {} rows, and some must be left to "
                            "herd",
                            count, table.rows));
  std::vector<std::uint32_t> order(table.rows);
  std::iota(order.begin(), order.end(), 0U);
  RandomSequence random(static_cast<std::uint64_t>(settings.seed), Stream::resample);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(order[i], order[i + random.below(static_cast<std::uint32_t>(table.rows - i))]);
  std::sort(order.begin() + static_cast<std::ptrdiff_t>(count), order.end());

  std::vector<std::uint32_t> cardinalities = table.cardinalities;
  cardinalities.erase(cardinalities.begin() + column);
  const std::uint32_t classes = table.cardinalities[column];
  Classification result{column, {cardinalities, classes, {}, {}}, 0, {cardinalities, classes}, {}};
  result.inputs.resize(n - 1);
  std::vector<Value> kept;
  std::vector<std::size_t> frequency(classes, 0);
  for (std::size_t i = 0; i < table.rows; ++i) {
    const std::span<const Value> row(&table.values[order[i] * n], n);
    if (i < count) {
      result.copy_inputs(row, result.inputs);
      result.test.inputs.insert(result.test.inputs.end(), result.inputs.begin(), result.inputs.end());
      result.test.labels.push_back(row[column]);
    } else {
      kept.insert(kept.end(), row.begin(), row.end());
      ++frequency[row[column]];
    }
  }
  const auto majority =
      static_cast<Value>(std::max_element(frequency.begin(), frequency.end()) - frequency.begin());
  const auto wrong = std::count_if(result.test.labels.begin(), result.test.labels.end(),
                                   [&](Value label) { return label != majority; });
  result.majority_error = static_cast<double>(wrong) / static_cast<double>(count);
  table.values = std::move(kept);
  table.rows -= count;
  return result;
}

HerdInput load_data(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (invocation.was_given("test-rows") && settings.classify.empty())
    throw Error(ErrorKind::usage, "--test-rows is for --classify");
  DataTable table =
      read_data_table(invocation.arguments.at(0), {settings.binarise, settings.header, settings.columns});
  HerdInput input;
  input.names.cardinalities = table.cardinalities;
  input.names.variable_names = table.names;
  input.names.state_names = table.state_names;
  if (!settings.classify.empty()) input.classification = keep_test_rows(table, input.names, settings);
  input.rows = table.rows;
  const auto order = static_cast<std::uint32_t>(settings.order);
  FeatureSet set;
  if (!settings.features.empty()) {
    set = parse_features(input.names, settings.features);
  } else {
    const double count = complete_feature_count(table.cardinalities, order);
    if (count > most_features)
      throw Error(
          ErrorKind::usage,
          fmt::format("--order {}: {:.3g} features are too many; use a lower order, --features or --columns",
                      order, count));
    set = complete_features(table.cardinalities, order);
  }
  input.moments = moments_of(std::move(set), table.values);
  if (std::all_of(table.cardinalities.begin(), table.cardinalities.end(), [](auto k) { return k == 2; })) {
    input.count_distribution.assign(table.variables() + 1, 0.0);
    for (std::size_t r = 0; r < table.rows; ++r) {
      std::size_t ones = 0;
      for (std::size_t v = 0; v < table.variables(); ++v) ones += table.values[r * table.variables() + v];
      input.count_distribution[ones] += 1.0 / static_cast<double>(table.rows);
    }
  }
  return input;
}

HerdSearch parse_search(const std::string& text) {
  if (text == "auto") return HerdSearch::automatic;
  if (text == "enumerate") return HerdSearch::enumerate;
  if (text == "tree") return HerdSearch::tree;
  if (text == "local") return HerdSearch::local;
  throw Error(ErrorKind::usage, fmt::format("--search {}: expected auto, enumerate, tree or local", text));
}

const char* search_name(HerdSearch search) {
  return search == HerdSearch::enumerate ? "enumerate" : search == HerdSearch::tree ? "tree" : "local";
}

std::string chosen_because(HerdSearch search) {
  if (search == HerdSearch::enumerate) return "the joint states are few enough to enumerate";
  if (search == HerdSearch::tree) return "the features have a small junction tree";
  return "there are too many joint states for an exact maximum";
}

struct Queries {
  std::vector<std::string> texts;
  std::vector<HerdQuery> conditions;

  Queries(const Model& names, const std::string& text) {
    if (text.empty()) return;
    texts = split(text, ';');
    for (const std::string& one : texts) {
      const Evidence evidence = parse_observations(names, one);
      HerdQuery& conditions_of_one = conditions.emplace_back();
      for (std::size_t e = 0; e < evidence.size(); ++e)
        conditions_of_one.push_back({evidence.variables[e], evidence.values[e]});
    }
  }
};

std::unique_ptr<DrawWriter> make_writer(const Invocation& invocation, const HerdInput& input) {
  if (invocation.settings.out.empty() || ends_with(invocation.settings.out, ".json")) return nullptr;
  DrawFileHeader header;
  header.variable_names = input.names.variable_names;
  header.max_cardinality =
      *std::max_element(input.names.cardinalities.begin(), input.names.cardinalities.end());
  header.metadata = json_envelope(invocation, {}).text();
  return make_draw_writer(invocation.settings.out, std::move(header));
}

std::string feature_name(const HerdInput& input, std::size_t feature) {
  std::string text;
  for (std::uint32_t member : input.moments.set.features[feature].members()) {
    const auto [variable, value] = input.moments.set.indicators[member];
    text += (text.empty() ? "" : ",") + input.names.variable_name(variable) + "=" +
            input.names.state_name(variable, value);
  }
  return text;
}

std::vector<HerdMoment> worst_moments(const HerdInput& input, const Herding& herding) {
  const std::vector<double> changes = herding.weight_changes();
  const double steps = static_cast<double>(std::max<std::uint64_t>(herding.samples(), 1));
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min<std::size_t>(10, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return std::abs(changes[a]) != std::abs(changes[b])
                                 ? std::abs(changes[a]) > std::abs(changes[b])
                                 : a < b;
                    });
  std::vector<HerdMoment> worst;
  for (std::size_t k = 0; k < shown; ++k) {
    const double moment = input.moments.values[order[k]];
    worst.push_back({feature_name(input, order[k]), moment, moment - changes[order[k]] / steps});
  }
  return worst;
}

std::vector<std::string> find_warnings(const HerdInput& input, const std::vector<Inconsistency>& inconsistent,
                                       std::size_t inconsistent_total, const HerdSummary& summary) {
  std::vector<std::string> warnings;
  if (!inconsistent.empty()) {
    std::string features;
    for (std::size_t f : inconsistent.front().features)
      features += fmt::format("{}P({}) = {:.6g}", features.empty() ? "" : ", ", feature_name(input, f),
                              input.moments.values[f]);
    warnings.push_back(
        fmt::format("no distribution has these moments: {} condition{} violated, most {} by {:.3g} ({})",
                    inconsistent_total, inconsistent_total == 1 ? " is" : "s are",
                    inconsistent.front().condition, inconsistent.front().excess, features));
  }
  if (!summary.growing.empty())
    warnings.push_back(fmt::format("the weights grow with every sample, fastest that of {}: {}",
                                   feature_name(input, summary.growing.front().feature),
                                   inconsistent.empty()
                                       ? "the moments are inconsistent, or the search is stuck"
                                       : "the pseudo-samples cannot reach these moments"));
  else if (summary.facts.short_of * 100 > summary.samples)
    warnings.push_back(
        fmt::format("in {} of {} samples the search fell short of what keeps the weights bounded",
                    summary.facts.short_of, summary.samples));
  return warnings;
}

}  // namespace

int run_herd(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".npz", ".csv", ".csv.gz", ".nc", ".json"});
  const HerdSearch asked = parse_search(settings.search);
  HerdInput input =
      is_moments_file(invocation.arguments.at(0)) ? load_moments(invocation) : load_data(invocation);
  const Queries queries(input.names, settings.query);
  std::size_t inconsistent_total = 0;
  std::vector<Inconsistency> inconsistent;
  if (input.rows == 0) inconsistent = find_inconsistencies(input.moments, 1e-9, 20, &inconsistent_total);

  ProgressBar bar(settings.quiet);
  const RunControl& control = run_control();
  Herding herding(input.moments, {.search = asked, .adaptive = true, .start_weights = {}});
  const std::unique_ptr<DrawWriter> writer = make_writer(invocation, input);
  const std::uint64_t samples =
      settings.samples > 0 ? static_cast<std::uint64_t>(settings.samples) : default_samples;
  const HerdSummary summary = run_herding(
      herding, samples, queries.conditions,
      [&](std::span<const Value> x) {
        if (writer) writer->append(0, x, std::numeric_limits<double>::quiet_NaN());
        if (input.classification) input.classification->learn(x);
      },
      [&](std::uint64_t done) {
        if (done % 1024 == 0)
          control.report({"herding", static_cast<double>(done) / static_cast<double>(samples), done, 0, 0});
        return !control.should_stop();
      });
  if (writer) writer->finish();
  bar.clear();
  const double seconds = bar.seconds();
  std::vector<std::string> warnings = find_warnings(input, inconsistent, inconsistent_total, summary);
  if (bar.was_interrupted()) warnings.emplace_back("interrupted: this is the result so far");

  SettingsObject object = json_envelope(
      invocation, warnings, asked == HerdSearch::automatic ? chosen_because(herding.search()) : "");
  object.add("samples", summary.samples);
  object.add("variables", input.names.variable_count());
  object.add("rows", input.rows);
  object.add("features", input.moments.set.size());
  object.add("search", search_name(herding.search()));
  object.add("exact", herding.is_exact());
  object.add("moment_error_max", summary.moment_error_max);
  object.add("worst_feature", feature_name(input, summary.worst_feature));
  object.add("weight_norm", summary.weight_norm);
  object.add("weight_norm_half", summary.weight_norm_half);
  object.add_raw("count_distribution", json_array(summary.count_distribution));
  if (!input.count_distribution.empty())
    object.add_raw("data_count_distribution", json_array(input.count_distribution));
  nlohmann::ordered_json expectations = nlohmann::ordered_json::array();
  for (std::size_t q = 0; q < queries.texts.size(); ++q)
    expectations.push_back({{"query", queries.texts[q]}, {"probability", summary.query_probabilities[q]}});
  object.add("expectations", expectations);
  nlohmann::ordered_json contradictions = nlohmann::ordered_json::array();
  for (const Inconsistency& one : inconsistent) {
    nlohmann::ordered_json features = nlohmann::ordered_json::array();
    for (std::size_t f : one.features) features.push_back(feature_name(input, f));
    contradictions.push_back({{"condition", one.condition}, {"features", features}, {"excess", one.excess}});
  }
  object.add("inconsistent", contradictions);
  nlohmann::ordered_json growing = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < std::min<std::size_t>(20, summary.growing.size()); ++k)
    growing.push_back(
        {{"feature", feature_name(input, summary.growing[k].feature)}, {"rate", summary.growing[k].rate}});
  object.add("growing", growing);
  std::string classified;
  if (const auto& classification = input.classification) {
    const double error = error_rate(classification->learner.classifier(), classification->test);
    object.add("classification", {{"column", input.names.variable_name(classification->column)},
                                  {"classes", classification->test.classes},
                                  {"test_rows", classification->test.rows()},
                                  {"error", error},
                                  {"majority_error", classification->majority_error}});
    classified = fmt::format(
        "{} from the other columns: error {:.4g} on {} test rows (always the most frequent class: {:.4g})",
        input.names.variable_name(classification->column), error, classification->test.rows(),
        classification->majority_error);
  }
  object.add("hard_searches", summary.facts.hard);
  object.add("short_searches", summary.facts.short_of);
  if (!settings.out.empty()) object.add("out", settings.out);
  object.add("seconds", seconds);
  if (ends_with(settings.out, ".json")) write_file(settings.out, object.text());
  if (!settings.report.empty())
    write_file(settings.report, herd_page({.data = invocation.arguments.at(0),
                                           .variables = input.names.variable_count(),
                                           .rows = input.rows,
                                           .features = input.moments.set.size(),
                                           .search = search_name(herding.search()),
                                           .seconds = seconds,
                                           .summary = summary,
                                           .data_count_distribution = input.count_distribution,
                                           .worst = worst_moments(input, herding),
                                           .classified = classified,
                                           .warnings = warnings,
                                           .json = object.text()}));
  print_warnings(settings.quiet, warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }

  print_text(fmt::format(
      "{} of {}, {}; search {}, {:.3f} s\n"
      "largest moment error {:.3g} ({}), weight norm {:.4g}\n",
      counted(summary.samples, "pseudo-sample"), counted(input.names.variable_count(), "variable"),
      counted(input.moments.set.size(), "feature"), search_name(herding.search()), seconds,
      summary.moment_error_max, feature_name(input, summary.worst_feature), summary.weight_norm));
  if (!classified.empty()) print_text(classified + "\n");
  for (std::size_t q = 0; q < queries.texts.size(); ++q)
    print_text(fmt::format("P({}) = {:.6g}\n", queries.texts[q], summary.query_probabilities[q]));
  if (!summary.count_distribution.empty()) {
    TextTable table({"ONES", "P(k)", input.count_distribution.empty() ? "" : "DATA"});
    for (std::size_t k = 0; k < summary.count_distribution.size(); ++k)
      table.row({std::to_string(k), fmt::format("{:.5f}", summary.count_distribution[k]),
                 input.count_distribution.empty() ? "" : fmt::format("{:.5f}", input.count_distribution[k])});
    print_text("\n");
    table.print();
  }
  return 0;
}

}  // namespace drover::app
