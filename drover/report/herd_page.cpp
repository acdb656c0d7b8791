#include "drover/report/herd_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/figures.hpp"
#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

using nlohmann::ordered_json;

/// The frame that all figures share; the caller adds the x axis and the series.
ordered_json figure_option(const char* y_label, bool log_y, bool legend) {
  ordered_json option = {
      {"grid", {{"left", 8}, {"right", 24}, {"top", 56}, {"bottom", 28}, {"containLabel", true}}},
      {"tooltip", {{"trigger", "axis"}}},
      {"yAxis", {{"type", log_y ? "log" : "value"}, {"name", y_label}, {"scale", true}}}};
  if (legend) option["legend"] = {{"top", 0}};
  return option;
}

/// Bars over the numbers of ones that occur at all.
ReportFigure count_figure(const HerdResult& result) {
  const std::vector<double>&herded = result.count_distribution, &data = result.data_count_distribution;
  const auto occurs = [&](std::size_t k) { return herded[k] > 0 || (!data.empty() && data[k] > 0); };
  std::size_t first = 0, last = herded.size() - 1;
  while (first < last && !occurs(first)) ++first;
  while (last > first && !occurs(last)) --last;
  ordered_json numbers = ordered_json::array(), series = ordered_json::array();
  for (std::size_t k = first; k <= last; ++k) numbers.push_back(k);
  const auto add = [&](const char* name, const std::vector<double>& p) {
    ordered_json heights = ordered_json::array();
    for (std::size_t k = first; k <= last; ++k) heights.push_back(p[k]);
    series.push_back({{"name", name}, {"type", "bar"}, {"barMaxWidth", 24}, {"data", std::move(heights)}});
  };
  if (!data.empty()) add("data", data);
  add("pseudo-samples", herded);
  ordered_json option = figure_option("P(k)", false, true);
  option["yAxis"]["scale"] = false;  // bars begin at zero
  option["xAxis"] = {{"type", "category"},
                     {"name", "k"},
                     {"nameLocation", "middle"},
                     {"nameGap", 28},
                     {"data", std::move(numbers)}};
  option["series"] = std::move(series);
  return {"P(k): how many ones at a time",
          data.empty()
              ? "Not among the moments: what they say together about the number of ones."
              : "Not among the moments: what they say together about the number of ones, beside the data.",
          option.dump()};
}

ReportFigure line_figure(std::string title, std::string caption, const char* y_label, bool log_y,
                         std::vector<std::pair<std::string, ordered_json>>&& lines) {
  ordered_json series = ordered_json::array();
  for (auto& [name, points] : lines)
    series.push_back({{"name", name}, {"type", "line"}, {"symbolSize", 5}, {"data", std::move(points)}});
  ordered_json option = figure_option(y_label, log_y, lines.size() > 1);
  option["xAxis"] = {{"type", "log"}, {"name", "samples"}, {"nameLocation", "middle"}, {"nameGap", 28}};
  option["series"] = std::move(series);
  return {std::move(title), std::move(caption), option.dump()};
}

}  // namespace

std::string page_of(const HerdResult& result, const std::string& json) {
  const Provenance& origin = result.provenance;
  ReportData report;
  report.title = "Herding of " + file_name(origin.input);
  report.facts = {{"data", origin.input}};
  if (result.rows > 0) report.facts.emplace_back("rows", std::to_string(result.rows));
  if (result.dropped_rows > 0)
    report.facts.emplace_back("rows left out (missing values)", std::to_string(result.dropped_rows));
  report.facts.emplace_back("variables", std::to_string(result.variables()));
  report.facts.emplace_back("features", std::to_string(result.features));
  report.facts.emplace_back("pseudo-samples", std::to_string(result.samples));
  report.facts.emplace_back("search", choice_name(result.search));
  if (!origin.because.empty()) report.facts.emplace_back("chosen because", origin.because);
  report.facts.emplace_back("largest moment error", error_text(result.moment_error_max, 3));
  report.facts.emplace_back("weight norm", fmt::format("{:.4g}", result.weight_norm));
  report.facts.emplace_back("seconds", fmt::format("{:.2f}", origin.seconds));
  add_verdict(judge(result), report);
  report.warnings = origin.warnings;

  if (!result.count_distribution.empty()) report.figures.push_back(count_figure(result));
  ordered_json norms = ordered_json::array(), errors = ordered_json::array(), guide = ordered_json::array();
  for (const HerdSummary::Mark& mark : result.marks) {
    norms.push_back({mark.samples, mark.weight_norm});
    if (mark.moment_error_max <= 0) continue;  // no place on a logarithmic axis
    errors.push_back({mark.samples, mark.moment_error_max});
    guide.push_back({mark.samples, 1 / static_cast<double>(mark.samples)});
  }
  report.figures.push_back(line_figure("Weight norm",
                                       "It must level off. A straight rise means that the moments cannot be "
                                       "reached. (The axis of samples is logarithmic.)",
                                       "|w|", false, {{"weight norm", std::move(norms)}}));
  report.figures.push_back(line_figure("Largest moment error", "Over all features. Herding promises |w| / T.",
                                       "error", true,
                                       {{"largest error", std::move(errors)}, {"1 / T", std::move(guide)}}));
  if (const auto& found = result.classification)
    report.tables.push_back(
        {fmt::format("Classification: {} from the other columns", found->column),
         fmt::format("Learnt from the pseudo-samples alone, tested on {} rows of data kept apart.",
                     found->test_rows),
         {"Way", "Error"},
         {{"learnt from pseudo-samples", fmt::format("{:.4g}", found->error)},
          {"always the most frequent class", fmt::format("{:.4g}", found->majority_error)}}});
  if (!result.expectations.empty()) {
    ReportTable asked{"Probabilities asked for", "", {"Query", "Pseudo-samples", "Data"}, {}};
    for (const HerdExpectation& one : result.expectations)
      asked.rows.push_back({one.query, fmt::format("{:.6g}", one.probability),
                            std::isfinite(one.in_data) ? fmt::format("{:.6g}", one.in_data) : ""});
    report.tables.push_back(std::move(asked));
  }
  ReportTable table{"Moments with the largest errors", "", {"Feature", "Asked", "Reached", "Error"}, {}};
  for (const HerdMoment& moment : result.worst)
    table.rows.push_back({moment.feature, fmt::format("{:.6g}", moment.asked),
                          fmt::format("{:.6g}", moment.reached), error_text(moment.reached - moment.asked)});
  report.tables.push_back(std::move(table));
  report.result_json = json;
  return render_report(report);
}

}  // namespace drover
