// Stochastic gradient descent for a chain CRF, sentence by sentence.
//
// Source: Bottou: Large-scale machine learning with stochastic gradient descent, COMPSTAT 2010. With N
// sentences and lambda = l2 / N the step at time t is eta_t = 1 / (lambda (t + t0)); the penalty's shrinking
// of all weights is one number, the weights being v = shrink * stored. t0 comes from a trial on some
// sentences: the step that lowers their loss most. Sentences come in a new random order each pass, a function
// of the seed.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/core/random.hpp"
#include "drover/tag/crf_train.hpp"

namespace drover {

namespace {

class Sgd {
 public:
  Sgd(const CrfData& data, std::size_t rows, std::size_t labels, std::span<const float> scale,
      bool transitions, double l2)
      : data_(data),
        labels_(labels),
        stride_(label_stride(labels)),
        scale_(scale),
        transitions_(transitions),
        lambda_(l2 / static_cast<double>(data.sentence_end.size())),
        stored_(rows * stride_),
        pairs_(labels * stride_),
        slope_(labels * stride_) {}

  void start() {
    std::fill(stored_.begin(), stored_.end(), 0.0F);
    std::fill(pairs_.begin(), pairs_.end(), 0.0);
    shrink_ = 1;
  }

  CrfWeights weights() const {
    CrfWeights result{stored_, pairs_};
    for (std::size_t r = 0; r < scale_.size(); ++r)
      for (std::size_t y = 0; y < stride_; ++y)
        result.rows[r * stride_ + y] *= static_cast<float>(shrink_) * scale_[r];
    return result;
  }

  /// One step; returns -log p of the sentence before it.
  double step(std::size_t sentence, double eta) {
    const std::size_t begin = data_.sentence_begin(sentence), tokens = data_.sentence_end[sentence] - begin;
    scores_.assign(tokens * stride_, 0.0F);
    difference_.resize(tokens * stride_);
    while (numbers_.size() < tokens) numbers_.push_back(static_cast<std::uint32_t>(numbers_.size()));
    each_row(begin, tokens, static_cast<float>(shrink_), [&](float factor, std::uint32_t row, std::size_t t) {
      const float* const from = stored_.data() + row * stride_;
      float* const to = scores_.data() + t * stride_;
      for (std::size_t y = 0; y < stride_; ++y) to[y] += factor * from[y];
    });
    tables_.set(labels_, pairs_);
    const auto end = static_cast<std::uint32_t>(tokens);
    const ChainJob<float> job{&tables_, scores_.data(),    numbers_.data(), 1, data_.label.data() + begin,
                              &end,     difference_.data()};
    std::fill(slope_.begin(), slope_.end(), 0.0);
    const double loss = chain_gradient(job, 0, 1, scratch_, slope_.data());

    const double keep = 1 - eta * lambda_;
    shrink_ *= keep;
    each_row(begin, tokens, static_cast<float>(-eta / shrink_),
             [&](float factor, std::uint32_t row, std::size_t t) {
               float* const to = stored_.data() + row * stride_;
               const float* const from = difference_.data() + t * stride_;
               for (std::size_t y = 0; y < stride_; ++y) to[y] += factor * from[y];
             });
    if (transitions_)
      for (std::size_t k = 0; k < pairs_.size(); ++k) pairs_[k] = keep * pairs_[k] - eta * slope_[k];
    if (shrink_ < 1e-6) {
      for (float& x : stored_) x *= static_cast<float>(shrink_);
      shrink_ = 1;
    }
    return loss;
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(stored_);
    archive(pairs_);
    archive(shrink_);
  }

  double penalty() const {
    double squares = 0;
    for (float x : stored_) squares += static_cast<double>(x) * static_cast<double>(x);
    squares *= shrink_ * shrink_;
    for (double x : pairs_) squares += x * x;
    return lambda_ / 2 * squares * static_cast<double>(data_.sentence_end.size());
  }

 private:
  template <class F>
  void each_row(std::size_t begin, std::size_t tokens, float factor, F&& f) {
    const Lists& lists = data_.rows_of_bundle;
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t g = 0; g < data_.groups; ++g) {
        const std::uint32_t bundle = data_.bundle[(begin + t) * data_.groups + g];
        for (std::uint64_t k = lists.begin[bundle]; k < lists.begin[bundle + 1]; ++k)
          f(factor * lists.factor[k] * scale_[lists.item[k]], lists.item[k], t);
      }
  }

  const CrfData& data_;
  std::size_t labels_, stride_;
  std::span<const float> scale_;
  bool transitions_;
  double lambda_;
  std::vector<float> stored_;
  double shrink_ = 1;
  std::vector<double> pairs_, slope_;
  std::vector<float> scores_, difference_;
  std::vector<std::uint32_t> numbers_;
  ChainTables<float> tables_;
  ChainScratch<float> scratch_;
};

}  // namespace

CrfWeights train_by_sgd(const CrfData& data, std::size_t rows, std::size_t labels,
                        std::span<const float> scale, bool transitions, const CrfTrainOptions& options,
                        const SgdPass& after) {
  const std::size_t sentences = data.sentence_end.size();
  const double lambda = std::max(options.l2, 1e-6) / static_cast<double>(sentences);
  RandomSequence random(options.seed, Stream::order);
  std::vector<std::uint32_t> order(sentences);
  std::iota(order.begin(), order.end(), 0U);
  const auto shuffle = [&] {
    for (std::size_t k = sentences; k > 1; --k)
      std::swap(order[k - 1], order[random.below(static_cast<std::uint32_t>(k))]);
  };
  shuffle();

  Sgd sgd(data, rows, labels, scale, transitions, lambda * static_cast<double>(sentences));
  const std::size_t trial = std::min<std::size_t>(sentences, 1000);
  double best_eta = 0.1, best_loss = std::numeric_limits<double>::infinity();
  for (int power = -7; power <= 3; ++power) {
    const double eta = std::ldexp(1.0, power);
    sgd.start();
    double loss = 0;
    for (std::size_t k = 0; k < trial; ++k) loss += sgd.step(order[k], eta);
    if (std::isfinite(loss) && loss < best_loss) {
      best_loss = loss;
      best_eta = eta;
    }
  }
  const double t0 = 1 / (best_eta * lambda);
  sgd.start();
  double time = 0;
  for (std::size_t pass = 1; pass <= options.iterations; ++pass) {
    shuffle();
    double loss = 0;
    recall_or_do(
        options.parts, pass,
        [&](auto& archive) {
          archive(loss);
          archive(time);
          sgd.visit(archive);
        },
        [&] {
          for (std::uint32_t sentence : order) loss += sgd.step(sentence, 1 / (lambda * (t0 + time++)));
          return true;
        });
    if (!after(pass, loss + sgd.penalty(), [&] { return sgd.weights(); })) break;
  }
  return sgd.weights();
}

}  // namespace drover
