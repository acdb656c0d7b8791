#include "drover/tag/crf_objective.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/parallel.hpp"
#include "drover/tag/crf_rows.hpp"

namespace drover {

namespace {

constexpr std::size_t most_blocks = 64;
constexpr std::size_t rows_per_task = 256;

template <class F>
void over_rows(std::size_t first, std::size_t last, F&& f) {
  parallel_for(IndexRange(first, last, rows_per_task),
               [&](const IndexRange& range) { f(range.begin(), range.end()); });
}

}  // namespace

template <class Real>
CrfObjective<Real>::CrfObjective(const CrfData& data, const FeatureRows& features, std::size_t labels,
                                 const CrfPenalties& options)
    : data_(data),
      features_(features),
      labels_(labels),
      stride_(label_stride(labels)),
      width_(options.l1_scaling || labels == 1 ? labels : labels - 1),
      options_(options),
      tokens_of_bundle_(tokens_of_bundles(data)),
      bundles_of_row_(invert(data.rows_of_bundle, features.rows())) {
  for (std::uint32_t sharing : features.sharing) {
    const double scale = options.l1_scaling ? 1.0 / sharing : 1.0 / std::sqrt(static_cast<double>(sharing));
    scale_.push_back(static_cast<float>(scale));
    penalty_.push_back(static_cast<float>(options.l2 * sharing * scale * scale));
  }
  const std::size_t share = data.tokens / most_blocks + 1;
  for (std::size_t s = 0; s < data.sentence_end.size();) {
    const std::size_t first = s, begin = data.sentence_begin(s);
    while (s < data.sentence_end.size() && data.sentence_end[s] - begin < share) ++s;
    if (s < data.sentence_end.size()) ++s;
    blocks_.push_back({first, s});
  }
  weights_.resize(features.rows() * stride_);
  rows_.resize(data.bundles() * stride_);
  difference_.resize(data.tokens * stride_);
  block_pairs_.resize(blocks_.size() * labels * stride_);
  block_loss_.resize(blocks_.size());
}

template <class Real>
template <class To>
void CrfObjective<Real>::expand(std::span<const double> v, std::size_t first, std::size_t last,
                                To* out) const {
  const double root = std::sqrt(static_cast<double>(labels_)), d = 1 / root;
  const double c = width_ < labels_ ? (1 - d) / static_cast<double>(width_) : 0;
  for (std::size_t r = first; r < last; ++r) {
    const double* const u = v.data() + r * width_;
    To* const w = out + r * stride_;
    const auto scale = static_cast<double>(scale_[r]);
    double sum = 0;
    if (width_ < labels_)
      for (std::size_t k = 0; k < width_; ++k) sum += u[k];
    for (std::size_t k = 0; k < width_; ++k) w[k] = static_cast<To>(scale * (u[k] - c * sum));
    if (width_ < labels_) w[width_] = static_cast<To>(-scale * d * sum);
  }
}

template <class Real>
double CrfObjective<Real>::contract(std::span<const double> v, std::size_t first, std::size_t last,
                                    const double* slopes, double* gradient) const {
  const double root = std::sqrt(static_cast<double>(labels_)), d = 1 / root;
  const double c = width_ < labels_ ? (1 - d) / static_cast<double>(width_) : 0;
  double cost = 0;
  for (std::size_t r = first; r < last; ++r) {
    const double* const u = v.data() + r * width_;
    const double* const slope = slopes + (r - first) * stride_;
    double* const out = gradient + r * width_;
    const auto scale = static_cast<double>(scale_[r]), penalty = static_cast<double>(penalty_[r]);
    double common = 0, squares = 0;
    if (width_ < labels_) {
      for (std::size_t k = 0; k < width_; ++k) common += slope[k];
      common = c * common + d * slope[width_];
    }
    for (std::size_t k = 0; k < width_; ++k) {
      out[k] = scale * (slope[k] - common) + penalty * u[k];
      squares += u[k] * u[k];
    }
    cost += penalty / 2 * squares;
  }
  return cost;
}

template <class Real>
CrfWeights CrfObjective<Real>::weights(std::span<const double> v) const {
  CrfWeights result;
  result.rows.assign(features_.rows() * stride_, 0.0F);
  expand(v, 0, features_.rows(), result.rows.data());
  const auto transitions = v.subspan(features_.rows() * width_);
  result.transitions.assign(transitions.begin(), transitions.end());
  return result;
}

template <class Real>
double CrfObjective<Real>::evaluate(std::span<const double> v, std::span<double> gradient) {
  assert(v.size() == size() && gradient.size() == size());
  const std::size_t feature_part = features_.rows() * width_, pair_count = labels_ * stride_;
  tables_.set(labels_, v.subspan(feature_part));
  over_rows(0, features_.rows(),
            [&](std::size_t first, std::size_t last) { expand(v, first, last, weights_.data()); });
  over_rows(0, data_.bundles(), [&](std::size_t first, std::size_t last) {
    weighted_rows(data_.rows_of_bundle, weights_.data(), stride_, first, last, rows_.data());
  });

  std::fill(block_pairs_.begin(), block_pairs_.end(), 0.0);
  const ChainJob<Real> job{&tables_,          rows_.data(),       data_.bundle.data(),
                           data_.groups,      data_.label.data(), data_.sentence_end.data(),
                           difference_.data()};
  tbb::enumerable_thread_specific<ChainScratch<Real>> scratch;
  parallel_for(std::size_t{0}, blocks_.size(), [&](std::size_t b) {
    block_loss_[b] = chain_gradient(job, blocks_[b].first, blocks_[b].last, scratch.local(),
                                    block_pairs_.data() + b * pair_count);
  });

  over_rows(1, data_.bundles(), [&](std::size_t first, std::size_t last) {
    summed_rows(tokens_of_bundle_, difference_.data(), stride_, first, last, rows_.data());
  });
  const std::size_t parts = (features_.rows() + rows_per_task - 1) / rows_per_task;
  std::vector<double> cost(parts);
  parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    const std::size_t first = part * rows_per_task, last = std::min(features_.rows(), first + rows_per_task);
    std::vector<double> slopes((last - first) * stride_);
    weighted_rows_in_double(bundles_of_row_, rows_.data(), stride_, first, last, slopes.data());
    cost[part] = contract(v, first, last, slopes.data(), gradient.data());
  });

  double total = 0;
  for (double loss : block_loss_) total += loss;
  for (double part : cost) total += part;
  for (std::size_t k = 0; k < pair_count; ++k) {
    double& slope = gradient[feature_part + k];
    slope = 0;
    if (!options_.transitions) continue;
    for (std::size_t b = 0; b < blocks_.size(); ++b) slope += block_pairs_[b * pair_count + k];
    slope += options_.l2 * v[feature_part + k];
    total += options_.l2 / 2 * v[feature_part + k] * v[feature_part + k];
  }
  return total;
}

template class CrfObjective<float>;
template class CrfObjective<double>;

void BundleScores::set(const CrfWeights& weights) {
  const std::size_t stride = label_stride(labels_);
  tables_.set(labels_, weights.transitions);
  rows_.resize(data_.bundles() * stride);
  over_rows(0, data_.bundles(), [&](std::size_t first, std::size_t last) {
    weighted_rows(data_.rows_of_bundle, weights.rows.data(), stride, first, last, rows_.data());
  });
}

void BundleScores::viterbi(std::span<LabelId> labels) const {
  const ChainJob<float> job{
      &tables_, rows_.data(), data_.bundle.data(), data_.groups, nullptr, data_.sentence_end.data(), nullptr};
  parallel_for(IndexRange(0, data_.sentence_end.size(), 64), [&](const IndexRange& range) {
    std::vector<float> scores;
    std::vector<std::uint16_t> back;
    for (std::size_t s = range.begin(); s < range.end(); ++s) {
      const std::size_t begin = data_.sentence_begin(s), end = data_.sentence_end[s];
      scores.resize((end - begin) * tables_.stride);
      chain_scores(job, begin, end, scores.data());
      chain_viterbi(tables_, scores.data(), end - begin, back, labels.subspan(begin, end - begin));
    }
  });
}

}  // namespace drover
