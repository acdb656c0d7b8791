#include "drover/machine/gradient.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "drover/compile/spin_graph.hpp"
#include "drover/core/all_gather.hpp"
#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"
#include "drover/machine/rbm_batch.hpp"

namespace drover {

namespace {

/// Piece by piece on any thread, each in eight parts that the processor adds side by side; the order of
/// additions is fixed.
double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t parts = 8, piece = 32768;
  std::vector<double> pieces((values.size() + piece - 1) / piece);
  parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t p) {
    const auto part = values.subspan(p * piece, std::min(piece, values.size() - p * piece));
    std::array<double, parts> sums{};
    std::size_t i = 0;
    for (; i + parts <= part.size(); i += parts)
      for (std::size_t k = 0; k < parts; ++k) sums[k] += static_cast<double>(part[i + k]) * part[i + k];
    for (; i < part.size(); ++i) sums[0] += static_cast<double>(part[i]) * part[i];
    pieces[p] = std::accumulate(sums.begin(), sums.end(), 0.0);
  });
  return std::accumulate(pieces.begin(), pieces.end(), 0.0);
}

double root_mean_square(const Statistics& gradient) {
  const double sum = sum_of_squares(gradient.weights) + sum_of_squares(gradient.biases);
  const auto count = static_cast<double>(gradient.weights.size() + gradient.biases.size());
  return count > 0 ? std::sqrt(sum / count) : 0;
}

/// Each rank has the numbers begin .. end, in the order of ranks; now all have all of them.
void share_floats(const Ranks& ranks, std::size_t begin, std::size_t end, std::vector<float>& numbers) {
  if (ranks.size() == 1) return;
  std::size_t at = 0;
  for (const std::string& part : all_gather(
           ranks, {reinterpret_cast<const char*>(numbers.data() + begin), (end - begin) * sizeof(float)})) {
    if (!part.empty()) std::memcpy(numbers.data() + at, part.data(), part.size());
    at += part.size() / sizeof(float);
  }
}

class SampledGradient : public GradientSource {
 public:
  SampledGradient(const TrainingData& data, std::unique_ptr<MachineSampler> sampler,
                  std::uint32_t clamped_sweeps, std::uint64_t seed, const Ranks& ranks)
      : data_(data),
        sampler_(std::move(sampler)),
        clamped_sweeps_(clamped_sweeps),
        seed_(seed),
        ranks_(ranks) {}

  double gradient(const BinaryMachine& machine, std::span<const std::uint32_t> rows, std::uint64_t iteration,
                  Statistics& gradient) override {
    const std::size_t begin = part_begin(machine.edges(), ranks_.rank(), ranks_.size()),
                      end = part_begin(machine.edges(), ranks_.rank() + 1, ranks_.size());
    if (machine.kind == MachineKind::rbm) {
      RbmBatch batch(machine);
      ActiveUnits v;
      AlignedVector<float> probabilities;
      select_rows(data_.values, data_.variables, rows, v);
      batch.hidden_probabilities(v, probabilities);
      gradient = {};
      batch.add(v, probabilities, 1.0F / static_cast<float>(rows.size()), gradient);
    } else {
      const BitBatch data = bit_batch(data_.values, data_.variables, rows);
      if (machine.hidden == 0) {
        measure(machine, data, begin, end, gradient);
      } else {
        BitBatch clamped;
        draw_clamped(machine, data, clamped_sweeps_, seed_, iteration, ranks_, clamped);
        measure(machine, clamped, begin, end, gradient);
      }
    }
    BitBatch states;
    sampler_->draw(machine, iteration, states);
    measure(machine, states, begin, end, model_);
    for (std::size_t e = 0; e < gradient.weights.size(); ++e) gradient.weights[e] -= model_.weights[e];
    for (std::size_t i = 0; i < gradient.biases.size(); ++i) gradient.biases[i] -= model_.biases[i];
    share_floats(ranks_, begin, end, gradient.weights);
    return root_mean_square(gradient);
  }
  std::string_view objective() const override { return moment_gap; }

  void save(SaveArchive& archive) override { sampler_->save(archive); }
  void load(LoadArchive& archive) override { sampler_->load(archive); }

 private:
  TrainingData data_;
  std::unique_ptr<MachineSampler> sampler_;
  std::uint32_t clamped_sweeps_;
  std::uint64_t seed_;
  const Ranks& ranks_;
  Statistics model_;
};

class BlockGibbsGradient : public GradientSource {
 public:
  BlockGibbsGradient(const TrainingData& data, const MachineSamplerOptions& options)
      : data_(data), options_(options), visible_means_(data.variables, 0.0F) {
    std::vector<double> ones(data.variables, 0.0);
    for (std::size_t k = 0; k < data.values.size(); ++k) ones[k % data.variables] += data.values[k];
    for (std::size_t i = 0; i < ones.size(); ++i)
      visible_means_[i] = static_cast<float>(ones[i] / static_cast<double>(data.rows()));
  }

  double gradient(const BinaryMachine& machine, std::span<const std::uint32_t> rows, std::uint64_t iteration,
                  Statistics& gradient) override {
    if (!batch_) batch_ = std::make_unique<RbmBatch>(machine, *options_.ranks);
    batch_->set_parameters(machine);
    gradient.weights.clear();
    gradient.biases.clear();
    select_rows(data_.values, data_.variables, rows, visible_);
    batch_->hidden_probabilities(visible_, probabilities_);
    batch_->add(visible_, probabilities_, 1.0F / static_cast<float>(rows.size()), gradient);
    if (options_.centred) {
      batch_->share_hidden(std::span(gradient.biases).subspan(machine.visible));
      follow_hidden_means(std::span(gradient.biases).subspan(machine.visible));
    }

    const std::uint64_t sweep = iteration * options_.sweeps;
    if (!options_.persistent) {
      batch_->draw_hidden(visible_, options_.seed, 0, sweep, hidden_);
    } else if (hidden_.rows() == 0) {  // chains begin with every visible unit off
      ActiveUnits nothing;
      nothing.resize(options_.chains, machine.visible);
      batch_->draw_hidden(nothing, options_.seed, 0, sweep, hidden_);
    }
    ActiveUnits& chains = chains_;
    for (std::uint32_t step = 0; step < options_.sweeps; ++step) {
      if (step > 0) batch_->draw_hidden(chains, options_.seed, 0, sweep + step, hidden_);
      batch_->draw_visible(hidden_, options_.seed, 0, sweep + step, chains);
    }
    batch_->hidden_probabilities(chains, probabilities_, options_.seed, 0, sweep + options_.sweeps, hidden_);
    batch_->add(chains, probabilities_, -1.0F / static_cast<float>(chains.rows()), gradient);
    batch_->share(gradient);
    if (options_.centred) centre(gradient);
    return root_mean_square(gradient);
  }
  std::string_view objective() const override { return moment_gap; }

  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    hidden_.visit(archive);
    archive(hidden_means_);
  }

  void follow_hidden_means(std::span<const float> of_batch) {
    constexpr float follow = 0.01F;
    if (hidden_means_.empty()) hidden_means_.assign(of_batch.begin(), of_batch.end());
    for (std::size_t j = 0; j < hidden_means_.size(); ++j)
      hidden_means_[j] += follow * (of_batch[j] - hidden_means_[j]);
  }

  void centre(Statistics& gradient) const {
    const std::size_t visible = visible_means_.size(), hidden = hidden_means_.size();
    float *const weights = gradient.weights.data(), *const b = gradient.biases.data();
    const float *const m = visible_means_.data(), *const n = hidden_means_.data(), *const c = b + visible;
    // Some rows at a time on any thread; what they take from the hidden biases is added in their order.
    constexpr std::size_t piece = 64, parts = 16;
    std::vector<float> back((visible + piece - 1) / piece * hidden, 0.0F);
    parallel_for(std::size_t{0}, back.size() / std::max<std::size_t>(1, hidden), [&](std::size_t p) {
      float* const __restrict taken = back.data() + p * hidden;
      for (std::size_t i = p * piece; i < std::min(visible, (p + 1) * piece); ++i) {
        float* const __restrict row = weights + i * hidden;
        const float db = b[i], mi = m[i];
        std::array<float, parts> sums{};
        std::size_t j = 0;
        for (; j + parts <= hidden; j += parts)
          for (std::size_t k = 0; k < parts; ++k) {
            const float weight = row[j + k] - (mi * c[j + k] + db * n[j + k]);
            row[j + k] = weight;
            sums[k] += weight * n[j + k];
            taken[j + k] += mi * weight;
          }
        for (; j < hidden; ++j) {
          row[j] -= mi * c[j] + db * n[j];
          sums[0] += row[j] * n[j];
          taken[j] += mi * row[j];
        }
        b[i] -= std::accumulate(sums.begin(), sums.end(), 0.0F);
      }
    });
    for (std::size_t first = 0; first < back.size(); first += hidden)
      for (std::size_t j = 0; j < hidden; ++j) b[visible + j] -= back[first + j];
  }

  TrainingData data_;
  MachineSamplerOptions options_;
  std::vector<float> visible_means_, hidden_means_;
  std::unique_ptr<RbmBatch> batch_;
  ActiveUnits visible_, hidden_, chains_;
  AlignedVector<float> probabilities_;
};

/// Visits all 2^n states in the order of a Gray code, so that each differs from the last in one variable.
template <class Visit>
void visit_states(const SpinGraph& graph, Visit visit) {
  const std::size_t n = graph.size();
  std::vector<std::uint8_t> x(n, 0);
  double score = 0;
  visit(std::uint64_t{0}, score);
  for (std::uint64_t t = 1; t < std::uint64_t{1} << n; ++t) {
    const auto i = static_cast<std::size_t>(std::countr_zero(t));
    double field = graph.bias[i];
    const auto neighbours = graph.neighbours(i);
    const auto weights = graph.weights(i);
    for (std::size_t k = 0; k < neighbours.size(); ++k) field += x[neighbours[k]] ? weights[k] : 0.0;
    score += x[i] ? -field : field;
    x[i] ^= 1;
    visit(t ^ (t >> 1), score);
  }
}

class ExactGradient : public GradientSource {
 public:
  explicit ExactGradient(const TrainingData& data) : data_(data) {}

  double gradient(const BinaryMachine& machine, std::span<const std::uint32_t> rows, std::uint64_t,
                  Statistics& gradient) override {
    assert(machine.variables() <= most_exact_variables);
    const SpinGraph graph = spin_graph(machine);
    const std::size_t n = machine.variables();
    std::vector<double> scores(std::size_t{1} << n);  // by state, variable i is bit i
    visit_states(graph, [&](std::uint64_t state, double score) { scores[state] = score; });

    // Visible rows are few: every state of the hidden variables above each.
    const std::uint64_t hidden_states = std::uint64_t{1} << machine.hidden;
    std::vector<double> weight(scores.size(), 0.0);  // data minus model
    const double log_z = log_sum_exp(scores);
    double likelihood = 0;
    std::vector<double> part(hidden_states);
    for (std::uint32_t row : rows) {
      std::uint64_t v = 0;
      for (std::size_t i = 0; i < machine.visible; ++i)
        v |= static_cast<std::uint64_t>(data_.values[std::size_t{row} * data_.variables + i] & 1U) << i;
      for (std::uint64_t h = 0; h < hidden_states; ++h) part[h] = scores[v | h << machine.visible];
      const double total = log_sum_exp(part);
      likelihood += (total - log_z) / static_cast<double>(rows.size());
      for (std::uint64_t h = 0; h < hidden_states; ++h)
        weight[v | h << machine.visible] += std::exp(part[h] - total) / static_cast<double>(rows.size());
    }
    for (std::size_t s = 0; s < scores.size(); ++s) weight[s] -= std::exp(scores[s] - log_z);

    std::vector<double> biases(n, 0.0), pairs(n * n, 0.0);
    for (std::uint64_t s = 0; s < scores.size(); ++s)
      for (std::uint64_t a = s; a != 0; a &= a - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(a));
        biases[i] += weight[s];
        for (std::uint64_t b = a & (a - 1); b != 0; b &= b - 1)
          pairs[i * n + static_cast<std::size_t>(std::countr_zero(b))] += weight[s];
      }
    gradient.biases.assign(biases.begin(), biases.end());
    gradient.weights.resize(machine.edges());
    for (std::size_t e = 0; e < machine.edges(); ++e)
      gradient.weights[e] = static_cast<float>(pairs[machine.first[e] * n + machine.second[e]]);
    return likelihood;
  }
  std::string_view objective() const override { return "mean log likelihood"; }

 private:
  TrainingData data_;
};

}  // namespace

std::unique_ptr<GradientSource> sampled_gradient(const TrainingData& data,
                                                 std::unique_ptr<MachineSampler> sampler,
                                                 std::uint32_t clamped_sweeps, std::uint64_t seed,
                                                 const Ranks& ranks) {
  return std::make_unique<SampledGradient>(data, std::move(sampler), clamped_sweeps, seed, ranks);
}

std::unique_ptr<GradientSource> block_gibbs_gradient(const TrainingData& data,
                                                     const MachineSamplerOptions& options) {
  return std::make_unique<BlockGibbsGradient>(data, options);
}

std::unique_ptr<GradientSource> exact_gradient(const TrainingData& data) {
  return std::make_unique<ExactGradient>(data);
}

}  // namespace drover
