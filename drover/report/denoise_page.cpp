#include "drover/report/denoise_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "drover/report/page_parts.hpp"

namespace drover {

namespace {

/// Values from -1 to +1, or levels from 0 to 1.
ReportImage denoise_picture(std::string title, const Denoised& result, std::span<const double> values,
                            bool levels) {
  ReportImage image{std::move(title), result.noisy.width, result.noisy.height, {}, true};
  image.values.reserve(values.size());
  for (double value : values)
    image.values.push_back(levels ? value : std::clamp(0.5 * (value + 1), 0.0, 1.0));
  return image;
}

}  // namespace

std::string page_of(const Denoised& result, const std::string& json) {
  const Provenance& origin = result.provenance;
  ReportData page;
  page.title = "Denoising of " + file_name(origin.input);
  page.facts = {
      {"Image", fmt::format("{} x {} pixels", result.noisy.width, result.noisy.height)},
      {"Method", origin.method},
      {"Sweeps", std::to_string(result.sweeps)},
      {"Picture", prior_text(result)},
      {"Noise", fmt::format("{:.4g}{}", result.sigma, result.sigma_estimated ? " (estimated)" : "")},
      {"Seed", std::to_string(origin.seed)},
      {"Seconds", fmt::format("{:.3f}", origin.seconds)}};
  add_verdict(judge(result), page);
  page.warnings = origin.warnings;
  page.images.push_back(denoise_picture("Before", result, result.noisy.values, false));
  page.images.push_back(denoise_picture("After", result, result.output.levels, true));
  if (!result.truth.empty()) page.images.push_back(denoise_picture("Truth", result, result.truth, false));
  page.images.push_back(denoise_picture("Posterior mean", result, result.mean, false));
  page.result_json = json;
  return render_report(page);
}

}  // namespace drover
