#include "app/text_page.hpp"
#include "app/settings_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "drover/core/json_text.hpp"
#include "drover/core/version.hpp"
#include "drover/diagnose/autocorrelation.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

ReportFigure calibration_figure(const std::vector<CalibrationBin>& bins) {
  using nlohmann::ordered_json;
  ordered_json points = ordered_json::array();
  std::uint64_t most = 1;
  for (const CalibrationBin& bin : bins) most = std::max(most, bin.documents);
  for (const CalibrationBin& bin : bins)
    points.push_back(
        {{"value", {bin.mean_probability, bin.accuracy, bin.documents}},
         {"symbolSize", 8 + 24 * std::sqrt(static_cast<double>(bin.documents) / static_cast<double>(most))}});
  const ordered_json option = {
      {"tooltip", {{"trigger", "item"}}},
      {"legend", {{"data", {"documents, ten groups by probability", "as sure as right"}}}},
      {"xAxis", {{"type", "value"}, {"name", "probability of the label"}, {"min", 0}, {"max", 1}}},
      {"yAxis", {{"type", "value"}, {"name", "share that is right"}, {"min", 0}, {"max", 1}}},
      {"series",
       {{{"name", "documents, ten groups by probability"}, {"type", "scatter"}, {"data", std::move(points)}},
        {{"name", "as sure as right"},
         {"type", "line"},
         {"showSymbol", false},
         {"lineStyle", {{"type", "dashed"}}},
         {"data", {{0, 0}, {1, 1}}}}}}};
  return {"Calibration on the hidden labels",
          "A dot below the line: labels are surer than they are right. Naive Bayes counts words that come "
          "together as "
          "independent evidence, so long documents make it too sure. Larger dots hold more documents.",
          json_text(option)};
}

ReportTable top_word_table(const TextModel& model) {
  ReportTable table{"Words that tell a class from the others",
                    "By log odds against the other classes, divided by their standard deviation.",
                    {},
                    {}};
  constexpr std::size_t rows = 20;
  table.rows.resize(std::min(rows, model.words.size()));
  for (std::uint32_t k = 0; k < model.classes.size() && k < 12; ++k) {
    table.header.push_back(model.classes[k]);
    table.header.emplace_back("log odds");
    const auto words = top_words(model, k, rows);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      table.rows[r].push_back(words[r].word);
      table.rows[r].push_back(fmt::format("{:.2f}", words[r].log_odds));
    }
  }
  return table;
}

ReportTable doubtful_documents(const TextResult& result) {
  const std::size_t classes = result.corpus.classes.size();
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < result.shown.size(); ++d)
    if (result.shown[d] == no_label) order.push_back(d);
  const auto sure = [&](std::size_t d) {
    return result.posterior.probabilities[d * classes + result.labels[d]];
  };
  const std::size_t shown = std::min<std::size_t>(order.size(), 20);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return sure(a) < sure(b); });
  ReportTable table{
      "The most doubtful documents", "", {"Document", "Label", "Probability", "Hidden label"}, {}};
  for (std::size_t r = 0; r < shown; ++r) {
    const std::size_t d = order[r];
    const std::uint32_t truth = result.corpus.labels[d];
    table.rows.push_back({result.corpus.names[d], result.corpus.classes[result.labels[d]],
                          fmt::format("{:.3f}", sure(d)),
                          truth == no_label ? "" : result.corpus.classes[truth]});
  }
  return table;
}

}  // namespace

std::string text_page(const Invocation& invocation, const TextResult& result,
                      const std::string& result_json) {
  const TextPosterior& posterior = result.posterior;
  ReportData page;
  const std::string source =
      invocation.settings.demo ? "a made-up corpus" : file_name(invocation.arguments.back());
  page.title = "Text classes of " + source;
  page.facts = {
      {"Documents", fmt::format("{} ({} labelled)", result.shown.size(), result.shown.size() - result.open)},
      {"Words", fmt::format("{} different, {} in all", result.corpus.words.size(), result.corpus.tokens)},
      {"Classes", fmt::format("{}", fmt::join(result.corpus.classes, ", "))},
      {"Method", result.options.collapsed ? "collapsed-gibbs" : "gibbs"},
      {"Pseudo-counts",
       fmt::format("classes {:.4g}, words {:.4g}{}", posterior.class_pseudo_count,
                   posterior.word_pseudo_count, result.options.sample_pseudo_counts ? " (sampled)" : "")},
      {"Seed", std::to_string(invocation.settings.seed)},
      {"Chains", std::to_string(posterior.trace.size())},
      {"Sweeps", fmt::format("{} after {} of burn-in", posterior.sweeps, posterior.burn_in)},
      {"Seconds", fmt::format("{:.3f}", result.seconds)},
      {"Version", version()}};
  if (std::isfinite(result.accuracy))
    page.facts.emplace_back("Accuracy",
                            fmt::format("{:.4f} on {} hidden labels{}", result.accuracy, result.open,
                                        posterior.renamed ? " (classes matched to the truth)" : ""));
  page.warnings = result.warnings;
  page.result_json = result_json;
  const double rhat = posterior.log_joint.rhat;
  if (result.open == 0) {
    page.verdict_text =
        "Every document is labelled, so the model is ordinary naive Bayes: counts and pseudo-counts.";
  } else if (rhat <= 1.01 && posterior.chain_agreement >= 0.9) {
    page.verdict_text = fmt::format(
        "The chains agree: R-hat of the log joint is {:.3f}, its effective sample size {:.0f}, and any two "
        "chains "
        "label at least {:.0f} % of the documents alike.",
        rhat, posterior.log_joint.ess_bulk, 100 * posterior.chain_agreement);
  } else {
    page.verdict = posterior.chain_agreement < 0.9 ? ReportData::Verdict::bad : ReportData::Verdict::caution;
    page.verdict_text = fmt::format(
        "The chains have not converged to one answer: R-hat of the log joint is {:.3f} (below 1.01 is "
        "wanted), and two "
        "chains label only {:.0f} % of the documents alike. Run longer, try collapsed-gibbs, or label a few "
        "more "
        "documents.",
        rhat, 100 * posterior.chain_agreement);
  }
  if (result.open > 0) {
    ReportTrace trace{"log joint", {}, posterior.trace, {}};
    trace.sweep.resize(posterior.trace.front().size());
    std::iota(trace.sweep.begin(), trace.sweep.end(), 1.0);
    for (std::size_t c = 0; c < posterior.trace.size(); ++c)
      trace.labels.push_back(fmt::format("chain {}", c));
    if (trace.sweep.size() > 1) page.traces.push_back(std::move(trace));
    const Draws draws{posterior.kept_log_joint.data(), posterior.trace.size(), posterior.draws};
    if (!undiagnosable(draws)) {
      page.autocorrelation = autocorrelation(draws, std::min<std::size_t>(posterior.draws / 4, 60));
      page.autocorrelation_step = static_cast<double>(invocation.settings.thin);
    }
  }
  if (!result.calibration.empty()) page.figures.push_back(calibration_figure(result.calibration));
  page.tables.push_back(top_word_table(result.model));
  if (result.open > 0) page.tables.push_back(doubtful_documents(result));
  return render_report(page);
}

}  // namespace drover::app
