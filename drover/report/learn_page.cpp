#include "drover/report/learn_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

constexpr std::size_t most_shown = 64;

/// Rows side by side as one picture, eight to a line; empty when rows are no images.
ReportImage learn_picture(const std::string& title, const BitBatch& rows, std::size_t variables,
                          std::optional<std::uint32_t> asked_width, std::size_t most = most_shown) {
  ReportImage image;
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(variables))));
  const std::size_t width = asked_width ? *asked_width : root * root == variables ? root : 0;
  if (width < 2 || variables % width != 0 || rows.rows == 0) return image;
  const std::size_t height = variables / width, across = 8, count = std::min(rows.rows, most);
  const std::size_t down = (count + across - 1) / across;
  image.title = title;
  image.picture = true;
  image.width = across * (width + 1) - 1;
  image.height = down * (height + 1) - 1;
  image.values.assign(image.width * image.height, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t v = 0; v < variables; ++v)
      image.values[(s / across * (height + 1) + v / width) * image.width + s % across * (width + 1) +
                   v % width] = rows.get(s, v);
  return image;
}

}  // namespace

std::string page_of(const LearnResult& result, const std::string& json,
                    std::optional<std::uint32_t> image_width) {
  const Provenance& origin = result.provenance;
  const BinaryMachine& machine = result.machine;
  ReportData page;
  page.title = fmt::format("{} learnt from {}", choice_name(machine.kind), file_name(origin.input));
  page.facts = {{"data", origin.input},
                {"rows", result.held_out_rows == 0
                             ? std::to_string(result.rows)
                             : fmt::format("{}, and {} held out", result.rows, result.held_out_rows)},
                {"kind", std::string(choice_name(machine.kind))},
                {"visible, hidden", fmt::format("{}, {}", machine.visible, machine.hidden)},
                {"weights", std::to_string(machine.edges())},
                {"method", origin.method}};
  if (!origin.because.empty()) page.facts.emplace_back("chosen because", origin.because);
  page.facts.emplace_back("iterations", fmt::format("{} ({})", result.fit.iterations, result.fit.ended));
  if (std::isfinite(result.log_likelihood))
    page.facts.emplace_back(
        "log-likelihood per row",
        fmt::format("{:.2f} held out, {:.2f} learnt from: a gap of {:.2f}", result.log_likelihood,
                    result.training_log_likelihood, result.training_log_likelihood - result.log_likelihood));
  page.facts.emplace_back("seed", std::to_string(origin.seed));
  page.facts.emplace_back("seconds", fmt::format("{:.2f}", origin.seconds));
  add_verdict(judge(result), page);
  page.warnings = origin.warnings;
  if (!result.fit.held_out_log_likelihood.empty())
    page.traces.push_back(
        {"log-likelihood per row",
         result.fit.check_iteration,
         {result.fit.held_out_log_likelihood, result.fit.training_log_likelihood},
         {"held-out rows", "rows learnt from"},
         "Higher is better. Both lines should climb; where the upper one climbs alone, the machine learns "
         "its "
         "rows by heart. By short anneals (annealed importance sampling): drover learn score is more exact.",
         "step"});
  page.traces.push_back(
      {result.objective,
       result.fit.iteration,
       {result.fit.objective},
       {},
       result.objective == moment_gap
           ? "The noise of minibatches and samples keeps this up, and it may rise while the "
             "model gets better: it tells of steps that are too large, not of progress."
           : "Climbs, then levels off when there is nothing more to learn.",
       "step"});
  if (!result.fit.log_mmd.empty())
    page.traces.push_back({"log MMD^2 of samples against held-out rows",
                           result.fit.check_iteration,
                           {result.fit.log_mmd},
                           {},
                           "Lower is closer to the data.",
                           "step"});
  const std::size_t n = machine.visible;
  std::vector<std::uint32_t> rows(n == 0 ? 0 : result.shown_rows.size() / n);
  std::iota(rows.begin(), rows.end(), 0U);
  for (ReportImage& image : std::vector<ReportImage>{
           learn_picture("Samples of the model", result.samples, n, image_width),
           learn_picture("Rows of the data", bit_batch(result.shown_rows, n, rows), n, image_width)})
    if (image.width > 0) page.images.push_back(std::move(image));
  std::vector<Value> over_time;
  for (const std::vector<Value>& shown : result.fit.check_samples)
    over_time.insert(over_time.end(), shown.begin(), shown.end());
  if (n > 0 && !over_time.empty()) {
    rows.resize(over_time.size() / n);
    std::iota(rows.begin(), rows.end(), 0U);
    ReportImage image = learn_picture("Samples over training: a line per check, the last at the bottom",
                                      bit_batch(over_time, n, rows), n, image_width, rows.size());
    if (image.width > 0) page.images.push_back(std::move(image));
  }
  page.result_json = json;
  return render_report(page);
}

}  // namespace drover
