#include "drover/report/tagger_page.hpp"

#include <fmt/format.h>

#include "drover/report/page_parts.hpp"

namespace drover {

std::string page_of(const Tagger& tagger, const std::string& json) {
  const Provenance& origin = tagger.provenance;
  const CrfTrainSummary& summary = tagger.summary;
  ReportData page;
  page.title = "Tagger learnt from " + file_name(origin.input);
  page.facts = {{"text", origin.input},
                {"documents, sentences, tokens",
                 fmt::format("{}, {}, {}", tagger.documents, tagger.sentences, tagger.tokens)},
                {"labels", fmt::format("{} ({})", tagger.crf.labels.size(), scheme_text(tagger))},
                {"features", fmt::format("{}, {} of them different", summary.features, summary.rows)},
                {"method", origin.method},
                {"iterations", fmt::format("{} ({})", summary.iterations, summary.ended)},
                {"loss", fmt::format("{:.2f}", summary.loss)}};
  if (tagger.skip_pairs > 0) page.facts.emplace_back("skip pairs", std::to_string(tagger.skip_pairs));
  page.facts.emplace_back("seed", std::to_string(origin.seed));
  page.facts.emplace_back("seconds", fmt::format("{:.2f}", origin.seconds));
  add_verdict(judge(tagger), page);
  page.warnings = origin.warnings;
  ReportTrace loss{"loss: minus log likelihood and penalty", {}, {{}}, {}},
      score{"F1 on held-out text", {}, {{}}, {}};
  for (const CrfProgress& progress : summary.trace) {
    loss.sweep.push_back(static_cast<double>(progress.iteration));
    loss.series[0].push_back(progress.loss);
    score.series[0].push_back(progress.f1);
  }
  score.sweep = loss.sweep;
  page.traces.push_back(std::move(loss));
  if (tagger.held_out_tokens > 0) page.traces.push_back(std::move(score));
  page.result_json = json;
  return render_report(page);
}

}  // namespace drover
