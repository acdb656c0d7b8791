#include "drover/learn/crf_objective.hpp"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/learn/crf_rows.hpp"

namespace drover {

namespace {

constexpr std::size_t most_blocks = 64;
constexpr std::size_t rows_per_task = 1024;

template <class F>
void over_rows(std::size_t first, std::size_t last, F&& f) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(first, last, rows_per_task),
                    [&](const tbb::blocked_range<std::size_t>& range) { f(range.begin(), range.end()); });
}

}  // namespace

template <class Real>
CrfObjective<Real>::CrfObjective(const CrfData& data, const FeatureRows& features, std::size_t labels,
                                 const CrfPenalties& options)
    : data_(data),
      features_(features),
      labels_(labels),
      stride_(label_stride(labels)),
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
  rows_.resize(data.bundles() * stride_);
  difference_.resize(data.tokens * stride_);
  block_pairs_.resize(blocks_.size() * labels * stride_);
  block_loss_.resize(blocks_.size());
}

template <class Real>
double CrfObjective<Real>::evaluate(std::span<const double> v, std::span<double> gradient) {
  assert(v.size() == size() && gradient.size() == size());
  const std::size_t feature_part = features_.rows() * stride_, pair_count = labels_ * stride_;
  tables_.set(labels_, v.subspan(feature_part));
  over_rows(0, data_.bundles(), [&](std::size_t first, std::size_t last) {
    rows_from_parameters(data_.rows_of_bundle, v.data(), scale_.data(), stride_, first, last, rows_.data());
  });

  std::fill(block_pairs_.begin(), block_pairs_.end(), 0.0);
  const ChainJob<Real> job{&tables_,          rows_.data(),       data_.bundle.data(),
                           data_.groups,      data_.label.data(), data_.sentence_end.data(),
                           difference_.data()};
  tbb::enumerable_thread_specific<ChainScratch<Real>> scratch;
  tbb::parallel_for(std::size_t{0}, blocks_.size(), [&](std::size_t b) {
    block_loss_[b] = chain_gradient(job, blocks_[b].first, blocks_[b].last, scratch.local(),
                                    block_pairs_.data() + b * pair_count);
  });

  over_rows(1, data_.bundles(), [&](std::size_t first, std::size_t last) {
    rows_from_rows(tokens_of_bundle_, difference_.data(), stride_, first, last, rows_.data());
  });
  const std::size_t parts = (features_.rows() + rows_per_task - 1) / rows_per_task;
  std::vector<double> cost(parts);
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    cost[part] = gradient_from_rows(bundles_of_row_, rows_.data(), scale_.data(), penalty_.data(), v.data(),
                                    stride_, part * rows_per_task,
                                    std::min(features_.rows(), (part + 1) * rows_per_task), gradient.data());
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

void BundleScores::set(std::span<const double> v, std::span<const float> scale, std::size_t rows) {
  const std::size_t stride = label_stride(labels_);
  tables_.set(labels_, v.subspan(rows * stride));
  rows_.resize(data_.bundles() * stride);
  over_rows(0, data_.bundles(), [&](std::size_t first, std::size_t last) {
    rows_from_parameters(data_.rows_of_bundle, v.data(), scale.data(), stride, first, last, rows_.data());
  });
}

ChainJob<float> BundleScores::job() const {
  return {&tables_, rows_.data(), data_.bundle.data(), data_.groups, nullptr, data_.sentence_end.data(),
          nullptr};
}

void BundleScores::scores(std::size_t begin, std::size_t end, float* out) const {
  chain_scores(job(), begin, end, out);
}

void BundleScores::viterbi(std::span<LabelId> labels) const {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, data_.sentence_end.size(), 64),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      std::vector<float> scores;
                      std::vector<std::uint16_t> back;
                      for (std::size_t s = range.begin(); s < range.end(); ++s) {
                        const std::size_t begin = data_.sentence_begin(s), end = data_.sentence_end[s];
                        scores.resize((end - begin) * tables_.stride);
                        chain_scores(job(), begin, end, scores.data());
                        chain_viterbi(tables_, scores.data(), end - begin, back,
                                      labels.subspan(begin, end - begin));
                      }
                    });
}

}  // namespace drover
