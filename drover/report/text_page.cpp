#include "drover/report/text_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "drover/core/json_text.hpp"
#include "drover/core/version.hpp"
#include "drover/diagnose/autocorrelation.hpp"
#include "drover/report/page_parts.hpp"

namespace drover {

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
  return {"Calibration on the known labels",
          "A dot below the line: labels are surer than they are right. Naive Bayes counts words that come "
          "together as independent evidence, so long documents make it too sure. Larger dots hold more "
          "documents.",
          json_text(option)};
}

ReportTable top_word_table(const LabelledDocuments& result) {
  ReportTable table{"Words that tell a class from the others",
                    "By log odds against the other classes, divided by their standard deviation.",
                    {},
                    {}};
  constexpr std::size_t most_classes = 12;
  for (std::size_t k = 0; k < std::min(result.classes.size(), most_classes); ++k) {
    table.header.push_back(result.classes[k]);
    table.header.emplace_back("log odds");
    table.rows.resize(std::max(table.rows.size(), result.top_words[k].size()));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const TopWord& word = result.top_words[k][r];
      table.rows[r].push_back(word.word);
      table.rows[r].push_back(fmt::format("{:.2f}", word.log_odds));
    }
  }
  return table;
}

/// `order`: the documents that were in question.
ReportTable doubtful_documents(const LabelledDocuments& result, std::vector<std::uint32_t> order) {
  const std::size_t shown = std::min<std::size_t>(order.size(), 20);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
      [&](std::uint32_t a, std::uint32_t b) { return result.probability(a) < result.probability(b); });
  ReportTable table{
      "The most doubtful documents", "", {"Document", "Label", "Probability", "True label"}, {}};
  for (std::size_t r = 0; r < shown; ++r) {
    const std::uint32_t d = order[r], truth = result.truth[d];
    table.rows.push_back({result.names[d], result.classes[result.labels[d]],
                          fmt::format("{:.3f}", result.probability(d)),
                          truth == no_label ? "" : result.classes[truth]});
  }
  return table;
}

ReportTable weight_table(const WeightChoice& choice) {
  ReportTable table{"How much unlabelled documents count",
                    "Some labels were kept apart; the setting whose model finds most of them was taken.",
                    {"Words smoothed towards", "Weight", "Found of those kept apart", ""},
                    {}};
  for (std::size_t c = 0; c < choice.candidates.size(); ++c) {
    const WeightCandidate& candidate = choice.candidates[c];
    table.rows.push_back({candidate.by_frequency ? "their frequency" : "all alike",
                          fmt::format("{:g}", candidate.weight),
                          fmt::format("{:.1f} %", 100 * static_cast<double>(candidate.right) /
                                                      static_cast<double>(choice.tested)),
                          fmt::format("{}{}", c == 0 ? "ordinary naive Bayes" : "",
                                      c == choice.chosen ? (c == 0 ? ", taken" : "taken") : "")});
  }
  return table;
}

void add_chains(const TextResult& result, ReportData& page) {
  const TextPosterior& posterior = result.posterior;
  ReportTrace trace{result.by_em ? "log posterior of the model" : "log joint", {}, posterior.trace, {}};
  trace.sweep.resize(posterior.trace.front().size());
  std::iota(trace.sweep.begin(), trace.sweep.end(), 1.0);
  for (std::size_t c = 0; c < posterior.trace.size(); ++c)
    trace.labels.push_back(result.by_em ? "em" : fmt::format("chain {}", c));
  if (trace.sweep.size() > 1) page.traces.push_back(std::move(trace));
  if (result.by_em) return;
  const Draws draws{posterior.kept_log_joint.data(), posterior.trace.size(), posterior.draws};
  if (undiagnosable(draws)) return;
  page.autocorrelation = autocorrelation(draws, std::min<std::size_t>(posterior.draws / 4, 60));
  page.autocorrelation_step = static_cast<double>(posterior.sweeps) / static_cast<double>(posterior.draws);
}

}  // namespace

std::string page_of(const TextResult& result, const std::string& json) {
  const Provenance& origin = result.provenance;
  const TextPosterior& posterior = result.posterior;
  ReportData page;
  page.title = "Text classes of " + file_name(origin.input);
  page.facts = {{"Documents", fmt::format("{} ({} labelled)", result.labels.size(), result.labelled)},
                {"Words", fmt::format("{} different, {} in all", result.model.words.size(), result.tokens)},
                {"Classes", fmt::format("{}", fmt::join(result.classes, ", "))},
                {"Method", origin.method},
                {"Pseudo-counts", fmt::format("classes {:.4g}, words {:.4g}", posterior.class_pseudo_count,
                                              posterior.word_pseudo_count)},
                {"Seed", std::to_string(origin.seed)},
                {"Seconds", fmt::format("{:.3f}", origin.seconds)},
                {"Version", version()}};
  if (result.by_em) {
    page.facts.emplace_back("Weight of an unlabelled document",
                            fmt::format("{:g}", result.unlabelled_weight));
    page.facts.emplace_back("Words smoothed towards",
                            result.word_prior == WordPrior::corpus ? "their frequency" : "all alike");
    page.facts.emplace_back("Iterations", std::to_string(posterior.sweeps));
  } else {
    page.facts.emplace_back("Chains", std::to_string(posterior.trace.size()));
    page.facts.emplace_back("Sweeps",
                            fmt::format("{} after {} of burn-in", posterior.sweeps, posterior.burn_in));
  }
  if (std::isfinite(result.accuracy))
    page.facts.emplace_back("Accuracy",
                            fmt::format("{:.4f} on the hidden labels{}", result.accuracy,
                                        posterior.renamed ? " (classes matched to the truth)" : ""));
  if (std::isfinite(result.naive_bayes_accuracy))
    page.facts.emplace_back("Naive Bayes on the labelled documents alone",
                            fmt::format("{:.4f}", result.naive_bayes_accuracy));
  add_verdict(judge(result), page);
  page.warnings = origin.warnings;
  page.result_json = json;
  if (!result.open.empty()) add_chains(result, page);
  if (!result.calibration.empty()) page.figures.push_back(calibration_figure(result.calibration));
  if (result.weight_choice.tested > 0) page.tables.push_back(weight_table(result.weight_choice));
  if (!result.top_words.front().empty()) page.tables.push_back(top_word_table(result));
  if (!result.open.empty()) page.tables.push_back(doubtful_documents(result, result.open));
  return render_report(page);
}

std::string page_of(const TextLabels& result, const std::string& json) {
  const Provenance& origin = result.provenance;
  ReportData page;
  page.title = "Documents labelled by " + file_name(origin.input);
  page.facts = {
      {"Model", origin.input},
      {"Documents", std::to_string(result.labels.size())},
      {"Words", fmt::format("{}, {} of them unknown to the model", result.tokens, result.unknown_tokens)},
      {"Classes", fmt::format("{}", fmt::join(result.classes, ", "))},
      {"Seconds", fmt::format("{:.3f}", origin.seconds)},
      {"Version", version()}};
  if (std::isfinite(result.accuracy))
    page.facts.emplace_back("Accuracy", fmt::format("{:.4f} on the known labels", result.accuracy));
  add_verdict(judge(result), page);
  page.warnings = origin.warnings;
  page.result_json = json;
  ReportTable classes{"Documents by class", "", {"Class", "Documents"}, {}};
  std::vector<std::size_t> counts(result.classes.size(), 0);
  for (std::uint32_t label : result.labels) ++counts[label];
  for (std::size_t k = 0; k < counts.size(); ++k)
    classes.rows.push_back({result.classes[k], std::to_string(counts[k])});
  page.tables.push_back(std::move(classes));
  if (!result.calibration.empty()) page.figures.push_back(calibration_figure(result.calibration));
  if (!result.top_words.empty() && !result.top_words.front().empty())
    page.tables.push_back(top_word_table(result));
  std::vector<std::uint32_t> all(result.labels.size());
  std::iota(all.begin(), all.end(), 0U);
  page.tables.push_back(doubtful_documents(result, std::move(all)));
  return render_report(page);
}

}  // namespace drover
