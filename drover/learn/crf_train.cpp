#include "drover/learn/crf_train.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>

#include "drover/learn/crf_objective.hpp"
#include "drover/learn/lbfgs.hpp"

namespace drover {

namespace {

/// Scores held-out text after each iteration and remembers the best weights.
class HeldOut {
 public:
  HeldOut(const TaggedText* text, std::span<const std::string> labels, LabelScheme scheme, CrfData data)
      : text_(text), names_(labels), scheme_(scheme), data_(std::move(data)) {
    if (text_ == nullptr) return;
    scores_ = std::make_unique<BundleScores>(data_, labels.size());
    found_.resize(data_.tokens);
  }

  double f1(std::span<const double> v, std::span<const float> scale, std::size_t rows) {
    if (text_ == nullptr) return std::numeric_limits<double>::quiet_NaN();
    scores_->set(v, scale, rows);
    scores_->viterbi(found_);
    EntityScore score;
    for (std::size_t s = 0; s < text_->sentences(); ++s) {
      const std::size_t begin = text_->sentence_begin(s), count = text_->sentence_end[s] - begin;
      score.add({text_->labels.data() + begin, count}, text_->label_names, {found_.data() + begin, count},
                names_, scheme_);
    }
    return score.all.f1();
  }

 private:
  const TaggedText* text_;
  std::span<const std::string> names_;
  LabelScheme scheme_;
  CrfData data_;
  std::unique_ptr<BundleScores> scores_;
  std::vector<LabelId> found_;
};

/// Keeps the trace, the best weights, and decides when to stop.
class Watcher {
 public:
  Watcher(HeldOut& held_out, bool has_held_out, const CrfTrainOptions& options, const CrfWatch& watch,
          CrfTrainSummary& summary)
      : held_out_(held_out),
        has_held_out_(has_held_out),
        options_(options),
        watch_(watch),
        summary_(summary) {}

  /// True when the training should end.
  bool after(std::size_t iteration, double loss, std::span<const double> v, std::span<const float> scale,
             std::size_t rows) {
    CrfProgress progress{iteration, loss};
    if (has_held_out_) progress.f1 = held_out_.f1(v, scale, rows);
    summary_.trace.push_back(progress);
    summary_.iterations = iteration;
    summary_.loss = loss;
    // Before the first entity is found it is too early to stop.
    if (has_held_out_ && options_.patience > 0 && (best_f1_ == 0 || progress.f1 > best_f1_)) {
      best_.assign(v.begin(), v.end());
      best_f1_ = progress.f1;
      summary_.best_iteration = iteration;
    }
    if (!watch_(progress)) {
      ended_ = "interrupted";
      return true;
    }
    // The first iterations may find no entity at all: that is not the end of rising.
    if (best_f1_ > 0 && iteration >= summary_.best_iteration + options_.patience) {
      ended_ = "held-out F1 no longer rises";
      return true;
    }
    return false;
  }

  bool has_ended() const { return !ended_.empty(); }

  void finish(std::vector<double>& v) {
    if (!best_.empty()) v = best_;
    if (best_.empty()) summary_.best_iteration = summary_.iterations;
    if (!ended_.empty()) summary_.ended = ended_;
  }

 private:
  HeldOut& held_out_;
  bool has_held_out_;
  const CrfTrainOptions& options_;
  const CrfWatch& watch_;
  CrfTrainSummary& summary_;
  std::vector<double> best_;
  double best_f1_ = 0;
  std::string ended_;
};

/// L-BFGS or OWL-QN from v on, for the iterations that are left; whether it converged.
template <class Real>
bool descend(CrfObjective<Real>& objective, std::size_t rows, const CrfTrainOptions& options,
             std::vector<double>& v, Watcher& watcher, CrfTrainSummary& summary) {
  const std::size_t before = summary.iterations;
  std::span<const double> latest;  // libLBFGS goes on from the point it looked at last
  const LbfgsSummary result = minimise(
      v,
      [&](std::span<const double> x, std::span<double> gradient) {
        latest = x;
        return objective.evaluate(x, gradient);
      },
      {.max_iterations = options.iterations - before,
       .gradient_tolerance = 1e-6,
       .value_tolerance = options.tolerance,
       .memory = 6,
       .l1 = options.l1,
       .l1_begin = 0},
      [&](std::size_t iteration, double loss) {
        return watcher.after(before + iteration, loss, latest, objective.scale(), rows);
      });
  summary.evaluations += result.evaluations;
  summary.converged = result.converged;
  summary.ended = result.ended;
  return result.converged;
}

/// Weights of features from parameters of rows; rows that are zero throughout go.
void fill_weights(const FeatureRows& features, std::span<const double> v, std::span<const float> scale,
                  Crf& crf) {
  const std::size_t stride = label_stride(crf.labels.size());
  std::vector<std::uint32_t> number(features.rows(), HashIndex::none);
  for (std::size_t r = 0; r < features.rows(); ++r) {
    const std::span<const double> row = v.subspan(r * stride, stride);
    if (std::all_of(row.begin(), row.end(), [](double x) { return x == 0; })) continue;
    number[r] = static_cast<std::uint32_t>(crf.weights.size() / stride);
    for (double x : row) crf.weights.push_back(static_cast<float>(x * static_cast<double>(scale[r])));
  }
  features.row_of_feature.for_each([&](std::uint64_t key, std::uint32_t row) {
    if (number[row] != HashIndex::none) crf.row_of_feature.insert(key, number[row]);
  });
  crf.chain.set(crf.labels.size(), v.subspan(features.rows() * stride));
}

}  // namespace

Crf train_crf(const TaggedText& text, LabelScheme scheme, const TaggedText* held_out,
              const FeatureTemplates& templates, const Gazetteers& gazetteers, const CrfTrainOptions& options,
              const CrfWatch& watch, CrfTrainSummary& summary) {
  assert(text.has_labels());
  Crf crf;
  crf.labels = text.label_names;
  crf.scheme = scheme;
  crf.columns = text.columns;
  crf.templates = templates;
  crf.gazetteers = gazetteers;
  FeatureExtractor extractor(templates, gazetteers);
  const TrainingData training = collect_features(text, extractor, options.min_count);
  HeldOut dev(held_out, crf.labels, scheme,
              held_out == nullptr ? CrfData{} : apply_features(*held_out, extractor, training.features));
  Watcher watcher(dev, held_out != nullptr, options, watch, summary);

  const CrfPenalties penalties{options.l2, options.l1 > 0, templates.label_bigrams};
  CrfObjective<float> objective(training.data, training.features, crf.labels.size(), penalties);
  std::vector<double> v(objective.size(), 0.0);
  const std::size_t rows = training.features.rows();
  summary.features = training.features.features;
  summary.rows = rows;
  summary.bundles = training.data.bundles();
  summary.parameters = (rows + crf.labels.size()) * crf.labels.size();

  if (options.algorithm == CrfAlgorithm::sgd) {
    double before = 0;
    summary.ended = "the passes are used up";
    train_by_sgd(training.data, rows, crf.labels.size(), objective.scale(), templates.label_bigrams, options,
                 v, [&](std::size_t pass, std::vector<double>& now, double loss) {
                   if (watcher.after(pass, loss, now, objective.scale(), rows)) return false;
                   const bool flat = pass > 1 && std::abs(before - loss) < options.tolerance * loss;
                   before = loss;
                   if (flat) {
                     summary.converged = true;
                     summary.ended = "the loss no longer falls";
                   }
                   return !flat;
                 });
  } else {
    // Single precision while it lasts; where its rounding hides the way down, double goes on from there.
    if (!descend(objective, rows, options, v, watcher, summary) && summary.iterations < options.iterations &&
        !watcher.has_ended()) {
      CrfObjective<double> careful(training.data, training.features, crf.labels.size(), penalties);
      descend(careful, rows, options, v, watcher, summary);
    }
  }
  watcher.finish(v);
  fill_weights(training.features, v, objective.scale(), crf);
  return crf;
}

}  // namespace drover
