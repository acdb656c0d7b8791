#include "drover/task/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/image/binary_estimate.hpp"
#include "drover/image/binary_posterior.hpp"
#include "drover/image/grey_posterior.hpp"
#include "drover/methods/method.hpp"

namespace drover {

namespace {

constexpr std::string_view binary_method = "image-gibbs", grey_method = "scale-mixture";
constexpr std::uint64_t usual_sweeps = 30, usual_iterations = 25, usual_burn_in = 10;
constexpr double usual_grey_coupling = 8;

std::vector<double> pixels(const GreyImage& image) {
  std::vector<double> values;
  values.reserve(image.levels.size());
  for (double level : image.levels) values.push_back(2 * level - 1);
  return values;
}

/// The noisy image, with the noise asked for, and what the truth is.
void take_images(const GreyImage& image, const DenoiseOptions& options, Denoised& result) {
  const GreyImage& truth = options.truth;
  if (truth.size() > 0 && (truth.width != image.width || truth.height != image.height))
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: {} x {} pixels, but {} has {} x {}", options.truth_name, truth.width, truth.height,
                    options.input.empty() ? "the noisy one" : options.input, image.width, image.height));
  result.truth = pixels(truth);
  std::vector<double> values = pixels(image);
  if (options.noise > 0) {
    if (result.truth.empty()) result.truth = values;
    result.noisy = add_noise(values, image.width, image.height, options.noise, options.inference.seed);
  } else {
    result.noisy = noisy_image(std::move(values), image.width, image.height);
  }
  // A photograph in greys is its own truth only up to the side of the middle.
  if (options.levels == 2)
    for (double& x : result.truth) x = x >= 0 ? 1 : -1;
}

/// What this question means where nothing is said: one chain from the image itself, few sweeps.
InferenceOptions with_defaults(const InferenceOptions& given) {
  InferenceOptions options = given;
  if (!options.chains.sweeps) options.chains.sweeps = usual_sweeps;
  if (!options.messages.iterations) options.messages.iterations = options.chains.sweeps;
  if (!options.chains.count) options.chains.count = 1;
  if (!options.chains.burn_in) options.chains.burn_in = 0;
  return options;
}

/// A method that gives no marginals is asked for a best state.
Task task_of(const std::string& method) {
  if (method == "auto") return Task::marginals;
  const Method& named = method_named(method);
  return !named.does(Task::marginals) && named.does(Task::map) ? Task::map : Task::marginals;
}

Details resolved_options(const DenoiseOptions& options, const InferenceOptions& inference,
                         const Denoised& result, const Details& resolved) {
  DenoiseOptions copy = options;
  copy.inference = inference;
  // What was estimated stands beside the settings: given as one, it would leave patterns, levels and light out.
  if (!result.coupling_estimated) copy.coupling = result.coupling;
  if (!result.sigma_estimated) copy.sigma = result.sigma;
  OptionList list;
  describe(list, copy);
  return option_values(list, resolved);
}

double mean_level(std::span<const double> p) {
  double mean = 0;
  const auto states = static_cast<std::uint32_t>(p.size());
  for (std::uint32_t k = 0; k < states; ++k) mean += p[k] * level_of_state(k, states);
  return mean;
}

/// The model has a number for every level of every pixel.
void check_memory(std::size_t pixels, std::uint32_t levels, const InferenceOptions& options) {
  const double needed = static_cast<double>(sizeof(double)) * static_cast<double>(pixels) * levels,
               limit = static_cast<double>(memory_limit_bytes(options));
  if (needed <= limit) return;
  throw Error(ErrorKind::misfit,
              fmt::format("method {} needs a model of {} pixels with {} levels each: about {:.3g} GB, the "
                          "memory limit is {:.3g} GB; auto needs none, fewer levels a smaller one",
                          options.method, pixels, levels, needed / 1e9, limit / 1e9));
}

/// Fills result.mean; returns what the run says of itself.
RunFacts run_method(const Problem& problem, const Method& method, Task task, std::uint32_t states,
                    const RunControl& control, std::vector<double>& mean) {
  mean.reserve(problem.graph().size());
  if (task == Task::map) {
    BestStateResult best = method.map(problem, control);
    for (Value state : best.assignment) mean.push_back(level_of_state(state, states));
    return static_cast<const RunFacts&>(best);
  }
  MarginalsResult found = method.marginals(problem, control);
  for (double one : found.means) mean.push_back(std::clamp(one, -1.0, 1.0));
  for (std::size_t v = 0; v < found.marginals.size(); ++v)
    mean.push_back(std::clamp(mean_level(found.marginals[v]), -1.0, 1.0));
  return static_cast<const RunFacts&>(found);
}

double nearest_level(double mean, std::uint32_t states) {
  if (!std::isfinite(mean)) return 0;
  return level_of_state(static_cast<std::uint32_t>(std::floor(0.5 * (mean + 1) * (states - 1) + 0.5)),
                        states);
}

GreyImage output_image(const Denoised& result, bool grey) {
  GreyImage image{result.noisy.width, result.noisy.height, result.levels == 2 && !grey ? 1U : 255U, {}};
  image.levels.reserve(result.mean.size());
  for (double x : result.mean)
    image.levels.push_back(0.5 * ((grey ? x : nearest_level(x, result.levels)) + 1));
  return image;
}

void measure(Denoised& result) {
  if (result.truth.empty()) return;
  result.error = mean_squared_error(result.mean, result.truth);
  result.misclassified = wrong_share(result.mean, result.truth);
  std::vector<double> alone;
  alone.reserve(result.truth.size());
  for (Value state : most_likely_states(result.noisy, result.levels))
    alone.push_back(level_of_state(state, result.levels));
  result.error_before = mean_squared_error(alone, result.truth);
}

/// Parameters that are not given, by the image; the image is then one of even light, black at -1, white at
/// +1.
BinaryImageModel estimate(const DenoiseOptions& options, const RunControl& control, Denoised& result) {
  BinaryImageModel model;
  control.report({"estimating", -1, 0, 0, 0});  // seconds for a large picture
  result.sigma_estimated = !options.sigma;
  result.coupling_estimated = !options.coupling && options.levels == 2;
  if (options.levels == 2) {
    model =
        estimate_binary_model(result.noisy, options.coupling, options.sigma, options.inference.seed, control);
    result.black = model.black;
    result.white = model.white;
    result.light_evened = !model.even_light;
    normalise(result.noisy, model);
    result.coupling = model.coupling;
    result.sigma = model.sigma;
  } else {
    result.coupling = options.coupling.value_or(usual_grey_coupling);
    result.sigma = options.sigma ? *options.sigma : estimate_sigma_grey(result.noisy);
  }
  return model;
}

/// What is done when no method is named: image-gibbs and scale-mixture, which know that it is an image.
void run_usual(const DenoiseOptions& options, const BinaryImageModel& model, const RunControl& control,
               Denoised& result) {
  const Chains& chains = options.inference.chains;
  if (options.levels == 2) {
    result.chains = chains.count.value_or(1);
    BinaryPosterior found =
        binary_posterior(result.noisy, model, result.chains, chains.burn_in.value_or(usual_burn_in),
                         chains.sweeps.value_or(usual_sweeps), options.inference.seed, control);
    result.mean = std::move(found.mean);
    result.sweeps = found.sweeps;
    result.provenance.method = binary_method;
    if (!model.patterns.empty()) result.prior = PicturePrior::patterns;
    result.provenance.because = model.patterns.empty()
                                    ? "it is made for black and white images"
                                    : "it is made for black and white images, whose patterns it learns";
  } else {
    const auto iterations =
        static_cast<std::uint32_t>(options.inference.messages.iterations.value_or(usual_iterations));
    const GreyPosterior found = grey_posterior(result.noisy, result.sigma, iterations, control);
    result.mean.reserve(found.mean.size());
    for (const float x : found.mean) result.mean.push_back(std::clamp(static_cast<double>(x), -1.0, 1.0));
    result.sweeps = found.iterations;
    result.chains = 1;
    result.provenance.method = grey_method;
    result.prior = PicturePrior::scales;
    result.provenance.because = "it is made for photographs";
    if (found.iterations < iterations)
      result.provenance.warnings.push_back(
          fmt::format("ended after {} of {} iterations", found.iterations, iterations));
  }
  result.updates =
      static_cast<double>(result.noisy.values.size()) * static_cast<double>(result.sweeps) * result.chains;
}

/// Many pixels that are neither black nor white, once neighbours are averaged: a photograph.
bool looks_grey(const NoisyImage& image) {
  if (image.range == PixelRange::two || image.width < 3 || image.height < 3) return false;
  double grey = 0, seen = 0;
  for (std::size_t y = 1; y + 1 < image.height; y += 3)
    for (std::size_t x = 1; x + 1 < image.width; x += 3) {
      double sum = 0;
      for (std::size_t r = y - 1; r <= y + 1; ++r)
        for (std::size_t c = x - 1; c <= x + 1; ++c) sum += image.values[r * image.width + c];
      grey += std::abs(sum / 9) < 0.5;
      ++seen;
    }
  return grey > 0.5 * seen;
}

}  // namespace

void describe(OptionList& list, DenoiseOptions& options) {
  describe(list, options.inference, Task::marginals);
  for (const char* name : {"thin", "samples", "scan", "target-rhat", "target-mcse", "bond-share", "redraw",
                           "tolerance", "forest", "temperatures", "min-inverse-temperature", "pairs", "check",
                           "checkpoint", "checkpoint-every", "resume"})
    list.remove(name);
  list.explain("method",
               "any method that gives marginals or a best state; auto: image-gibbs for black and white, "
               "scale-mixture for grey levels, which take the least time and memory");
  list.explain("chains", "independent chains; climbs of icm; annealing runs", "1");
  list.explain("sweeps", "sweeps after burn-in", std::to_string(usual_sweeps));
  list.explain("burn-in", "sweeps discarded first", "0: the image is a good start; auto: 10");
  list.explain("iterations", "rounds of message passing or mean field",
               "as many as sweeps; auto with grey levels: 25");
  list.add("levels", "N", "grey levels of the result; 2 is black and white", options.levels, {2, 256});
  list.add("coupling", "J", "how much neighbours like to agree (log factor J s s', each pair once)",
           options.coupling, {-1e300, 1e300},
           fmt::format("estimated; with more levels {}, and auto does without", usual_grey_coupling));
  list.add("sigma", "X", "standard deviation of the noise, where black is -1 and white +1", options.sigma,
           {1e-9, 1000}, "estimated");
  list.add("noise", "X",
           "first add Gaussian noise of this standard deviation; the image itself is then the truth",
           options.noise, {0, 1000});
  list.add("truncation", "X", "grey levels: differences of neighbours beyond this cost no more",
           options.truncation, {0, 2});
  list.add("grey", "write the posterior mean in greys, not the nearest level", options.grey);
}

ImageModel image_model(const GreyImage& image, const DenoiseOptions& options) {
  Denoised taken;
  taken.levels = options.levels;
  take_images(image, options, taken);
  ImageModel result;
  result.noisy = std::move(taken.noisy);
  if (options.levels == 2)
    result.model =
        denoising_model(result.noisy, options.sigma ? *options.sigma : estimate_sigma(result.noisy),
                        options.coupling.value_or(1));
  else
    result.model = grey_denoising_model(
        result.noisy, options.sigma ? *options.sigma : estimate_sigma_grey(result.noisy), options.levels,
        options.coupling.value_or(usual_grey_coupling), options.truncation);
  return result;
}

Denoised denoise(const GreyImage& image, const DenoiseOptions& options, const RunControl& control) {
  const double start = control.seconds();
  Denoised result;
  with_threads(control, [&] {
    result.levels = options.levels;
    take_images(image, options, result);
    const bool grey_as_two = options.levels == 2 && !options.sigma && looks_grey(result.noisy);
    // Whoever hears of progress expects a result from there on, which a method that is named has much later.
    RunControl silent(control);
    silent.watch([](const Progress&) {});
    const BinaryImageModel model =
        estimate(options, options.inference.method == "auto" ? control : silent, result);
    StopCheck(control, "denoising", "had a result").ask();
    Provenance& provenance = result.provenance;
    provenance.question = "denoise";
    provenance.input = options.input;
    provenance.seed = options.inference.seed;
    if (grey_as_two)
      provenance.warnings.emplace_back(
          "the picture has many greys, and becomes black and white: more levels (256) keep them");
    if (options.inference.method == "auto") {
      run_usual(options, model, control, result);
      result.output = output_image(result, options.grey);
      measure(result);
      if (control.stop_requested())
        provenance.warnings.emplace_back("interrupted: this is the result so far");
      provenance.options = resolved_options(options, options.inference, result, {});
      provenance.seconds = control.seconds() - start;
      return;
    }
    InferenceOptions inference = with_defaults(options.inference);
    check_memory(result.noisy.values.size(), options.levels, inference);
    inference.start = most_likely_states(result.noisy, options.levels);
    Graph graph = denoising_graph(result.noisy, result.sigma, options.levels, result.coupling,
                                  options.truncation, control);
    // Every pixel's probability of every level is worked out only where that costs little; else its mean
    // alone.
    constexpr std::size_t most_probabilities = std::size_t{1} << 22;
    for (std::uint32_t k = 0; graph.unary.size() > most_probabilities && k < options.levels; ++k)
      inference.state_values.push_back(static_cast<float>(level_of_state(k, options.levels)));
    const Problem problem(std::move(graph), inference, control);
    const Task task = task_of(inference.method);
    const Method& method = *choose_method(problem, task).method;
    inference.method = method.name;
    RunFacts facts = run_method(problem, method, task, options.levels, control, result.mean);
    result.sweeps = facts.sweeps;
    result.chains = facts.chains;
    result.updates = facts.updates;
    result.output = output_image(result, options.grey);
    measure(result);

    provenance.method = method.name;
    provenance.warnings.insert(provenance.warnings.end(), facts.warnings.begin(), facts.warnings.end());
    provenance.details = std::move(facts.details);
    InferenceOptions given = options.inference;
    OptionList list;
    describe(list, given, task);
    for (const std::string& name : unused_options(method, task, list))
      provenance.warnings.push_back(
          fmt::format("the option {} has no effect: method {} does not use it", name, method.name));
    if (control.stop_requested()) provenance.warnings.emplace_back("interrupted: this is the result so far");
    provenance.options = resolved_options(options, inference, result, facts.resolved);
    provenance.seconds = control.seconds() - start;
  });
  return result;
}

Judgement judge(const Denoised& result) {
  if (result.truth.empty()) return {Verdict::caution, "There is no clean image to compare with."};
  const std::string figures = fmt::format(
      "The mean squared error of the posterior mean is {:.4g} (black is -1, white +1); {:.3g} % of the "
      "pixels "
      "are on the wrong side. Each pixel taken by itself would have had an error of {:.4g}.",
      result.error, 100 * result.misclassified, result.error_before);
  if (!(result.error < result.error_before)) return {Verdict::bad, figures};
  return with_warnings({Verdict::good, figures}, result.provenance.warnings);
}

std::string prior_text(const Denoised& result) {
  switch (result.prior) {
    case PicturePrior::coupling:
      return fmt::format("coupling {:.4g}{}", result.coupling,
                         result.coupling_estimated ? " (estimated)" : "");
    case PicturePrior::patterns:
      return "patterns learnt from the image";
    case PicturePrior::scales:
      break;
  }
  return "differences of neighbours on scales of their own";
}

JsonObject to_json(const Denoised& result) {
  JsonObject object = json_of(result.provenance);
  add_judgement(judge(result), object);
  object.add("width", result.noisy.width);
  object.add("height", result.noisy.height);
  object.add("levels", result.levels);
  object.add("prior", choice_name(result.prior));
  object.add("coupling", result.coupling);
  object.add("coupling_estimated", result.coupling_estimated);
  object.add("black", 0.5 * (result.black + 1));
  object.add("white", 0.5 * (result.white + 1));
  object.add("light_evened", result.light_evened);
  object.add("sigma", result.sigma);
  object.add("sigma_estimated", result.sigma_estimated);
  if (!result.truth.empty()) {
    object.add("error", result.error);
    object.add("misclassified", result.misclassified);
    object.add("error_before", result.error_before);
  }
  object.add("sweeps", result.sweeps);
  object.add("chains", result.chains);
  object.add("updates", result.updates);
  if (!result.provenance.details.empty()) object.add("details", result.provenance.details);
  object.add("seconds", result.provenance.seconds);
  return object;
}

}  // namespace drover
