#include "app/herd_page.hpp"
#include "app/settings_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "drover/report/report.hpp"

namespace drover::app {

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
ReportFigure count_figure(const HerdPage& page) {
  const std::vector<double>&herded = page.summary.count_distribution, &data = page.data_count_distribution;
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
                         std::vector<std::pair<std::string, ordered_json>> lines) {
  ordered_json series = ordered_json::array();
  for (auto& [name, points] : lines)
    series.push_back({{"name", name}, {"type", "line"}, {"symbolSize", 5}, {"data", std::move(points)}});
  ordered_json option = figure_option(y_label, log_y, lines.size() > 1);
  option["xAxis"] = {{"type", "log"}, {"name", "samples"}, {"nameLocation", "middle"}, {"nameGap", 28}};
  option["series"] = std::move(series);
  return {std::move(title), std::move(caption), option.dump()};
}

}  // namespace

std::string herd_page(const HerdPage& page) {
  const HerdSummary& summary = page.summary;
  ReportData report;
  report.title = "Herding of " + std::filesystem::path(page.data).filename().string();
  report.facts = {{"data", page.data},
                  {"variables", std::to_string(page.variables)},
                  {"features", std::to_string(page.features)},
                  {"pseudo-samples", std::to_string(summary.samples)},
                  {"search", page.search},
                  {"largest moment error", fmt::format("{:.3g}", summary.moment_error_max)},
                  {"weight norm", fmt::format("{:.4g}", summary.weight_norm)},
                  {"seconds", fmt::format("{:.2f}", page.seconds)}};
  if (page.rows > 0) report.facts.insert(report.facts.begin() + 1, {"rows", std::to_string(page.rows)});
  const bool grows = !summary.growing.empty();
  report.verdict = grows                   ? ReportData::Verdict::bad
                   : page.warnings.empty() ? ReportData::Verdict::good
                                           : ReportData::Verdict::caution;
  report.verdict_text =
      grows ? "The weights grow with every sample, so the pseudo-samples do not reach the moments."
            : fmt::format(
                  "The pseudo-samples have the moments that were asked for, up to {:.2g}; the weights "
                  "stay bounded, so the error falls as 1/T. Only the moments are promised: P(k) is what "
                  "they suggest.",
                  summary.moment_error_max);
  if (!page.classified.empty()) report.verdict_text += " Classification: " + page.classified + ".";
  report.warnings = page.warnings;

  if (!summary.count_distribution.empty()) report.figures.push_back(count_figure(page));
  ordered_json norms = ordered_json::array(), errors = ordered_json::array(), guide = ordered_json::array();
  for (const HerdSummary::Mark& mark : summary.marks) {
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
  ReportTable table{"Moments with the largest errors", "", {"Feature", "Asked", "Reached", "Error"}, {}};
  for (const HerdMoment& moment : page.worst)
    table.rows.push_back({moment.feature, fmt::format("{:.6g}", moment.asked),
                          fmt::format("{:.6g}", moment.reached),
                          fmt::format("{:.2e}", moment.reached - moment.asked)});
  report.tables.push_back(std::move(table));
  report.result_json = page.json;
  return render_report(report);
}

}  // namespace drover::app
