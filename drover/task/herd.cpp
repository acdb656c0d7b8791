#include "drover/task/herd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "drover/classify/online_logistic.hpp"
#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/core/figures.hpp"
#include "drover/herd/consistency.hpp"
#include "drover/herd/unasked_joints.hpp"
#include "drover/io/text_source.hpp"
#include "drover/numeric/hold_out.hpp"
#include "drover/run/draw_keeper.hpp"
#include "drover/task/draw_file_sink.hpp"
#include "drover/task/run_identity.hpp"

namespace drover {

namespace {

constexpr std::uint32_t default_order = 2;
constexpr double most_features = 2e7;
constexpr std::size_t most_named = 20;  ///< contradictions and growing weights
constexpr std::size_t most_worst = 10;

std::string joined(const std::vector<Observation>& query) {
  std::string text;
  for (const auto& [name, state] : query)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, state);
  return text;
}

/// "rain;sky;rain,sky", or the lines of a file after @.
std::vector<std::vector<std::string>> parse_features(std::string_view text) {
  std::vector<std::string> lines;
  if (text.starts_with('@')) {
    TextSource source{std::string(text.substr(1))};
    while (source.next_token()) lines.emplace_back(source.token());
  } else {
    lines = split_names(text, ';');
  }
  if (lines.empty()) throw OptionError("features", std::string(text), "at least one feature");
  std::vector<std::vector<std::string>> groups;
  for (const std::string& line : lines) groups.push_back(split_names(line));
  return groups;
}

std::string features_text(const std::vector<std::vector<std::string>>& groups) {
  std::string text;
  for (const auto& group : groups)
    text += fmt::format("{}{}", text.empty() ? "" : ";", fmt::join(group, ","));
  return text;
}

std::vector<std::vector<Observation>> parse_queries(std::string_view text) {
  std::vector<std::vector<Observation>> queries;
  for (const std::string& one : split_names(text, ';')) queries.push_back(split_observations(one));
  return queries;
}

std::string queries_text(const std::vector<std::vector<Observation>>& queries) {
  std::string text;
  for (const auto& query : queries) text += (text.empty() ? "" : ";") + joined(query);
  return text;
}

/// Variables and states with their names, as a model without factors.
Model names_of(const DataTable& table) {
  Model names;
  names.cardinalities = table.cardinalities;
  names.variable_names = table.names;
  names.state_names = table.state_names;
  return names;
}

FeatureCoding coding_of(const Model& names, const HerdOptions& options) {
  const bool binary = std::ranges::all_of(names.cardinalities, [](std::uint32_t k) { return k == 2; });
  if (options.coding == FeatureCoding::spins && !binary)
    throw OptionError("coding", "spins", "binary variables only: cells are for those of more states");
  return options.coding.value_or(binary ? FeatureCoding::spins : FeatureCoding::cells);
}

FeatureSet features_of(const Model& names, const HerdOptions& options) {
  const FeatureCoding coding = coding_of(names, options);
  if (options.features.empty()) {
    const std::uint32_t order = options.order.value_or(default_order);
    const double count = complete_feature_count(names.cardinalities, order, coding);
    if (count > most_features)
      throw OptionError(
          "order", std::to_string(order),
          fmt::format("fewer than {:.3g} features: a lower order, chosen features or fewer columns", count));
    return complete_features(names.cardinalities, order, coding);
  }
  std::vector<std::vector<VariableId>> groups;
  for (const std::vector<std::string>& words : options.features) {
    std::vector<VariableId> group = variables_named(names, words);
    std::sort(group.begin(), group.end());
    if (group.empty() || group.size() > max_feature_order ||
        std::adjacent_find(group.begin(), group.end()) != group.end())
      throw OptionError("features", fmt::format("{}", fmt::join(words, ",")),
                        "one to three different variables");
    groups.push_back(std::move(group));
  }
  return chosen_features(names.cardinalities, groups, coding);
}

/// A column that is learnt from the others while pseudo-samples pass by; test rows were kept apart.
struct Classification {
  VariableId column;
  LabelledRows test;
  double majority_error;
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

/// Moves the test rows from the table to the classification.
Classification keep_test_rows(DataTable& table, const Model& names, const HerdOptions& options) {
  const std::vector<VariableId> chosen = parse_query(names, options.classify);
  if (chosen.size() != 1 || table.variables() < 2)
    throw OptionError("classify", printable(options.classify), "one column, and others to learn it from");
  const VariableId column = chosen.front();
  const std::size_t n = table.variables();
  const std::size_t count = options.test_rows.value_or((table.rows + 4) / 5);
  if (count >= table.rows)
    throw OptionError("test-rows", std::to_string(count),
                      fmt::format("fewer than the {} rows of the data, so that some are left", table.rows));
  const HoldOut parts = hold_out(table.rows, count, options.seed);

  std::vector<std::uint32_t> cardinalities = table.cardinalities;
  cardinalities.erase(cardinalities.begin() + column);
  const std::uint32_t classes = table.cardinalities[column];
  Classification result{column, {cardinalities, classes, {}, {}}, 0, {cardinalities, classes}, {}};
  result.inputs.resize(n - 1);
  for (std::uint32_t r : parts.apart) {
    const std::span<const Value> row(&table.values[r * n], n);
    result.copy_inputs(row, result.inputs);
    result.test.inputs.insert(result.test.inputs.end(), result.inputs.begin(), result.inputs.end());
    result.test.labels.push_back(row[column]);
  }
  std::vector<std::size_t> frequency(classes, 0);
  for (std::uint32_t r : parts.kept) ++frequency[table.values[r * n + column]];
  const auto majority = static_cast<Value>(std::ranges::max_element(frequency) - frequency.begin());
  const auto wrong =
      std::ranges::count_if(result.test.labels, [&](Value label) { return label != majority; });
  result.majority_error = static_cast<double>(wrong) / static_cast<double>(count);
  table.values = rows_of(table.values, n, parts.kept);
  table.rows -= count;
  return result;
}

std::vector<double> count_distribution(const DataTable& table) {
  if (!std::ranges::all_of(table.cardinalities, [](std::uint32_t k) { return k == 2; })) return {};
  std::vector<double> distribution(table.variables() + 1, 0.0);
  for (std::size_t r = 0; r < table.rows; ++r) {
    std::size_t ones = 0;
    for (std::size_t v = 0; v < table.variables(); ++v) ones += table.values[r * table.variables() + v];
    distribution[ones] += 1.0 / static_cast<double>(table.rows);
  }
  return distribution;
}

double share_of_rows(const DataTable& table, const HerdQuery& query) {
  std::size_t count = 0;
  for (std::size_t r = 0; r < table.rows; ++r)
    count += std::ranges::all_of(query, [&](const Indicator& condition) {
      return table.values[r * table.variables() + condition.variable] == condition.value;
    });
  return static_cast<double>(count) / static_cast<double>(table.rows);
}

std::string feature_name(const Model& names, const FeatureSet& set, std::size_t feature) {
  std::string text;
  for (std::uint32_t member : set.features[feature].members()) {
    const auto [variable, value] = set.indicators[member];
    text += (text.empty() ? "" : ",") + names.variable_name(variable);
    if (set.coding != FeatureCoding::spins) text += "=" + names.state_name(variable, value);
  }
  return text;
}

std::vector<HerdMoment> worst_moments(const Model& names, const Herding& herding) {
  const Moments& moments = herding.moments();
  const std::vector<double> changes = herding.weight_changes();
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min(most_worst, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return std::abs(changes[a]) != std::abs(changes[b])
                                 ? std::abs(changes[a]) > std::abs(changes[b])
                                 : a < b;
                    });
  std::vector<HerdMoment> worst;
  for (std::size_t k = 0; k < shown; ++k) {
    const double asked = moments.values[order[k]];
    worst.push_back({feature_name(names, moments.set, order[k]), asked,
                     asked - changes[order[k]] / static_cast<double>(herding.samples())});
  }
  return worst;
}

/// How far P(k) of the pseudo-samples is from that of the data.
void compare_counts(HerdResult& result) {
  if (result.data_count_distribution.empty()) return;
  const DistributionGap found =
      distribution_gap(result.count_distribution, result.data_count_distribution, result.rows);
  result.count_gap = found.gap;
  result.count_noise = found.noise;
}

void add_warnings(const Moments& moments, const Model& names, std::size_t contradictions,
                  const std::vector<Inconsistency>& worst, HerdResult& result) {
  std::vector<std::string>& warnings = result.provenance.warnings;
  if (!worst.empty()) {
    std::string features;
    for (std::size_t f : worst.front().features)
      features += fmt::format("{}P({}) = {:.6g}", features.empty() ? "" : ", ",
                              feature_name(names, moments.set, f), moments.values[f]);
    warnings.push_back(fmt::format(
        "no distribution has these moments: {} condition{} violated, most {} by {:.3g} ({})", contradictions,
        contradictions == 1 ? " is" : "s are", worst.front().condition, worst.front().excess, features));
  }
  if (!result.growing.empty())
    warnings.push_back(fmt::format("the weights grow with every sample, fastest that of {}: {}",
                                   result.growing.front().feature,
                                   worst.empty() ? "the moments are inconsistent, or the search is stuck"
                                                 : "the pseudo-samples cannot reach these moments"));
  else if (result.facts.short_of * 100 > result.samples)
    warnings.push_back(
        fmt::format("in {} of {} samples the search fell short of what keeps the weights bounded",
                    result.facts.short_of, result.samples));
  // Total variation; noise is its mean over data of the same law, and twice that is beyond chance.
  constexpr double tolerable_gap = 0.1, most_noise = 2;
  const auto is_large = [&](double gap, double noise) {
    return gap > std::max(tolerable_gap, most_noise * noise);
  };
  if (result.growing.empty() && is_large(result.count_gap, result.count_noise))
    warnings.push_back(fmt::format(
        "P(k), how many ones at a time, is {:.2f} (total variation) from that of the data, of which chance "
        "explains about {:.2f}: the moments do not fix it, and other figures that are no moments may be as "
        "far off",
        result.count_gap, result.count_noise));
  else if (result.growing.empty() && is_large(result.joint_gap, result.joint_noise))
    warnings.push_back(fmt::format(
        "the joint distribution of {} is {:.2f} (total variation) from that of the data, of which chance "
        "explains about {:.2f}: the moments do not fix it, and a higher order would",
        fmt::join(result.joint_variables, ", "), result.joint_gap, result.joint_noise));
}

const char* why(HerdSearch search) {
  if (search == HerdSearch::enumerate) return "the joint states are few enough to enumerate";
  if (search == HerdSearch::tree) return "the features have a small junction tree";
  return "there are too many joint states for an exact maximum";
}

/// What the data tell besides their moments.
struct DataFacts {
  const DataTable* table = nullptr;
  std::optional<Classification> classification{};
};

std::uint64_t checksum_of(const Moments& moments) {
  Checksum sum;
  sum.add(moments.values.data(), moments.values.size() * sizeof(double));
  for (const Feature& feature : moments.set.features)
    sum.add(feature.members().data(), feature.members().size_bytes());
  return sum.value();
}

HerdResult run(const Moments& moments, const Model& names, DataFacts data, const HerdOptions& options,
               const std::string& input, StateSink& sink, const RunControl& control) {
  HerdResult result;
  const double start = control.seconds();
  Provenance& provenance = result.provenance;
  provenance.question = "herd";
  provenance.input = input;
  provenance.method = "herding";
  provenance.seed = options.seed;
  HerdOptions described = options;
  OptionList list;
  describe(list, described);
  remove_checkpoint_options(list);
  Details resolved;
  if (data.table != nullptr && options.features.empty())
    resolved["order"] = options.order.value_or(default_order);
  if (data.table != nullptr) resolved["coding"] = choice_name(moments.set.coding);
  if (data.classification) resolved["test-rows"] = data.classification->test.rows();
  provenance.options = option_values(list, resolved);
  result.names = Names::of(names);
  result.cardinalities = names.cardinalities;
  result.features = moments.set.size();

  std::vector<HerdQuery> queries;
  for (const auto& query : options.queries) {
    const Observations evidence = evidence_of(names, query);
    if (evidence.likelihoods.size() > 0) throw OptionError("query", joined(query), "states, not likelihoods");
    HerdQuery& conditions = queries.emplace_back();
    for (std::size_t e = 0; e < evidence.size(); ++e)
      conditions.push_back({evidence.variables[e], evidence.values[e]});
  }
  std::size_t contradictions = 0;
  std::vector<Inconsistency> inconsistent;
  if (data.table == nullptr) inconsistent = find_inconsistencies(moments, 1e-9, most_named, &contradictions);

  Herding herding(moments, {.search = options.search, .adaptive = true, .start_weights = {}});
  result.search = herding.search();
  result.exact = herding.is_exact();
  if (options.search == HerdSearch::automatic) provenance.because = why(herding.search());
  sink.begin(result);
  std::optional<UnaskedJoints> unasked;
  if (data.table != nullptr) unasked.emplace(names.cardinalities, options.seed);
  const auto take = [&](std::span<const Value> x) {
    sink.take(x);
    if (unasked) unasked->count(x);
    if (data.classification) data.classification->learn(x);
  };
  const auto wide = std::ranges::any_of(names.cardinalities, [](std::uint32_t k) { return k > 256; });
  const auto keeper = make_draw_keeper(
      options.checkpoint, run_identity(provenance, checksum_of(moments)), names.cardinalities.size(), wide,
      [&](std::span<const Value> x, double) { take(x); }, control);
  const HerdSummary summary = run_herding(
      herding, options.samples, queries,
      [&](std::span<const Value> x) {
        if (keeper) keeper->append(x);
        take(x);
      },
      control, keeper.get());
  if (keeper) keeper->wait();
  if (summary.samples == 0) fail_stopped(control, "herding");

  result.samples = summary.samples;
  result.moment_error_max = summary.moment_error_max;
  result.worst = worst_moments(names, herding);
  result.weight_norm = summary.weight_norm;
  result.weight_norm_half = summary.weight_norm_half;
  result.count_distribution = summary.count_distribution;
  result.marks = summary.marks;
  result.facts = summary.facts;
  for (std::size_t q = 0; q < queries.size(); ++q)
    result.expectations.push_back(
        {joined(options.queries[q]), summary.query_probabilities[q],
         data.table != nullptr ? share_of_rows(*data.table, queries[q]) : not_known});
  for (const Inconsistency& one : inconsistent) {
    HerdContradiction& contradiction = result.contradictions.emplace_back();
    contradiction.condition = one.condition;
    contradiction.excess = one.excess;
    for (std::size_t f : one.features) contradiction.features.push_back(feature_name(names, moments.set, f));
  }
  for (std::size_t k = 0; k < std::min(most_named, summary.growing.size()); ++k)
    result.growing.push_back(
        {feature_name(names, moments.set, summary.growing[k].feature), summary.growing[k].rate});
  if (data.table != nullptr) {
    result.rows = data.table->rows;
    result.dropped_rows = data.table->dropped;
    result.data_count_distribution = count_distribution(*data.table);
    compare_counts(result);
    const JointGap joint = unasked->largest(data.table->values);
    if (!joint.variables.empty()) {
      for (VariableId v : joint.variables) result.joint_variables.push_back(names.variable_name(v));
      result.joint_gap = joint.gap;
      result.joint_noise = joint.noise;
    }
  }
  if (const auto& classification = data.classification)
    result.classification = {.column = names.variable_name(classification->column),
                             .classes = classification->test.classes,
                             .test_rows = classification->test.rows(),
                             .error = error_rate(classification->learner.classifier(), classification->test),
                             .majority_error = classification->majority_error};
  add_warnings(moments, names, contradictions, inconsistent, result);
  if (summary.samples < options.samples)
    provenance.warnings.push_back(fmt::format(
        "ended after {} of {} pseudo-samples: this is the result so far", summary.samples, options.samples));
  provenance.seconds = control.seconds() - start;
  return result;
}

/// Keeps them in memory.
struct KeptStates : StateSink {
  std::vector<Value> values;
  void begin(const HerdResult&) override {}
  void take(std::span<const Value> state) override {
    values.insert(values.end(), state.begin(), state.end());
  }
};

template <class Input>
HerdResult herd_and_keep(const Input& input, const HerdOptions& options, const RunControl& control) {
  KeptStates kept;
  HerdResult result = herd(input, options, kept, control);
  result.values = std::move(kept.values);
  return result;
}

}  // namespace

void describe(OptionList& list, HerdOptions& options) {
  list.add_syntax("query", "NAME=VALUE,...",
                  "estimate the probability of these values together; several with ; between, or repeated",
                  {[&options](std::string_view text) { options.queries = parse_queries(text); },
                   [&options] { return queries_text(options.queries); }});
  list.add("samples", "N", "pseudo-samples", options.samples, {1, 1e15});
  list.add("order", "N", "features: singles and pairs (2), also triples (3), or singles only (1)",
           options.order, {1, max_feature_order}, "2");
  list.add_syntax("features", "LIST",
                  "a chosen list of features instead: NAME;NAME,NAME;... or @FILE with one a line",
                  {[&options](std::string_view text) { options.features = parse_features(text); },
                   [&options] { return features_text(options.features); }},
                  "all of the order");
  list.add_choice(
      "coding", "KIND",
      "how moments are coded: products of spins -1 and 1, every cell of a table, or products of ones",
      options.coding, "spins when all variables are binary, else cells");
  list.add_choice("search", "HOW",
                  "how the maximum is found: enumerate (up to 65536 joint states), tree (features with a "
                  "small junction tree), local, or auto, the first of these that will do",
                  options.search);
  list.add(
      "classify", "COLUMN",
      "learn this column from the others, online from the pseudo-samples, and test it on rows kept apart",
      options.classify);
  list.add("test-rows", "N", "rows kept apart to test the classification, drawn by the seed",
           options.test_rows, {1, 1e15}, "a fifth");
  list.add("seed", "N", "of which rows are kept apart; herding itself leaves nothing to chance", options.seed,
           {0, 1e15});
  describe(list, options.checkpoint);
}

void StateFileSink::begin(const HerdResult& result) {
  if (path_.empty()) return;
  DrawFileHeader header;
  for (std::size_t v = 0; v < result.variables(); ++v)
    header.variable_names.push_back(result.names.variable(static_cast<VariableId>(v)));
  header.max_cardinality = *std::ranges::max_element(result.cardinalities);
  header.log_scores = false;  // there is no model that could have one
  header.state_names = named_states(result.names);
  header.metadata = draws_metadata(result.provenance, result.names);
  writer_ = make_draw_writer(path_, std::move(header));
}

void StateFileSink::take(std::span<const Value> state) {
  if (writer_) writer_->append(0, state);
}

void StateFileSink::finish(const HerdResult& result) {
  if (!writer_) return;
  writer_->set_metadata(draws_metadata(result.provenance, result.names));  // with the warnings of the run
  writer_->finish();
}

HerdResult herd(const DataTable& table, const HerdOptions& options, StateSink& sink,
                const RunControl& control) {
  if (options.test_rows && options.classify.empty())
    throw OptionError("test-rows", std::to_string(*options.test_rows), "a column to classify as well");
  HerdResult result;
  with_threads(control, [&] {
    const Model names = names_of(table);
    const std::string& input = options.input.empty() ? table.source : options.input;
    if (options.classify.empty()) {
      const Moments moments = moments_of(features_of(names, options), table.values, control);
      result = run(moments, names, {&table}, options, input, sink, control);
      return;
    }
    DataTable herded = table;
    Classification classification = keep_test_rows(herded, names, options);
    const Moments moments = moments_of(features_of(names, options), herded.values, control);
    result = run(moments, names, {&herded, std::move(classification)}, options, input, sink, control);
  });
  return result;
}

HerdResult herd(const Moments& moments, const HerdOptions& options, StateSink& sink,
                const RunControl& control) {
  const auto refuse = [](const char* name, const std::string& value) {
    throw OptionError(name, value, "data: moments say themselves what their features are");
  };
  if (options.order) refuse("order", std::to_string(*options.order));
  if (!options.features.empty()) refuse("features", features_text(options.features));
  if (options.coding) refuse("coding", std::string(choice_name(*options.coding)));
  if (!options.classify.empty()) refuse("classify", options.classify);
  if (options.test_rows) refuse("test-rows", std::to_string(*options.test_rows));
  Model names;
  names.cardinalities = moments.set.cardinalities;
  for (std::size_t v = 0; v < names.cardinalities.size(); ++v)
    names.variable_names.push_back("x" + std::to_string(v));
  HerdResult result;
  with_threads(control, [&] { result = run(moments, names, {}, options, options.input, sink, control); });
  return result;
}

HerdResult herd(const DataTable& table, const HerdOptions& options, const RunControl& control) {
  return herd_and_keep(table, options, control);
}

HerdResult herd(const Moments& moments, const HerdOptions& options, const RunControl& control) {
  return herd_and_keep(moments, options, control);
}

Judgement judge(const HerdResult& result) {
  if (!result.growing.empty())
    return {Verdict::bad,
            "The weights grow with every sample, so the pseudo-samples do not reach the moments."};
  return with_warnings(
      {Verdict::good,
       fmt::format("The pseudo-samples have the moments that were asked for, up to {}; the weights stay "
                   "bounded, so the error falls as 1/T. Only the moments are promised: P(k) is what they "
                   "suggest.",
                   error_text(result.moment_error_max))},
      result.provenance.warnings);
}

JsonObject to_json(const HerdResult& result) {
  JsonObject object = json_of(result.provenance);
  object.add("samples", result.samples);
  object.add("variables", result.variables());
  object.add("rows", result.rows);
  if (result.dropped_rows > 0) object.add("dropped_rows", result.dropped_rows);
  object.add("features", result.features);
  object.add("search", choice_name(result.search));
  object.add("exact", result.exact);
  object.add("moment_error_max", result.moment_error_max);
  object.add("worst_feature", result.worst.front().feature);
  object.add("weight_norm", result.weight_norm);
  object.add("weight_norm_half", result.weight_norm_half);
  add_judgement(judge(result), object);
  object.add("count_distribution", result.count_distribution);
  if (!result.data_count_distribution.empty()) {
    object.add("data_count_distribution", result.data_count_distribution);
    object.add("count_gap", result.count_gap);
    object.add("count_noise", result.count_noise);
  }
  if (!result.joint_variables.empty()) {
    JsonObject joint;
    joint.add("variables", result.joint_variables);
    joint.add("gap", result.joint_gap);
    joint.add("noise", result.joint_noise);
    object.add("largest_joint_gap", joint);
  }
  std::vector<std::string> expectations, contradictions, growing;
  for (const HerdExpectation& one : result.expectations) {
    JsonObject item;
    item.add("query", one.query);
    item.add("probability", one.probability);
    if (std::isfinite(one.in_data)) item.add("in_data", one.in_data);
    expectations.push_back(item.line());
  }
  object.add_raw("expectations", json_list(expectations));
  for (const HerdContradiction& one : result.contradictions) {
    JsonObject item;
    item.add("condition", one.condition);
    item.add("features", one.features);
    item.add("excess", one.excess);
    contradictions.push_back(item.line());
  }
  object.add_raw("inconsistent", json_list(contradictions));
  for (const HerdGrowth& one : result.growing) {
    JsonObject item;
    item.add("feature", one.feature);
    item.add("rate", one.rate);
    growing.push_back(item.line());
  }
  object.add_raw("growing", json_list(growing));
  if (const auto& classification = result.classification) {
    JsonObject item;
    item.add("column", classification->column);
    item.add("classes", classification->classes);
    item.add("test_rows", classification->test_rows);
    item.add("error", classification->error);
    item.add("majority_error", classification->majority_error);
    object.add("classification", item);
  }
  object.add("hard_searches", result.facts.hard);
  object.add("short_searches", result.facts.short_of);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
