#include "drover/machine/fit.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "drover/core/parallel.hpp"
#include "drover/core/random.hpp"
#include "drover/diagnose/mmd.hpp"

namespace drover {

namespace {

constexpr std::size_t most_points = 2000;   ///< of the objective's trace
constexpr std::size_t shown_at_checks = 8;  ///< samples

/// The rows of the data in a new order for every pass.
class Minibatches {
 public:
  Minibatches(std::size_t rows, std::uint32_t batch, std::uint64_t seed)
      : order_(rows), batch_(batch == 0 ? rows : std::min<std::size_t>(batch, rows)), seed_(seed) {
    std::iota(order_.begin(), order_.end(), 0U);
  }

  std::span<const std::uint32_t> next() {
    if (batch_ == order_.size()) return order_;
    if (at_ + batch_ > order_.size() || pass_ == 0) shuffle();
    const std::span<const std::uint32_t> rows(order_.data() + at_, batch_);
    at_ += batch_;
    return rows;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(order_);
    archive(at_);
    archive(pass_);
  }

 private:
  void shuffle() {
    RandomSequence random(seed_, Stream::order, ++pass_);
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(static_cast<std::uint32_t>(i))]);
    at_ = 0;
  }
  std::vector<std::uint32_t> order_;
  std::size_t batch_, at_ = 0;
  std::uint64_t seed_;
  std::uint32_t pass_ = 0;
};

/// Notes points and drops every second one when there are too many.
class ThinnedTrace {
 public:
  void add(std::uint64_t iteration, double value, FitSummary& summary) {
    if (iteration % step_ != 0) return;
    summary.iteration.push_back(static_cast<double>(iteration));
    summary.objective.push_back(value);
    if (summary.iteration.size() < most_points) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < summary.iteration.size(); i += 2, ++kept) {
      summary.iteration[kept] = summary.iteration[i];
      summary.objective[kept] = summary.objective[i];
    }
    summary.iteration.resize(kept);
    summary.objective.resize(kept);
    step_ *= 2;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(step_);
  }

 private:
  std::uint64_t step_ = 1;
};

// By the bits of the exponent, which compilers turn into vector code; piece by piece on any thread.
bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t exponent = 0x7f800000;
  return parallel_max(IndexRange(0, numbers.size(), 32768), 0, [&](const IndexRange& range) {
           std::uint32_t largest = 0;
           for (const float x : numbers.subspan(range.begin(), range.size()))
             largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & exponent);
           return largest == exponent ? 1.0 : 0.0;
         }) == 0;
}

// Of rank 0, so that all take the same steps.
double common_time_fraction(const RunControl& control) {
  double fraction = control.time_fraction();
  if (control.ranks().size() == 1 || !control.has_time_limit()) return fraction;
  std::string bytes(reinterpret_cast<const char*>(&fraction), sizeof(fraction));
  control.ranks().broadcast(bytes);
  std::memcpy(&fraction, bytes.data(), sizeof(fraction));
  return fraction;
}

}  // namespace

void initialise(BinaryMachine& machine, const TrainingData& data, double weight_deviation,
                std::uint64_t seed) {
  RandomSequence random(seed, Stream::learn);
  for (float& w : machine.weights) w = static_cast<float>(weight_deviation * random.normal());
  std::fill(machine.biases.begin(), machine.biases.end(), 0.0F);
  std::vector<double> ones(data.variables, 0.0);
  for (std::size_t k = 0; k < data.values.size(); ++k) ones[k % data.variables] += data.values[k];
  for (std::size_t i = 0; i < machine.visible; ++i) {
    // One more of each: a variable that is always 0 gets a finite bias.
    const double p = (ones[i] + 1) / (static_cast<double>(data.rows()) + 2);
    machine.biases[i] = static_cast<float>(std::log(p / (1 - p)));
  }
}

std::vector<Value> visible_rows(const BinaryMachine& machine, const BitBatch& samples) {
  std::vector<Value> visible(samples.rows * machine.visible);
  for (std::size_t r = 0; r < samples.rows; ++r)
    for (std::size_t v = 0; v < machine.visible; ++v) visible[r * machine.visible + v] = samples.get(r, v);
  return visible;
}

double log_mmd_of(const BinaryMachine& machine, const BitBatch& samples, std::span<const Value> rows) {
  const std::vector<std::uint32_t> binary(machine.visible, 2);
  const double mmd =
      squared_mmd(pack_samples(visible_rows(machine, samples), binary), pack_samples(rows, binary));
  return mmd > 0 ? std::log(mmd) : -std::numeric_limits<double>::infinity();
}

FitSummary fit(BinaryMachine& machine, const TrainingData& data, GradientSource& source,
               const FitOptions& options, const RunControl& control, std::span<const Value> held_out,
               const FitSamples& samples, const FitLikelihoods& likelihoods) {
  assert(data.variables == machine.visible && data.rows() > 0);
  FitSummary summary;
  summary.ended = "all iterations done";
  Minibatches minibatches(data.rows(), options.batch, options.seed);
  UpdateRule weight_rule(options.update, machine.edges()), bias_rule(options.update, machine.variables());
  ThinnedTrace trace;
  Statistics gradient;
  BinaryMachine best;
  double best_score = std::numeric_limits<double>::infinity();
  std::uint32_t since_best = 0;
  // All that the next iteration looks at.
  const auto visit = [&](auto& archive) {
    archive(machine.weights);
    archive(machine.biases);
    weight_rule.visit(archive);
    bias_rule.visit(archive);
    minibatches.visit(archive);
    trace.visit(archive);
    summary.visit(archive);
    archive(best.weights);
    archive(best.biases);
    archive(best_score);
    archive(since_best);
    if constexpr (std::is_same_v<decltype(archive), SaveArchive&>)
      source.save(archive);
    else
      source.load(archive);
  };
  if (restore(options.keeper, visit) && !best.biases.empty()) {
    BinaryMachine kept = machine;
    kept.weights = std::move(best.weights);
    kept.biases = std::move(best.biases);
    best = std::move(kept);
  }
  // Comes before the next step and not after the last one, so that a run which was ended in the midst of it begins
  // with it when it goes on.
  const auto is_check_due = [&] {
    return options.check_every > 0 && !held_out.empty() && summary.iterations > 0 &&
           summary.iterations % options.check_every == 0 &&
           (summary.check_iteration.empty() ||
            summary.check_iteration.back() != static_cast<double>(summary.iterations));
  };
  const auto check = [&] {
    const std::uint64_t last = summary.iterations - 1;
    const BitBatch drawn = samples(machine, last);
    const double score = log_mmd_of(machine, drawn, held_out);
    std::optional<FitLikelihood> found;
    if (likelihoods) found = likelihoods(machine, last);
    summary.check_iteration.push_back(static_cast<double>(summary.iterations));
    std::vector<Value> shown = visible_rows(machine, drawn);
    shown.resize(std::min(shown.size(), shown_at_checks * machine.visible));
    summary.check_samples.push_back(std::move(shown));
    if (found) {
      summary.training_log_likelihood.push_back(found->training);
      summary.held_out_log_likelihood.push_back(found->held_out);
    }
    summary.log_mmd.push_back(score);
    since_best = score < best_score ? 0 : since_best + 1;
    if (since_best > 0) return;
    best_score = score;
    best = machine;
  };
  const auto stop_early = [&] {
    summary.ended = "stopped early";
    summary.stopped = true;
  };
  Ballot ballot(control.ranks());
  while (true) {
    if (is_check_due()) {
      try {
        check();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::stopped && error.kind() != ErrorKind::interrupted) throw;
        if (summary.iterations < options.iterations) stop_early();
        break;
      }
      if (options.patience > 0 && since_best >= options.patience) {
        summary.ended = "held-out samples no longer came closer; the best parameters are kept";
        break;
      }
    }
    if (summary.iterations >= options.iterations) break;
    const std::uint64_t t = summary.iterations;
    const double objective = source.gradient(machine, minibatches.next(), t, gradient);
    trace.add(t, objective, summary);
    const double done = static_cast<double>(t) / static_cast<double>(options.iterations);
    const double share = options.falling ? 1 - std::max(done, common_time_fraction(control)) : 1;
    weight_rule.step(machine.weights, gradient.weights, true, share);
    bias_rule.step(machine.biases, gradient.biases, false, share);
    ++summary.iterations;
    if (!std::isfinite(objective) || !all_finite(machine.weights) || !all_finite(machine.biases)) {
      summary.ended = "the parameters are no longer finite: lower the rate";
      summary.diverged = true;
      break;
    }
    keep(options.keeper, visit, summary.iterations == options.iterations || control.should_stop());
    control.report(
        {"learning", static_cast<double>(t + 1) / static_cast<double>(options.iterations), t + 1, 0, 0});
    if (ballot.next(control.should_stop() ? 1 : 0) != 0 && summary.iterations < options.iterations) {
      stop_early();
      break;
    }
  }
  if (options.patience > 0 && !best.biases.empty()) machine = std::move(best);
  return summary;
}

}  // namespace drover
