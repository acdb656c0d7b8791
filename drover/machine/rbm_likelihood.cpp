#include "drover/machine/rbm_likelihood.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"
#include "drover/machine/rbm_batch.hpp"

namespace drover {

namespace {

constexpr std::uint32_t chains_together = 16;

double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// fields_j = c_j + sum of the weights of the visible units that are on.
void hidden_fields(const BinaryMachine& machine, std::span<const std::uint32_t> on,
                   std::vector<float>& fields) {
  fields.assign(machine.biases.begin() + machine.visible, machine.biases.end());
  for (std::uint32_t i : on) {
    const float* weights = machine.weights.data() + std::size_t{i} * machine.hidden;
    for (std::size_t j = 0; j < fields.size(); ++j) fields[j] += weights[j];
  }
}

// The same machine with the roles of its sides exchanged.
BinaryMachine turned(const BinaryMachine& machine) {
  BinaryMachine result = restricted_machine(machine.hidden, machine.visible);
  for (std::size_t i = 0; i < machine.visible; ++i)
    for (std::size_t j = 0; j < machine.hidden; ++j)
      result.weights[j * machine.visible + i] = machine.weights[i * machine.hidden + j];
  std::copy(machine.biases.begin() + machine.visible, machine.biases.end(), result.biases.begin());
  std::copy_n(machine.biases.begin(), machine.visible, result.biases.begin() + machine.hidden);
  return result;
}

// The path: a tenth of the steps to beta 0.5, three tenths to 0.9, the others to 1: more the nearer to 1, where the
// distributions differ most.
double beta_of(std::uint64_t step, std::uint64_t steps) {
  const double t = static_cast<double>(step) / static_cast<double>(steps);
  if (t < 0.1) return 5 * t;
  if (t < 0.4) return 0.5 + (t - 0.1) * 4 / 3;
  return 0.9 + (t - 0.4) / 6;
}

// One batch of anneals. False when the control ended it.
class Anneals {
 public:
  Anneals(const BinaryMachine& machine, std::span<const double> base, std::uint32_t first_chain,
          std::uint32_t chains, std::uint64_t seed)
      : machine_(machine),
        base_(base),
        first_chain_(first_chain),
        seed_(seed),
        tempered_(machine),
        batch_(machine) {
    v_.resize(chains, machine.visible);
    log_weights_.assign(chains, 0.0);
  }

  bool run(std::uint64_t steps, const RunControl& control) {
    h_.resize(v_.rows(), machine_.hidden);
    std::ranges::fill(h_.count, 0U);
    set_temperature(0);
    batch_.draw_visible(h_, seed_, first_chain_, 0, v_);  // no weights: from the base
    for (std::uint64_t step = 1; step <= steps; ++step) {
      if (control.should_stop()) return false;
      const double before = beta_of(step - 1, steps), now = step == steps ? 1 : beta_of(step, steps);
      for (std::size_t r = 0; r < v_.rows(); ++r) log_weights_[r] += increment(v_.row(r), before, now);
      if (step == steps) break;
      set_temperature(now);
      batch_.draw_hidden(v_, seed_, first_chain_, 2 * step, h_);
      batch_.draw_visible(h_, seed_, first_chain_, 2 * step + 1, v_);
    }
    return true;
  }
  const std::vector<double>& log_weights() const { return log_weights_; }

 private:
  void set_temperature(double beta) {
    const auto scale = static_cast<float>(beta);
    for (std::size_t e = 0; e < machine_.edges(); ++e) tempered_.weights[e] = scale * machine_.weights[e];
    for (std::size_t u = 0; u < machine_.variables(); ++u)
      tempered_.biases[u] = static_cast<float>(beta * machine_.biases[u] +
                                               (u < machine_.visible ? (1 - beta) * base_[u] : 0.0));
    batch_.set_parameters(tempered_);
  }

  double increment(std::span<const std::uint32_t> on, double before, double now) {
    double sum = 0;
    for (std::uint32_t i : on) sum += (now - before) * (machine_.biases[i] - base_[i]);
    hidden_fields(machine_, on, fields_);
    for (float field : fields_) sum += softplus(now * field) - softplus(before * field);
    return sum;
  }

  const BinaryMachine& machine_;
  std::span<const double> base_;
  std::uint32_t first_chain_;
  std::uint64_t seed_;
  BinaryMachine tempered_;
  RbmBatch batch_;
  ActiveUnits v_, h_;
  std::vector<float> fields_;
  std::vector<double> log_weights_;
};

}  // namespace

std::vector<double> rbm_log_scores(const BinaryMachine& machine, std::span<const Value> rows,
                                   const RunControl& control) {
  assert(machine.kind == MachineKind::rbm);
  const std::size_t n = machine.visible, count = n == 0 ? 0 : rows.size() / n;
  std::vector<double> scores(count);
  parallel_for(IndexRange(0, count, 64), [&](const IndexRange& range) {
    fail_if_stopped(control, "scoring");
    std::vector<std::uint32_t> on;
    std::vector<float> fields;
    for (std::size_t r = range.begin(); r < range.end(); ++r) {
      on.clear();
      for (std::uint32_t i = 0; i < n; ++i)
        if (rows[r * n + i] != 0) on.push_back(i);
      double sum = 0;
      for (std::uint32_t i : on) sum += machine.biases[i];
      hidden_fields(machine, on, fields);
      for (float field : fields) sum += softplus(field);
      scores[r] = sum;
    }
  });
  return scores;
}

double rbm_exact_log_z(const BinaryMachine& machine) {
  if (machine.visible > machine.hidden) return rbm_exact_log_z(turned(machine));
  assert(machine.visible <= most_exact_units);
  const std::size_t n = machine.visible;
  std::vector<Value> rows;
  for (std::uint32_t s = 0; s < std::uint32_t{1} << n; ++s)
    for (std::size_t i = 0; i < n; ++i) rows.push_back(static_cast<Value>(s >> i & 1));
  if (n == 0) {
    double sum = 0;
    for (float bias : machine.biases) sum += softplus(bias);
    return sum;
  }
  return log_sum_exp(rbm_log_scores(machine, rows));
}

ImportanceResult rbm_log_z(const BinaryMachine& machine, std::span<const double> rates, std::uint32_t chains,
                           std::uint64_t steps, std::uint64_t seed, const RunControl& control) {
  assert(rates.size() == machine.visible);
  std::vector<double> base;
  double log_base = machine.hidden * std::log(2.0);
  for (double rate : rates) {
    const double p = std::clamp(rate, 0.01, 0.99);
    base.push_back(std::log(p / (1 - p)));
    log_base += softplus(base.back());
  }
  const std::uint32_t batches = (chains + chains_together - 1) / chains_together;
  std::vector<std::vector<double>> found(batches);
  parallel_for(IndexRange(0, batches), [&](const IndexRange& range) {
    for (std::size_t b = range.begin(); b < range.end(); ++b) {
      const auto first = static_cast<std::uint32_t>(b) * chains_together;
      Anneals anneals(machine, base, first, std::min(chains_together, chains - first), seed);
      if (anneals.run(steps, control)) found[b] = anneals.log_weights();
    }
  });
  std::vector<double> log_weights;
  for (const auto& batch : found) log_weights.insert(log_weights.end(), batch.begin(), batch.end());
  if (log_weights.size() < 2) fail_stopped(control, "annealed importance sampling");
  return importance_estimate(std::move(log_weights), log_base, seed);
}

}  // namespace drover
