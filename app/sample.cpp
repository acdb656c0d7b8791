// drover sample: draws to a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "app/commands.hpp"
#include "app/page.hpp"
#include "app/task_run.hpp"
#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/io/draws.hpp"

namespace drover::app {

namespace {

// Hands draws of the free variables on to a file as draws of the whole model.
class FileConsumer : public DrawConsumer {
 public:
  FileConsumer(const Invocation& invocation, const Loaded& loaded)
      : invocation_(invocation), loaded_(loaded) {
    whole_ = loaded.graph.clamped_value;
  }
  void begin(std::uint32_t chains) override {
    DrawFileHeader header;
    header.chains = chains_ = chains;
    for (std::size_t v = 0; v < loaded_.model.variable_count(); ++v) {
      header.variable_names.push_back(loaded_.model.variable_name(static_cast<VariableId>(v)));
      header.max_cardinality = std::max(header.max_cardinality, loaded_.model.cardinalities[v]);
    }
    for (std::size_t e = 0; e < loaded_.evidence.size(); ++e) {
      header.evidence_names.push_back(loaded_.model.variable_name(loaded_.evidence.variables[e]));
      header.evidence_values.push_back(loaded_.evidence.values[e]);
    }
    header.metadata = json_envelope(invocation_, {}).text();
    writer_ = make_draw_writer(invocation_.settings.out, std::move(header));
  }
  void take(std::uint32_t chain, std::span<const Value> free_assignment, double log_score) override {
    for (std::size_t v = 0; v < free_assignment.size(); ++v)
      whole_[loaded_.graph.model_variable[v]] = free_assignment[v];
    writer_->append(chain, whole_, log_score);
  }
  /// Draws that --out already holds are kept: the file becomes what an uninterrupted run would have written.
  void resume(std::uint64_t draws) override {
    const std::string& out = invocation_.settings.out;
    if (draws == 0) return;
    if (!std::filesystem::exists(out)) {
      missing_ = draws;
      return;
    }
    const DrawFile earlier = read_draws(out);
    if (earlier.draws != draws || earlier.chains != chains_ || earlier.variables() != whole_.size() ||
        earlier.log_scores.size() != draws * chains_ ||
        std::holds_alternative<std::vector<double>>(earlier.values))
      throw Error(ErrorKind::usage,
                  fmt::format("--out {}: cannot be continued, it does not hold the {} of {} made before the "
                              "checkpoint; give another file",
                              out, counted(draws, "draw"), counted(chains_, "chain")));
    std::vector<Value> x(whole_.size());
    for (std::size_t row = 0; row < draws * chains_; ++row) {
      std::visit(
          [&](const auto& values) {
            for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(values[row * x.size() + v]);
          },
          earlier.values);
      writer_->append(row % chains_, x, earlier.log_scores[row]);
    }
  }
  /// Completes the file; `result` then speaks of the whole of it.
  void finish(SampleResult& result) {
    writer_->finish();
    result.draws = writer_->draws() * chains_;
    if (missing_ > 0)
      result.warnings.push_back(fmt::format("the {} of each chain made before the checkpoint {} not in {}",
                                            counted(missing_, "draw"), missing_ == 1 ? "is" : "are",
                                            invocation_.settings.out));
  }

 private:
  const Invocation& invocation_;
  const Loaded& loaded_;
  std::vector<Value> whole_;
  std::size_t chains_ = 0;
  std::uint64_t missing_ = 0;  ///< draws of each chain that an earlier run wrote elsewhere
  std::unique_ptr<DrawWriter> writer_;
};

}  // namespace

int run_sample(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  if (settings.out.empty())
    throw Error(ErrorKind::usage, "drover sample needs --out FILE (.npz, .csv, .csv.gz or .nc)");
  check_outputs(settings, {".npz", ".csv", ".csv.gz", ".nc"});
  const auto run = run_task(
      invocation, Task::sample,
      [&](const Method& method, const Problem& problem, const Monitor& monitor, const Loaded& loaded) {
        FileConsumer consumer(invocation, loaded);
        SampleResult result = method.sample(problem, monitor, consumer);
        consumer.finish(result);
        return result;
      });
  const SampleResult& result = run.result;

  JsonObject object = json_envelope(invocation, result.warnings, run.choice.because);
  object.add("method", std::string(run.choice.method->name));
  object.add("draws", result.draws);
  object.add("chains", result.chains);
  object.add("variables", run.loaded.model.variable_count());
  object.add("independent", result.independent);
  object.add("diagnostics", to_json(result.diagnostics));
  object.add("sweeps", result.sweeps);
  object.add("burn_in", result.burn_in);
  object.add("updates", result.updates);
  object.add("out", settings.out);
  if (!result.details.is_null()) object.add("details", result.details);
  object.add("seconds", run.seconds);
  const bool wants_text = deliver(
      invocation, result, object, [](const std::string&) {},  // the draws are there already
      [&](const std::string& json) {
        return sample_page(invocation, run.loaded, run.choice, result, run.seconds, json);
      });
  if (!wants_text) return 0;
  print_text(fmt::format("{} of {} from {} in {}\nmethod {}, {:.3f} s\n", counted(result.draws, "draw"),
                         counted(run.loaded.model.variable_count(), "variable"),
                         counted(result.chains, "chain"), settings.out, run.method_text(), run.seconds));
  if (result.independent)
    print_text(result.exact ? "the draws are exact and independent\n"
                            : "the draws are independent, of an approximation of the model\n");
  else
    print_text(fmt::format("largest R-hat {:.4f}, smallest ESS {:.0f}\n", result.diagnostics.rhat_max,
                           result.diagnostics.ess_min));
  return 0;
}

}  // namespace drover::app
