#include "drover/task/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/diagnose/mmd.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/text_source.hpp"
#include "drover/numeric/hold_out.hpp"

namespace drover {

namespace {

constexpr std::size_t most_tested = 500;
constexpr std::size_t deals = 199;    ///< so that 1 / 200 is the smallest p-value
constexpr double significant = 0.01;  ///< for both tests together

/// Makes a text of either table the same state in both.
void use_common_states(DataTable& a, DataTable& b, std::size_t v) {
  std::vector<std::string> states = a.state_names[v];
  states.insert(states.end(), b.state_names[v].begin(), b.state_names[v].end());
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  for (DataTable* table : {&a, &b}) {
    std::vector<Value> new_value;
    for (const std::string& name : table->state_names[v])
      new_value.push_back(
          static_cast<Value>(std::lower_bound(states.begin(), states.end(), name) - states.begin()));
    for (std::size_t r = 0; r < table->rows; ++r) {
      Value& x = table->values[r * table->variables() + v];
      x = new_value[x];
    }
    table->state_names[v] = states;
    table->cardinalities[v] = static_cast<std::uint32_t>(states.size());
  }
}

/// The names of states that a file of draws tells; none for a variable without.
std::vector<std::vector<std::string>> state_names_in(const DrawFile& file) {
  const nlohmann::json json = nlohmann::json::parse(file.metadata, nullptr, false);
  if (!json.is_object() || !json.contains("state_names")) return {};
  try {
    auto names = json["state_names"].get<std::vector<std::vector<std::string>>>();
    names.resize(file.variables());
    return names;
  } catch (const nlohmann::json::exception&) {
    return {};  // somebody else's metadata
  }
}

/// Draws of all chains as rows, the chosen columns of them. Whole numbers are numbers of states unless they
/// are to be made binary.
DataTable table_of(const DrawFile& file, const std::string& path, const DataOptions& options) {
  const std::size_t n = file.variables(), rows = file.draws * file.chains;
  if (options.binarise && options.binarise != Binarise::none)
    return std::visit(
        [&](const auto& values) {
          return table_of_numbers(std::vector<double>(values.begin(), values.end()), file.variable_names,
                                  path, options);
        },
        file.values);
  if (std::holds_alternative<std::vector<double>>(file.values))
    throw Error(ErrorKind::bad_data, path + ": expected discrete draws (whole numbers from 0 to 65535)");
  const std::vector<std::size_t> chosen = chosen_columns(path, file.variable_names, options.columns);
  const std::vector<std::vector<std::string>> known = state_names_in(file);
  DataTable table;
  table.source = path;
  table.drawn = true;
  table.rows = rows;
  table.values.resize(rows * chosen.size());
  for (std::size_t v = 0; v < chosen.size(); ++v) {
    std::uint32_t states = 2;
    for (std::size_t r = 0; r < rows; ++r) {
      const Value x = std::visit(
          [&](const auto& values) { return static_cast<Value>(values[r * n + chosen[v]]); }, file.values);
      table.values[r * chosen.size() + v] = x;
      states = std::max(states, x + 1U);
    }
    table.names.push_back(file.variable_names[chosen[v]]);
    table.cardinalities.push_back(states);
    if (known.empty()) continue;
    std::vector<std::string> names = known[chosen[v]];
    for (std::size_t k = names.size(); k < states; ++k) names.push_back(std::to_string(k));
    table.cardinalities.back() = static_cast<std::uint32_t>(names.size());
    table.state_names.push_back(std::move(names));
  }
  return table;
}

/// States that have names in a table of data and none in draws can only be compared by their numbers.
bool guesses_states(const DataTable& data, const DataTable& draws) {
  if (data.drawn || !draws.drawn || !draws.state_names.empty()) return false;
  return std::ranges::any_of(data.state_names, [](const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] != std::to_string(k)) return true;
    return false;
  });
}

/// The header of draws as text, compressed or not.
bool starts_as_draws(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".csv.gz")) return false;
  TextSource source(path);
  return source.next_token() && source.token().starts_with("chain,draw");
}

/// A command made them, and says which; other arrays are data like any others.
bool was_drawn(const DrawFile& file) {
  const nlohmann::json json = nlohmann::json::parse(file.metadata, nullptr, false);
  return json.is_object() && json.contains("command");
}

/// MMD^2 of the even against the odd rows: what two sets from one source score.
double half_against_half(const DataTable& table, std::span<const std::uint32_t> cardinalities,
                         const RunControl& control) {
  std::vector<std::uint32_t> halves[2];
  for (std::size_t r = 0; r < table.rows - table.rows % 2; ++r)
    halves[r % 2].push_back(static_cast<std::uint32_t>(r));
  const auto packed = [&](const std::vector<std::uint32_t>& rows) {
    return pack_samples(rows_of(table.values, table.variables(), rows), cardinalities);
  };
  return squared_mmd(packed(halves[0]), packed(halves[1]), control);
}

/// Deals the rows of both sets out anew, again and again, and counts how often they are as far apart.
void test_by_permutation(const DataTable& a, const DataTable& b, std::span<const std::uint32_t> cardinalities,
                         const RunControl& control, CompareResult& result) {
  const std::size_t n = a.variables(), from_a = std::min(a.rows, most_tested),
                    from_b = std::min(b.rows, most_tested);
  if (from_a < 2 || from_b < 2) return;
  std::vector<Value> pool = rows_of(a.values, n, hold_out(a.rows, from_a, 1).apart);
  const std::vector<Value> others = rows_of(b.values, n, hold_out(b.rows, from_b, 1).apart);
  const PackedSamples first = pack_samples(pool, cardinalities), second = pack_samples(others, cardinalities);
  const double mmd = squared_mmd(first, second), pairs = statistic_distance(first, second).pair_rms;
  pool.insert(pool.end(), others.begin(), others.end());
  std::size_t as_far = 0, as_far_pairs = 0, done = 0;
  for (; done < deals && !control.should_stop(); ++done) {
    control.report({"comparing", static_cast<double>(done) / deals, done, 0, 0});
    const HoldOut dealt = hold_out(from_a + from_b, from_a, done + 2);
    const PackedSamples one = pack_samples(rows_of(pool, n, dealt.apart), cardinalities),
                        other = pack_samples(rows_of(pool, n, dealt.kept), cardinalities);
    as_far += squared_mmd(one, other) >= mmd;
    as_far_pairs += statistic_distance(one, other).pair_rms >= pairs;
  }
  result.rows_tested[0] = from_a;
  result.rows_tested[1] = from_b;
  result.p_value_mmd = static_cast<double>(as_far + 1) / static_cast<double>(done + 1);
  result.p_value_pairs = static_cast<double>(as_far_pairs + 1) / static_cast<double>(done + 1);
  if (done < deals)
    result.provenance.warnings.push_back(
        fmt::format("ended after {} of {} comparisons by chance: the p-values are coarse", done, deals));
}

double log_or_unknown(double value) {
  return value > 0 ? std::log(value) : not_known;
}

}  // namespace

DataTable read_rows(const std::string& path, const DataOptions& options, const RunControl& control) {
  if (path.ends_with(".nc") || starts_as_draws(path))
    return table_of(read_draws(path, control), path, options);
  if (path.ends_with(".npz"))
    if (const DrawFile draws = read_draws(path, control); was_drawn(draws))
      return table_of(draws, path, options);
  return read_data_table(path, options, control);
}

CompareResult compare(const DataTable& one, const DataTable& other, const RunControl& control) {
  const double start = control.seconds();
  if (one.variables() != other.variables())
    throw Error(ErrorKind::bad_data,
                fmt::format("{} has {}, {} has {}: only sets of the same variables can be compared",
                            one.source, counted(one.variables(), "variable"), other.source,
                            counted(other.variables(), "variable")));
  CompareResult result;
  with_threads(control, [&] {
    DataTable a = one, b = other;
    std::vector<std::uint32_t> cardinalities;
    for (std::size_t v = 0; v < a.variables(); ++v) {
      if (!a.state_names.empty() && !b.state_names.empty() && a.state_names[v] != b.state_names[v])
        use_common_states(a, b, v);
      cardinalities.push_back(std::max(a.cardinalities[v], b.cardinalities[v]));
    }
    fail_if_stopped(control, "comparing");
    const PackedSamples first = pack_samples(a.values, cardinalities),
                        second = pack_samples(b.values, cardinalities);
    result.provenance.question = "compare";
    result.provenance.input = a.source;
    result.provenance.seed = 1;
    result.other = b.source;
    result.rows[0] = a.rows;
    result.rows[1] = b.rows;
    result.variables = a.variables();
    result.squared_mmd = squared_mmd(first, second, control);
    const StatisticDistance distance = statistic_distance(first, second, control);
    result.mean_difference_max = distance.mean_largest;
    result.mean_difference_rms = distance.mean_rms;
    result.pair_difference_rms = distance.pair_rms;
    if (a.rows >= 2) result.halves_of_first = half_against_half(a, cardinalities, control);
    if (a.rows != b.rows)
      result.provenance.warnings.push_back(
          fmt::format("the sets have {} and {} rows; MMD^2 has a term that falls with the number of rows, so "
                      "compare only "
                      "figures of equal sizes",
                      a.rows, b.rows));
    if (a.names != b.names && std::ranges::is_permutation(a.names, b.names))
      result.provenance.warnings.emplace_back(
          "the sets have the same columns in another order, and columns are compared by their place");
    if (guesses_states(a, b) || guesses_states(b, a))
      result.provenance.warnings.emplace_back(
          "states have names in the data and only numbers in the draws, so they are compared by their "
          "numbers: draws as .npz or .nc know their names");
    test_by_permutation(a, b, cardinalities, control, result);
  });
  result.provenance.seconds = control.seconds() - start;
  return result;
}

Judgement judge(const CompareResult& result) {
  if (!std::isfinite(result.p_value_mmd)) return {Verdict::caution, "There are too few rows to judge."};
  const double p = std::min(result.p_value_mmd, result.p_value_pairs);
  const std::string figures =
      fmt::format("p = {:.3g} by MMD, {:.3g} by pairs", result.p_value_mmd, result.p_value_pairs);
  // Two tests, so either may take half of the error that is allowed.
  if (p <= significant / 2)
    return {Verdict::bad, fmt::format("The sets differ by more than chance explains ({}).", figures)};
  if (p <= 0.05)
    return {Verdict::caution, fmt::format("The sets may differ ({}); more rows would tell.", figures)};
  return with_warnings(
      {Verdict::good, fmt::format("{} and {} rows of the two sets cannot be told apart ({}).",
                                  result.rows_tested[0], result.rows_tested[1], figures)},
      result.provenance.warnings);
}

JsonObject to_json(const CompareResult& result) {
  JsonObject object = json_of(result.provenance);
  object.add("other", result.other);
  object.add_raw("rows", fmt::format("[{},{}]", result.rows[0], result.rows[1]));
  object.add("variables", result.variables);
  object.add("mmd_squared", result.squared_mmd);
  object.add("log_mmd_squared", log_or_unknown(result.squared_mmd));
  object.add("log_mmd_squared_halves_of_first", log_or_unknown(result.halves_of_first));
  object.add("mean_difference_max", result.mean_difference_max);
  object.add("mean_difference_rms", result.mean_difference_rms);
  object.add("pair_difference_rms", result.pair_difference_rms);
  object.add("p_value_mmd", result.p_value_mmd);
  object.add("p_value_pairs", result.p_value_pairs);
  object.add_raw("rows_tested", fmt::format("[{},{}]", result.rows_tested[0], result.rows_tested[1]));
  add_judgement(judge(result), object);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
