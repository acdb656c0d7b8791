#include "drover/tag/crf_train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>

#include "drover/numeric/lbfgs.hpp"
#include "drover/tag/crf_objective.hpp"

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

  double f1(const CrfWeights& weights) {
    scores_->set(weights);
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
  Watcher(HeldOut& held_out, bool has_held_out, const CrfTrainOptions& options, const RunControl& control,
          CrfTrainSummary& summary)
      : held_out_(held_out),
        has_held_out_(has_held_out),
        options_(options),
        control_(control),
        summary_(summary) {}

  /// True when the training should end. `weights` makes the weights of now.
  template <class Weights>
  bool after(std::size_t iteration, double loss, Weights&& weights) {
    CrfProgress progress{iteration, loss};
    CrfWeights now;
    if (has_held_out_) {
      now = weights();
      progress.f1 = held_out_.f1(now);
    }
    summary_.trace.push_back(progress);
    summary_.iterations = iteration;
    summary_.loss = loss;
    // Before the first entity is found it is too early to stop.
    if (has_held_out_ && options_.patience > 0 && (best_f1_ == 0 || progress.f1 > best_f1_)) {
      best_ = std::move(now);
      has_best_ = true;
      best_f1_ = progress.f1;
      summary_.best_iteration = iteration;
    }
    std::string phase = fmt::format("iteration {}, loss {:.1f}", iteration, loss);
    if (has_held_out_) phase += fmt::format(", held-out F1 {:.2f}", 100 * progress.f1);
    control_.report(
        {phase, static_cast<double>(iteration) / static_cast<double>(options_.iterations), iteration});
    if (control_.should_stop()) {
      ended_ = control_.stop_requested() ? "interrupted" : "the time limit came";
      summary_.stopped = true;
      return true;
    }
    if (has_best_ && iteration >= summary_.best_iteration + options_.patience) {
      ended_ = "held-out F1 no longer rises";
      return true;
    }
    return false;
  }

  bool has_ended() const { return !ended_.empty(); }

  /// The weights to keep: the best, or those of the end.
  CrfWeights finish(CrfWeights last) {
    if (!has_best_) summary_.best_iteration = summary_.iterations;
    if (!ended_.empty()) summary_.ended = ended_;
    return has_best_ ? std::move(best_) : std::move(last);
  }

 private:
  HeldOut& held_out_;
  bool has_held_out_;
  const CrfTrainOptions& options_;
  const RunControl& control_;
  CrfTrainSummary& summary_;
  CrfWeights best_;
  bool has_best_ = false;
  double best_f1_ = 0;
  std::string ended_;
};

/// L-BFGS or OWL-QN from v on, for the iterations that are left; whether it converged.
template <class Real>
bool descend(CrfObjective<Real>& objective, const CrfTrainOptions& options, std::vector<double>& v,
             Watcher& watcher, CrfTrainSummary& summary) {
  const std::size_t before = summary.iterations;
  std::span<const double> latest;  // libLBFGS goes on from the point it looked at last
  const ValueAndGradient evaluate = with_kept_values(
      [&](std::span<const double> x, std::span<double> gradient) { return objective.evaluate(x, gradient); },
      options.parts, std::is_same_v<Real, double> ? std::uint64_t{1} << 32 : 0);
  const LbfgsSummary result = minimise(
      v,
      [&](std::span<const double> x, std::span<double> gradient) {
        latest = x;
        return evaluate(x, gradient);
      },
      {.max_iterations = options.iterations - before,
       .gradient_tolerance = 1e-6,
       .value_tolerance = options.tolerance,
       .memory = 5,
       .l1 = options.l1,
       .l1_begin = 0},
      [&](std::size_t iteration, double loss) {
        return watcher.after(before + iteration, loss, [&] { return objective.weights(latest); });
      });
  summary.evaluations += result.evaluations;
  summary.converged = result.converged;
  summary.ended = result.ended;
  return result.converged;
}

/// Rows that are zero throughout go.
void fill_weights(const FeatureRows& features, const CrfWeights& weights, Crf& crf) {
  const std::size_t stride = label_stride(crf.labels.size());
  std::vector<std::uint32_t> number(features.rows(), HashIndex::none);
  for (std::size_t r = 0; r < features.rows(); ++r) {
    const std::span<const float> row(weights.rows.data() + r * stride, stride);
    if (std::all_of(row.begin(), row.end(), [](float x) { return x == 0; })) continue;
    number[r] = static_cast<std::uint32_t>(crf.weights.size() / stride);
    crf.weights.insert(crf.weights.end(), row.begin(), row.end());
  }
  features.row_of_feature.for_each([&](std::uint64_t key, std::uint32_t row) {
    if (number[row] != HashIndex::none) crf.row_of_feature.insert(key, number[row]);
  });
  crf.chain.set(crf.labels.size(), weights.transitions);
}

}  // namespace

Crf train_crf(const TaggedText& text, LabelScheme scheme, const TaggedText* held_out,
              const FeatureTemplates& templates, const Gazetteers& gazetteers, const CrfTrainOptions& options,
              CrfTrainSummary& summary, const RunControl& control) {
  assert(text.has_labels());
  Crf crf;
  crf.labels = text.label_names;
  crf.scheme = scheme;
  crf.columns = text.columns;
  crf.templates = templates;
  crf.gazetteers = gazetteers;
  FeatureExtractor extractor(templates, gazetteers);
  const CrfTrainingData training = collect_features(text, extractor, options.min_count, control);
  HeldOut dev(
      held_out, crf.labels, scheme,
      held_out == nullptr ? CrfData{} : apply_features(*held_out, extractor, training.features, control));
  Watcher watcher(dev, held_out != nullptr, options, control, summary);

  const CrfPenalties penalties{options.l2, options.l1 > 0, templates.label_bigrams};
  CrfObjective<float> objective(training.data, training.features, crf.labels.size(), penalties);
  const std::size_t rows = training.features.rows();
  summary.features = training.features.features;
  summary.rows = rows;
  summary.bundles = training.data.bundles();

  CrfWeights last;
  if (options.algorithm == CrfAlgorithm::sgd) {
    double before = 0;
    summary.ended = "the passes are used up";
    last = train_by_sgd(training.data, rows, crf.labels.size(), objective.scale(), templates.label_bigrams,
                        options, [&](std::size_t pass, double loss, const std::function<CrfWeights()>& now) {
                          if (watcher.after(pass, loss, now)) return false;
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
    std::vector<double> v(objective.size(), 0.0);
    if (!descend(objective, options, v, watcher, summary) && summary.iterations < options.iterations &&
        !watcher.has_ended()) {
      CrfObjective<double> careful(training.data, training.features, crf.labels.size(), penalties);
      descend(careful, options, v, watcher, summary);
    }
    last = objective.weights(v);
  }
  fill_weights(training.features, watcher.finish(std::move(last)), crf);
  return crf;
}

}  // namespace drover
