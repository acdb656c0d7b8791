#include "drover/report/compare_page.hpp"

#include <fmt/format.h>

#include <cmath>

#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

std::string difference_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.5f}", value) : "-";
}

std::string log_mmd_text(double squared) {
  if (squared == 0) return "none: MMD² is 0";
  return squared > 0 ? fmt::format("{:.3f}", std::log(squared)) : "-";
}

}  // namespace

std::string page_of(const CompareResult& result, const std::string& json) {
  const std::string first = file_name(result.provenance.input), second = file_name(result.other);
  ReportData page;
  page.title = fmt::format("{} against {}", first, second);
  page.facts = {{"First", fmt::format("{}, {} rows", result.provenance.input, result.rows[0])},
                {"Second", fmt::format("{}, {} rows", result.other, result.rows[1])},
                {"Variables", std::to_string(result.variables)}};
  add_verdict(judge(result), page);
  page.warnings = result.provenance.warnings;
  page.result_json = json;
  page.tables.push_back(
      {"How far apart they are",
       "Chance is how often rows dealt out anew to two sets are as far apart, by a permutation "
       "test of independent rows.",
       {"Figure", "Value", "Beside it"},
       {{"log MMD²", log_mmd_text(result.squared_mmd),
         "two halves of the first: " + log_mmd_text(result.halves_of_first)},
        {"Means, largest difference", difference_text(result.mean_difference_max), ""},
        {"Means, root mean square", difference_text(result.mean_difference_rms), ""},
        {"Pairs, root mean square", difference_text(result.pair_difference_rms), ""},
        {"Chance by MMD", difference_text(result.p_value_mmd),
         fmt::format("{} and {} rows of the two sets dealt", result.rows_tested[0], result.rows_tested[1])},
        {"Chance by pairs", difference_text(result.p_value_pairs), ""}}});
  return render_report(page);
}

}  // namespace drover
