#include "drover/report/score_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/figures.hpp"
#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

// How many rows lie in each of thirty intervals from the least to the most likely.
ReportFigure histogram_of(const std::vector<double>& values) {
  constexpr std::size_t bars = 30;
  const auto [low, high] = std::ranges::minmax(values);
  const double width = high > low ? (high - low) / bars : 1;
  std::vector<std::size_t> counts(bars, 0);
  for (double value : values) ++counts[std::min(bars - 1, static_cast<std::size_t>((value - low) / width))];
  nlohmann::json places = nlohmann::json::array();
  for (std::size_t b = 0; b < bars; ++b)
    places.push_back(fmt::format("{:.4g}", low + (static_cast<double>(b) + 0.5) * width));
  const nlohmann::json option = {{"xAxis", {{"type", "category"}, {"data", places}, {"name", "log p(row)"}}},
                                 {"yAxis", {{"type", "value"}, {"name", "rows"}}},
                                 {"tooltip", {{"trigger", "axis"}}},
                                 {"series", {{{"type", "bar"}, {"data", counts}, {"barCategoryGap", "5%"}}}}};
  return {"Rows by their log-likelihood", "Rows far to the left are those that the model hardly knows.",
          option.dump()};
}

}  // namespace

std::string page_of(const ScoreResult& result, const std::string& json) {
  ReportData page;
  page.title = "Data under " + file_name(result.provenance.input);
  page.facts = {
      {"Model", result.provenance.input},
      {"Rows", std::to_string(result.rows)},
      {"Method", result.provenance.method},
      {"Mean log-likelihood", fmt::format("{} ± {} (by the rows)", log_text(result.log_likelihood, 7),
                                          error_text(result.spread_error))},
      {"log Z",
       log_text(result.log_z) + (result.exact ? " (exact)" : " ± " + error_text(result.log_z_mcse))}};
  if (result.impossible > 0) page.facts.emplace_back("Impossible rows", std::to_string(result.impossible));
  add_verdict(judge(result), page);
  page.warnings = result.provenance.warnings;
  page.result_json = json;
  std::vector<double> finite;
  std::ranges::copy_if(result.row_log_likelihoods, std::back_inserter(finite),
                       [](double value) { return std::isfinite(value); });
  if (!finite.empty()) page.figures.push_back(histogram_of(finite));
  return render_report(page);
}

}  // namespace drover
