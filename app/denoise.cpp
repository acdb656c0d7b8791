// drover denoise: an image as a grid of variables, its noise taken away by any method that yields marginals
// or a best state.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/image/denoising.hpp"
#include "drover/image/image.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/methods/method.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

constexpr std::int64_t default_sweeps = 30;
constexpr double default_coupling = 1, default_grey_coupling = 8;

std::vector<double> pixels(const GreyImage& image) {
  std::vector<double> values;
  for (double level : image.levels) values.push_back(2 * level - 1);
  return values;
}

struct Input {
  NoisyImage noisy;
  std::vector<double> truth;  ///< empty when it is not known
};

Input load_images(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const GreyImage image = read_image(invocation.arguments.at(0));
  Input input;
  if (!settings.truth.empty()) {
    const GreyImage truth = read_image(settings.truth);
    if (truth.width != image.width || truth.height != image.height)
      throw Error(ErrorKind::bad_data,
                  fmt::format("{}: {} x {} pixels, but {} has {} x {}", settings.truth, truth.width,
                              truth.height, invocation.arguments.at(0), image.width, image.height));
    input.truth = pixels(truth);
  }
  if (settings.noise > 0) {
    const std::vector<double> clean = pixels(image);
    if (input.truth.empty()) input.truth = clean;
    input.noisy = add_noise(clean, image.width, image.height, settings.noise,
                            static_cast<std::uint64_t>(settings.seed));
  } else {
    input.noisy = noisy_image(pixels(image), image.width, image.height);
  }
  // A photograph in greys is its own truth only up to the side of the middle.
  if (settings.levels == 2)
    for (double& x : input.truth) x = x >= 0 ? 1 : -1;
  return input;
}

// What this command means where the user says nothing.
Settings with_defaults(const Invocation& invocation) {
  Settings settings = invocation.settings;
  if (settings.method == "auto") settings.method = "herded-gibbs";
  if (settings.sweeps == 0) settings.sweeps = default_sweeps;
  if (settings.iterations == 0) settings.iterations = settings.sweeps;
  if (settings.chains == 0) settings.chains = 1;
  if (settings.burn_in < 0) settings.burn_in = 0;
  if (!invocation.was_given("coupling"))
    settings.coupling = settings.levels == 2 ? default_coupling : default_grey_coupling;
  return settings;
}

struct Denoised {
  std::string_view method;
  std::vector<double> mean;  ///< of every pixel, -1 .. +1; the state itself for methods that yield a state
  RunFacts facts;
};

const Method& method_of(const Settings& settings) {
  for (const Method& method : all_methods())
    if (method.name == settings.method) return method;
  // The registry knows how to say it.
  return all_methods().front();
}

Denoised run_method(const Graph& graph, const Settings& settings, const NoisyImage& image,
                    std::uint32_t states, const RunControl& control) {
  InferenceOptions options;
  options.method = settings.method;
  options.seed = static_cast<std::uint64_t>(settings.seed);
  options.chains.count = static_cast<std::uint32_t>(settings.chains);
  options.chains.sweeps = static_cast<std::uint64_t>(settings.sweeps);
  options.chains.burn_in = static_cast<std::uint64_t>(settings.burn_in);
  options.messages.iterations = static_cast<std::uint64_t>(settings.iterations);
  if (settings.damping >= 0)
    options.messages.damping = settings.damping;
  else if (settings.damping != -1)
    throw OptionError("damping", fmt::format("{}", settings.damping), "a number from 0 to 0.999");
  options.messages.schedule = choice_named<MessageSchedule>(settings.schedule);
  options.herded.schedule = choice_named<HerdedSchedule>(settings.schedule);
  options.herded.share = choice_named<HerdedShare>(settings.share);
  if (settings.memory_limit > 0) options.memory_limit = settings.memory_limit;
  options.start = most_likely_states(image, states);
  // Every pixel's probability of every level is worked out only where that costs little; else its mean alone.
  constexpr std::size_t most_probabilities = std::size_t{1} << 22;
  for (std::uint32_t k = 0; graph.unary.size() > most_probabilities && k < states; ++k)
    options.state_values.push_back(static_cast<float>(level_of_state(k, states)));
  const Problem problem(graph, options, control);
  const Method& named = method_of(settings);
  const Task task = named.name == settings.method && !named.does(Task::marginals) && named.does(Task::map)
                        ? Task::map
                        : Task::marginals;
  const Method& method = *choose_method(problem, task).method;
  Denoised result;
  result.method = method.name;
  result.mean.reserve(graph.size());
  if (task == Task::map) {
    const BestStateResult best = method.map(problem, control);
    for (Value state : best.assignment) result.mean.push_back(level_of_state(state, states));
    result.facts = best;
    return result;
  }
  const MarginalsResult marginals = method.marginals(problem, control);
  for (double mean : marginals.means) result.mean.push_back(std::clamp(mean, -1.0, 1.0));
  for (std::size_t v = 0; v < marginals.marginals.size(); ++v) {
    const std::span<const double> p = marginals.marginals[v];
    double mean = 0;
    for (std::uint32_t k = 0; k < states; ++k) mean += p[k] * level_of_state(k, states);
    result.mean.push_back(std::clamp(mean, -1.0, 1.0));
  }
  result.facts = marginals;
  return result;
}

double nearest_level(double mean, std::uint32_t states) {
  if (!std::isfinite(mean)) return 0;
  return level_of_state(static_cast<std::uint32_t>(std::floor(0.5 * (mean + 1) * (states - 1) + 0.5)),
                        states);
}

ReportImage report_image(std::string title, const NoisyImage& shape, std::span<const double> values) {
  ReportImage image{std::move(title), shape.width, shape.height, {}};
  for (double value : values) image.values.push_back(std::clamp(0.5 * (value + 1), 0.0, 1.0));
  return image;
}

struct Errors {
  double error = not_known, misclassified = not_known, before = not_known;
};

std::string page(const Invocation& invocation, const Input& input, const Denoised& result,
                 std::span<const double> output, double sigma, double coupling, const Errors& errors,
                 double seconds, const std::string& json) {
  ReportData data;
  data.title = "Denoising of " + file_name(invocation.arguments.at(0));
  data.facts = {
      {"Image", fmt::format("{} x {} pixels", input.noisy.width, input.noisy.height)},
      {"Method", std::string(result.method)},
      {"Sweeps", std::to_string(result.facts.sweeps)},
      {"Coupling", fmt::format("{:.4g}", coupling)},
      {"Noise", fmt::format("{:.4g}{}", sigma, invocation.settings.sigma > 0 ? "" : " (estimated)")},
      {"Seed", std::to_string(invocation.settings.seed)},
      {"Seconds", fmt::format("{:.3f}", seconds)}};
  data.verdict = ReportData::Verdict::caution;
  data.verdict_text = "There is no clean image to compare with.";
  if (!input.truth.empty()) {
    data.verdict = errors.error < errors.before ? ReportData::Verdict::good : ReportData::Verdict::bad;
    data.verdict_text = fmt::format(
        "The mean squared error of the posterior mean is {:.4g} (black is -1, white +1); {:.3g} % of the "
        "pixels "
        "are on the wrong side. Each pixel taken by itself would have had an error of {:.4g}.",
        errors.error, 100 * errors.misclassified, errors.before);
  }
  data.warnings = result.facts.warnings;
  data.images.push_back(report_image("Before", input.noisy, input.noisy.values));
  data.images.push_back(report_image("After", input.noisy, output));
  if (!input.truth.empty()) data.images.push_back(report_image("Truth", input.noisy, input.truth));
  data.images.push_back(report_image("Posterior mean", input.noisy, result.mean));
  data.result_json = json;
  return render_report(data);
}

}  // namespace

int run_denoise(const Invocation& given) {
  Invocation invocation = given;
  invocation.settings = with_defaults(given);
  const Settings& settings = invocation.settings;
  const std::string& out = invocation.arguments.at(1);
  const auto states = static_cast<std::uint32_t>(settings.levels);
  image_format(out);
  check_outputs(settings, {});
  AtomicFile{out};  // fails now when it cannot be written
  const Input input = load_images(invocation);

  ProgressBar bar(settings.quiet);
  const bool binary = states == 2;
  const double sigma = settings.sigma > 0 ? settings.sigma
                       : binary           ? estimate_sigma(input.noisy)
                                          : estimate_sigma_grey(input.noisy);
  const Graph graph = denoising_graph(input.noisy, sigma, states, settings.coupling, settings.truncation);
  Denoised result = run_method(graph, settings, input.noisy, states, bar.control());
  bar.clear();
  if (bar.was_interrupted()) result.facts.warnings.emplace_back("interrupted: this is the result so far");

  std::vector<double> output = result.mean;
  if (!settings.grey)
    for (double& x : output) x = nearest_level(x, states);
  GreyImage written{input.noisy.width, input.noisy.height, binary && !settings.grey ? 1U : 255U, {}};
  for (double x : output) written.levels.push_back(0.5 * (x + 1));
  write_image(written, out);
  const double seconds = bar.seconds();

  Errors errors;
  if (!input.truth.empty()) {
    errors.error = mean_squared_error(result.mean, input.truth);
    errors.misclassified = wrong_share(result.mean, input.truth);
    std::vector<double> alone;
    for (Value state : most_likely_states(input.noisy, states))
      alone.push_back(level_of_state(state, states));
    errors.before = mean_squared_error(alone, input.truth);
  }
  SettingsObject object =
      json_envelope(invocation, result.facts.warnings,
                    given.settings.method == "auto" ? "herded-gibbs is the default for images" : "");
  object.add("method", std::string(result.method));
  object.add("out", out);
  object.add("width", input.noisy.width);
  object.add("height", input.noisy.height);
  object.add("levels", states);
  object.add("coupling", settings.coupling);
  object.add("sigma", sigma);
  object.add("sigma_estimated", !(settings.sigma > 0));
  if (!input.truth.empty()) {
    object.add("error", errors.error);
    object.add("misclassified", errors.misclassified);
    object.add("error_before", errors.before);
  }
  object.add("sweeps", result.facts.sweeps);
  object.add("chains", result.facts.chains);
  object.add("updates", result.facts.updates);
  if (!result.facts.details.empty()) object.add_raw("details", json_text(result.facts.details));
  object.add("seconds", seconds);
  if (!settings.report.empty())
    write_file(settings.report, page(invocation, input, result, output, sigma, settings.coupling, errors,
                                     seconds, object.text()));
  print_warnings(settings.quiet, result.facts.warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  print_text(fmt::format("{}: {} x {} pixels, {}, {} sweeps, sigma {:.4g}{}, coupling {:.4g}, {:.3f} s\n",
                         out, input.noisy.width, input.noisy.height, result.method, result.facts.sweeps,
                         sigma, settings.sigma > 0 ? "" : " (estimated)", settings.coupling, seconds));
  if (!input.truth.empty())
    print_text(fmt::format(
        "mean squared error {:.4g} (pixel by pixel: {:.4g}), {:.3g} % of the pixels on the wrong side\n",
        errors.error, errors.before, 100 * errors.misclassified));
  return 0;
}

}  // namespace drover::app
