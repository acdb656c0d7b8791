// drover learn: trains an Ising model, a Boltzmann machine or an RBM on rows of zeros and ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/machine/train.hpp"
#include "drover/report/report.hpp"

namespace drover::app {

namespace {

constexpr double most_edges = 2e8;
constexpr std::uint32_t shown_samples = 64;

BinaryMachine make_machine(const Invocation& invocation, std::size_t variables) {
  const std::string& kind = invocation.arguments.at(0);
  const auto visible = static_cast<std::uint32_t>(variables);
  const auto hidden = static_cast<std::uint32_t>(invocation.settings.hidden);
  if (kind != "ising" && kind != "boltzmann" && kind != "rbm")
    throw Error(ErrorKind::usage, fmt::format("learn '{}': expected ising, boltzmann or rbm", kind));
  const double units = visible + (kind == "ising" ? 0.0 : hidden);
  const double edges = kind == "rbm" ? static_cast<double>(visible) * hidden : units * (units - 1) / 2;
  if (edges > most_edges)
    throw Error(
        ErrorKind::misfit,
        fmt::format("{:.0f} units have {:.3g} weights, more than {:.0g}; use --columns or fewer --hidden",
                    units, edges, most_edges));
  if (kind == "rbm") return restricted_machine(visible, hidden);
  if (kind == "boltzmann") return complete_machine(MachineKind::boltzmann, visible, hidden);
  if (invocation.was_given("hidden"))
    throw Error(ErrorKind::usage, "--hidden: an ising model has no hidden variables");
  return complete_machine(MachineKind::ising, visible, 0);
}

DataTable load_rows(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const std::string& path = invocation.arguments.at(1);
  DataTable table = read_data_table(path, {settings.binarise, settings.header, settings.columns, true});
  for (std::size_t v = 0; v < table.variables(); ++v)
    if (table.cardinalities[v] > 2)
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: column {} has {} states; learning is for binary variables (--binarise, --columns)",
                      path, table.names[v], table.cardinalities[v]));
  return table;
}

/// The last rows of a random order go into the second table.
struct Split {
  std::vector<Value> training, held_out;
};

Split split_rows(const DataTable& table, double share, std::uint64_t seed) {
  std::vector<std::uint32_t> order(table.rows);
  for (std::size_t r = 0; r < table.rows; ++r) order[r] = static_cast<std::uint32_t>(r);
  const auto aside = static_cast<std::size_t>(share * static_cast<double>(table.rows));
  if (aside > 0) {
    RandomSequence random(seed, Stream::resample);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
  }
  Split split;
  for (std::size_t k = 0; k < order.size(); ++k) {
    std::vector<Value>& part = k + aside < order.size() ? split.training : split.held_out;
    const Value* row = table.values.data() + std::size_t{order[k]} * table.variables();
    part.insert(part.end(), row, row + table.variables());
  }
  return split;
}

StepRule parse_rule(const std::string& text) {
  if (text == "adam") return StepRule::adam;
  if (text == "momentum") return StepRule::momentum;
  if (text == "sgd") return StepRule::sgd;
  throw Error(ErrorKind::usage, fmt::format("--rule {}: expected adam, momentum or sgd", text));
}

TrainOptions train_options(const Settings& settings, const std::string& method) {
  TrainOptions options;
  options.method = settings.method;
  options.weight_deviation = settings.weight_sd;
  options.fit.iterations = settings.iterations > 0 ? static_cast<std::uint64_t>(settings.iterations) : 1000;
  // The whole data cost an enumeration no more than a part of them.
  options.fit.batch = method == "exact" ? 0U : static_cast<std::uint32_t>(settings.batch);
  options.fit.seed = static_cast<std::uint64_t>(settings.seed);
  options.fit.update.rule = parse_rule(settings.rule);
  const double usual_rate =
      options.fit.update.rule == StepRule::adam ? (method == "exact" ? 0.02 : 0.001) : 0.01;
  options.fit.update.rate = settings.rate > 0 ? settings.rate : usual_rate;
  options.fit.update.decay = settings.decay;
  options.fit.update.l1 = settings.l1;
  options.fit.update.l2 = settings.l2;
  options.fit.check_every = settings.check_every > 0
                                ? static_cast<std::uint64_t>(settings.check_every)
                                : std::max<std::uint64_t>(1, options.fit.iterations / 20);
  options.fit.patience = static_cast<std::uint32_t>(settings.patience);
  options.sampler.chains = settings.chains > 0 ? static_cast<std::uint32_t>(settings.chains) : 100;
  options.sampler.sweeps =
      settings.sweeps > 0 ? static_cast<std::uint32_t>(std::min<std::int64_t>(settings.sweeps, 1'000'000))
                          : 1;
  // Independent samples are what pmp is for; the persistent form is asked for by the correlation of its
  // noise.
  options.sampler.persistent = method == "pmp" ? settings.correlation > 0 : !settings.reset;
  options.sampler.correlation = settings.correlation;
  if (settings.damping >= 0) options.sampler.damping = settings.damping;
  options.sampler.seed = options.fit.seed;
  return options;
}

/// Rows side by side as one picture, eight to a line; empty when rows are no images.
ReportImage picture(const std::string& title, const BitBatch& rows, std::size_t variables,
                    std::size_t asked_width) {
  ReportImage image;
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(variables))));
  const std::size_t width = asked_width > 0 ? asked_width : root * root == variables ? root : 0;
  if (width < 2 || variables % width != 0) return image;
  const std::size_t height = variables / width, across = 8,
                    count = std::min<std::size_t>(rows.rows, shown_samples);
  const std::size_t down = (count + across - 1) / across;
  image.title = title;
  image.width = across * (width + 1) - 1;
  image.height = down * (height + 1) - 1;
  image.values.assign(image.width * image.height, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t v = 0; v < variables; ++v)
      image.values[(s / across * (height + 1) + v / width) * image.width + s % across * (width + 1) +
                   v % width] = rows.get(s, v);
  return image;
}

struct Outcome {
  const BinaryMachine& machine;
  const TrainChoice& choice;
  const TrainResult& result;
  const Split& split;
  BitBatch samples;
  double log_mmd = 0;
  double seconds = 0;
  std::vector<std::string> warnings;
};

std::string page(const Invocation& invocation, const Outcome& outcome, const std::string& json) {
  const FitSummary& summary = outcome.result.summary;
  ReportData data;
  data.title = fmt::format("{} learnt from {}", invocation.arguments[0], invocation.arguments[1]);
  data.facts = {{"kind", invocation.arguments[0]},
                {"method", outcome.choice.method},
                {"visible, hidden", fmt::format("{}, {}", outcome.machine.visible, outcome.machine.hidden)},
                {"weights", std::to_string(outcome.machine.edges())},
                {"iterations", std::to_string(summary.iterations)},
                {"seed", std::to_string(invocation.settings.seed)},
                {"seconds", fmt::format("{:.2f}", outcome.seconds)}};
  data.verdict = outcome.warnings.empty() ? ReportData::Verdict::good : ReportData::Verdict::caution;
  data.verdict_text =
      fmt::format("Ended: {}. Samples against the data: log MMD^2 {:.3f}.", summary.ended, outcome.log_mmd);
  data.warnings = outcome.warnings;
  data.traces.push_back({outcome.result.objective, summary.iteration, {summary.objective}, {}});
  if (!summary.log_mmd.empty())
    data.traces.push_back(
        {"log MMD^2 of samples against held-out rows", summary.check_iteration, {summary.log_mmd}, {}});
  const std::size_t n = outcome.machine.visible;
  std::vector<std::uint32_t> first_rows;
  for (std::uint32_t r = 0; r < std::min<std::size_t>(shown_samples, outcome.split.training.size() / n); ++r)
    first_rows.push_back(r);
  const auto width = static_cast<std::size_t>(invocation.settings.image_width);
  for (ReportImage& image : std::vector<ReportImage>{
           picture("Samples of the model", outcome.samples, n, width),
           picture("Rows of the data", bit_batch(outcome.split.training, n, first_rows), n, width)})
    if (image.width > 0) data.images.push_back(std::move(image));
  data.result_json = json;
  return render_report(data);
}

}  // namespace

int run_learn(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (settings.out.empty()) throw Error(ErrorKind::usage, "drover learn needs --out FILE.drv");
  check_outputs(settings, {".drv", ".drv.gz"});
  const DataTable table = load_rows(invocation);
  if (table.rows == 0)
    throw Error(ErrorKind::bad_data, invocation.arguments[1] + ": expected at least one row");
  BinaryMachine machine = make_machine(invocation, table.variables());
  const TrainChoice choice = choose_train_method(machine, settings.method);
  const TrainOptions options = train_options(settings, choice.method);
  const Split split = split_rows(table, settings.held_out, options.fit.seed);
  if (settings.patience > 0 && split.held_out.empty())
    throw Error(ErrorKind::usage, "--patience needs rows to compare with: --held-out X");
  const TrainingData data{split.training, table.variables()};

  ProgressBar bar(settings.quiet);
  const RunControl& control = run_control();
  const TrainResult result = train(
      machine, data, choice, options,
      [&](std::uint64_t iteration, double) {
        control.report({"learning",
                        static_cast<double>(iteration) / static_cast<double>(options.fit.iterations),
                        iteration, 0, 0});
        return control.should_stop();
      },
      split.held_out);
  bar.clear();
  const double seconds = bar.seconds();

  // The same number of samples as rows to compare with: MMD depends on it.
  const std::vector<Value>& reference = split.held_out.empty() ? split.training : split.held_out;
  const std::size_t compared = std::min<std::size_t>(1000, reference.size() / table.variables());
  Outcome outcome{machine,
                  choice,
                  result,
                  split,
                  sample_machine(machine, choice.method,
                                 static_cast<std::uint32_t>(std::max<std::size_t>(compared, shown_samples)),
                                 100, options.fit.seed),
                  0,
                  seconds,
                  {}};
  outcome.log_mmd =
      log_mmd_of(machine, outcome.samples, std::span(reference).first(compared * table.variables()));
  if (bar.was_interrupted()) outcome.warnings.emplace_back("interrupted: this is the model so far");
  if (result.summary.ended.starts_with("the objective")) outcome.warnings.push_back(result.summary.ended);

  MachineFile file{machine, table.names, {}};
  file.trained = {{"method", choice.method},
                  {"iterations", result.summary.iterations},
                  {"rows", data.rows()},
                  {"seed", settings.seed},
                  {"rule", settings.rule},
                  {"rate", options.fit.update.rate},
                  {"batch", options.fit.batch},
                  {"chains", options.sampler.chains},
                  {"sweeps", options.sampler.sweeps},
                  {"persistent", options.sampler.persistent},
                  {"l1", settings.l1},
                  {"l2", settings.l2}};
  write_machine(settings.out, file);

  SettingsObject object = json_envelope(invocation, outcome.warnings, choice.because);
  object.add("kind", invocation.arguments[0]);
  object.add("method", choice.method);
  object.add("visible", machine.visible);
  object.add("hidden", machine.hidden);
  object.add("weights", machine.edges());
  object.add("rows", data.rows());
  object.add("iterations", result.summary.iterations);
  object.add("ended", result.summary.ended);
  object.add("objective", result.objective);
  object.add_raw("objective_trace", json_array(result.summary.objective));
  object.add_raw("objective_iterations", json_array(result.summary.iteration));
  object.add_raw("held_out_log_mmd_trace", json_array(result.summary.log_mmd));
  object.add("log_mmd_squared", outcome.log_mmd);
  object.add("out", settings.out);
  object.add("seconds", outcome.seconds);
  if (!settings.report.empty()) write_file(settings.report, page(invocation, outcome, object.text()));
  print_warnings(settings.quiet, outcome.warnings);
  if (settings.json) {
    print_json(object);
    return 0;
  }
  if (!choice.because.empty()) print_text(fmt::format("method {}: {}\n", choice.method, choice.because));
  print_text(fmt::format("{} of {} visible and {} hidden variables, {} weights, from {} rows\n",
                         invocation.arguments[0], machine.visible, machine.hidden, machine.edges(),
                         data.rows()));
  print_text(fmt::format("{} iterations in {:.2f} s ({}); {} {:.5g}\n", result.summary.iterations,
                         outcome.seconds, result.summary.ended, result.objective,
                         result.summary.objective.empty() ? 0.0 : result.summary.objective.back()));
  print_text(fmt::format("samples against {}: log MMD^2 {:.3f}\nwritten to {}\n",
                         split.held_out.empty() ? "the data" : "held-out rows", outcome.log_mmd,
                         settings.out));
  return 0;
}

}  // namespace drover::app
