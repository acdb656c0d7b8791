// drover denoise: an image without its noise.
#include "drover/task/denoise.hpp"

#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/report/denoise_page.hpp"

namespace drover::app {

namespace {

struct Denoise {
  DenoiseOptions options;
  std::string truth;
  Limits limits;
  Output output;
};

void print_denoise_result(const Denoised& result, const std::string& out) {
  print_text(fmt::format("{}: {} x {} pixels, {}, {} sweeps, sigma {:.4g}{}, {}, {:.3f} s\n{}\n", out,
                         result.noisy.width, result.noisy.height, result.provenance.method, result.sweeps,
                         result.sigma, result.sigma_estimated ? " (estimated)" : "", prior_text(result),
                         result.provenance.seconds, judge(result).text));
}

int run_denoise(const Call& call, Denoise& denoising) {
  const std::string &in = call.arguments[0], &out = call.arguments[1];
  image_format(out);
  check_one_document(denoising.output.json, {out, denoising.output.report});
  check_outputs(denoising.output, {}, "", call.arguments);
  { const AtomicFile trial(out); }  // fails now when it cannot be written
  const ProgressBar bar(denoising.output.quiet);
  apply(denoising.limits);
  DenoiseOptions& options = denoising.options;
  options.input = in;
  if (!denoising.truth.empty()) {
    options.truth = read_image(denoising.truth, run_control());
    options.truth_name = denoising.truth;
  }
  Denoised result = denoise(read_image(in, run_control()), options, run_control());
  if (!denoising.truth.empty()) result.provenance.options["truth"] = denoising.truth;
  add_limits(denoising.limits, result.provenance.options);
  write_image(result.output, out);
  const bool wants_text = deliver(
      denoising.output, result.provenance.warnings,
      [&] {
        JsonObject object = to_json(result);
        object.add("out", out);
        return object;
      },
      [](const std::string&) {},  // written already
      [&](const std::string& json) { return page_of(result, json); });
  if (wants_text) print_denoise_result(result, out);
  return 0;
}

}  // namespace

Command denoise_command() {
  auto denoising = std::make_shared<Denoise>();
  Command command{"denoise",
                  "an image without its noise: black and white, or grey levels",
                  {{"IN", "the noisy image: .png, .jpg, .tif, .pbm, .pgm"},
                   {"OUT", "the image to write: .png, .pbm, .pgm", false, false, true}},
                  "drover denoise models/rings.pbm rings.png --noise 1.5",
                  {},
                  [denoising](const Call& call) { return run_denoise(call, *denoising); }};
  describe(command.options, denoising->options);
  command.options.add("truth", "FILE", "the clean image, to measure the error", denoising->truth);
  describe(command.options, denoising->limits);
  describe(command.options, denoising->output, "", true);
  return command;
}

}  // namespace drover::app
