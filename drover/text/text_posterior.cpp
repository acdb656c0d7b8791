#include "drover/text/text_posterior.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "drover/core/parallel.hpp"
#include "drover/numeric/matching.hpp"

namespace drover {

namespace {

/// Sums over the kept draws of one chain, under the names of its first kept draw.
struct ChainSums {
  std::vector<Value> pivot;           ///< labels of the first kept draw
  std::vector<double> probabilities;  ///< (open document, class)
  std::vector<double> documents, tokens, words;
  double class_pseudo_count = 0, word_pseudo_count = 0;
  double log_joint = 0, log_joint_squares = 0;  ///< less the first kept one, so that squares do not cancel
  double first_log_joint = 0;

  double mean(double draws) const { return first_log_joint + log_joint / draws; }
  double variance(double draws) const {
    return std::max(0.0, log_joint_squares / draws - (log_joint / draws) * (log_joint / draws));
  }

  template <class Archive>
  void visit(Archive& archive) {
    archive(pivot);
    for (std::vector<double>* sums : {&probabilities, &documents, &tokens, &words}) archive(*sums);
    for (double* number :
         {&class_pseudo_count, &word_pseudo_count, &log_joint, &log_joint_squares, &first_log_joint})
      archive(*number);
  }
};

std::vector<std::uint32_t> identity(std::uint32_t n) {
  std::vector<std::uint32_t> names(n);
  std::iota(names.begin(), names.end(), 0U);
  return names;
}

/// New names of all classes: the free ones matched by weights (classes x classes), the others kept.
std::vector<std::uint32_t> match_free(std::span<const std::uint32_t> free, std::uint32_t classes,
                                      std::span<const double> weights) {
  std::vector<double> part;
  for (const std::uint32_t k : free)
    for (const std::uint32_t l : free) part.push_back(weights[std::size_t{k} * classes + l]);
  const auto columns = best_matching(static_cast<std::uint32_t>(free.size()), part);
  std::vector<std::uint32_t> names = identity(classes);
  for (std::size_t f = 0; f < free.size(); ++f) names[free[f]] = free[columns[f]];
  return names;
}

/// Adds (row, class) values under new names of the classes.
template <class Number>
void add_renamed(std::span<const Number> values, std::span<const std::uint32_t> names,
                 std::span<double> sums) {
  const std::size_t classes = names.size();
  for (std::size_t at = 0; at < values.size(); at += classes)
    for (std::size_t k = 0; k < classes; ++k) sums[at + names[k]] += static_cast<double>(values[at + k]);
}

class Recorder {
 public:
  Recorder(const NaiveBayesGibbs& sampler, std::span<const std::uint32_t> labels)
      : sampler_(sampler), classes_(sampler.options().classes), sums_(sampler.options().chains) {
    std::vector<bool> labelled(classes_, false);
    for (const std::uint32_t label : labels)
      if (label != no_label) labelled[label] = true;
    for (std::uint32_t k = 0; k < classes_; ++k)
      if (!labelled[k]) free_.push_back(k);
    for (ChainSums& sums : sums_) {
      sums.probabilities.assign(sampler.open().size() * classes_, 0.0);
      sums.documents.assign(classes_, 0.0);
      sums.tokens.assign(classes_, 0.0);
      sums.words.assign(std::size_t{sampler.documents().vocabulary} * classes_, 0.0);
    }
  }

  bool interchangeable() const { return free_.size() > 1; }

  /// The state of every chain is a draw.
  void keep() {
    parallel_for(0U, sampler_.options().chains, [&](std::uint32_t c) { keep(c); });
    ++draws_;
  }

  void finish(TextPosterior& result);

  template <class Archive>
  void visit(Archive& archive) {
    for (ChainSums& sums : sums_) sums.visit(archive);
    archive(draws_);
  }

 private:
  void keep(std::uint32_t c) {
    const ClassCounts& chain = sampler_.chain(c);
    ChainSums& sums = sums_[c];
    if (sums.pivot.empty()) {
      sums.pivot = chain.labels;
      sums.first_log_joint = chain.log_joint;
    }
    std::vector<std::uint32_t> names = identity(classes_);
    if (interchangeable()) {
      std::vector<double> together(std::size_t{classes_} * classes_, 0.0);
      for (const std::uint32_t d : sampler_.open())
        ++together[std::size_t{chain.labels[d]} * classes_ + sums.pivot[d]];
      names = match_free(free_, classes_, together);
    }
    std::vector<double> p(classes_);
    for (std::size_t o = 0; o < sampler_.open().size(); ++o) {
      sampler_.conditional(c, o, p);
      for (std::uint32_t k = 0; k < classes_; ++k) sums.probabilities[o * classes_ + names[k]] += p[k];
    }
    add_renamed<std::uint64_t>(chain.documents, names, sums.documents);
    add_renamed<std::uint64_t>(chain.tokens, names, sums.tokens);
    add_renamed<std::uint32_t>(chain.words, names, sums.words);
    sums.class_pseudo_count += chain.class_pseudo_count;
    sums.word_pseudo_count += chain.word_pseudo_count;
    const double since = chain.log_joint - sums.first_log_joint;
    sums.log_joint += since;
    sums.log_joint_squares += since * since;
  }

  std::uint32_t best_class(const ChainSums& sums, std::size_t o) const {
    const auto begin = sums.probabilities.begin() + static_cast<std::ptrdiff_t>(o * classes_);
    return static_cast<std::uint32_t>(std::max_element(begin, begin + classes_) - begin);
  }

  const NaiveBayesGibbs& sampler_;
  std::uint32_t classes_;
  std::vector<std::uint32_t> free_;  ///< classes without a labelled document
  std::vector<ChainSums> sums_;
  std::uint64_t draws_ = 0;
};

void Recorder::finish(TextPosterior& result) {
  const std::size_t open = sampler_.open().size();
  const auto draws = static_cast<double>(draws_);
  const ChainSums& reference =
      *std::max_element(sums_.begin(), sums_.end(),
                        [&](const auto& a, const auto& b) { return a.mean(draws) < b.mean(draws); });
  const auto counts = [&](const ChainSums& sums) {
    return draws_ < 4 || reference.mean(draws) - sums.mean(draws) <=
                             4 * std::sqrt(reference.variance(draws) + sums.variance(draws));
  };
  const auto counted = static_cast<std::size_t>(std::ranges::count_if(sums_, counts));
  result.chains_left_out = static_cast<std::uint32_t>(sums_.size() - counted);
  if (interchangeable()) {
    for (ChainSums& sums : sums_) {
      if (&sums == &reference) continue;
      std::vector<double> together(std::size_t{classes_} * classes_, 0.0);
      for (std::size_t o = 0; o < open; ++o)
        for (std::uint32_t k = 0; k < classes_; ++k)
          for (std::uint32_t l = 0; l < classes_; ++l)
            together[std::size_t{k} * classes_ + l] +=
                sums.probabilities[o * classes_ + k] * reference.probabilities[o * classes_ + l];
      const auto names = match_free(free_, classes_, together);
      for (std::vector<double>* values : {&sums.probabilities, &sums.documents, &sums.tokens, &sums.words}) {
        std::vector<double> renamed(values->size(), 0.0);
        add_renamed<double>(*values, names, renamed);
        *values = std::move(renamed);
      }
    }
  }
  result.renamed = interchangeable();

  for (std::size_t a = 0; a < sums_.size() && open > 0; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::size_t alike = 0;
      for (std::size_t o = 0; o < open; ++o) alike += best_class(sums_[a], o) == best_class(sums_[b], o);
      result.chain_agreement =
          std::min(result.chain_agreement, static_cast<double>(alike) / static_cast<double>(open));
    }
  }

  const double weight = 1.0 / (draws * static_cast<double>(counted));
  const auto& labels = sampler_.chain(0).labels;
  result.probabilities.assign(labels.size() * classes_, 0.0);
  for (std::size_t d = 0; d < labels.size(); ++d) result.probabilities[d * classes_ + labels[d]] = 1;
  for (const std::uint32_t d : sampler_.open())
    std::fill_n(result.probabilities.begin() + static_cast<std::ptrdiff_t>(d * std::size_t{classes_}),
                classes_, 0.0);
  result.class_documents.assign(classes_, 0.0);
  result.class_tokens.assign(classes_, 0.0);
  result.word_counts.assign(std::size_t{sampler_.documents().vocabulary} * classes_, 0.0);
  for (const ChainSums& sums : sums_) {
    if (!counts(sums)) continue;
    for (std::size_t o = 0; o < open; ++o)
      for (std::uint32_t k = 0; k < classes_; ++k)
        result.probabilities[sampler_.open()[o] * std::size_t{classes_} + k] +=
            weight * sums.probabilities[o * classes_ + k];
    for (std::uint32_t k = 0; k < classes_; ++k) {
      result.class_documents[k] += weight * sums.documents[k];
      result.class_tokens[k] += weight * sums.tokens[k];
    }
    for (std::size_t e = 0; e < result.word_counts.size(); ++e)
      result.word_counts[e] += weight * sums.words[e];
    result.class_pseudo_count += weight * sums.class_pseudo_count;
    result.word_pseudo_count += weight * sums.word_pseudo_count;
  }
}

}  // namespace

std::uint32_t TextPosterior::label(std::size_t document) const {
  const auto begin = probabilities.begin() + static_cast<std::ptrdiff_t>(document * classes);
  return static_cast<std::uint32_t>(std::max_element(begin, begin + classes) - begin);
}

TextPosterior sample_text(const WordCounts& documents, std::span<const std::uint32_t> labels,
                          const NaiveBayesOptions& options, const TextRun& run, const RunControl& control) {
  assert(run.sweeps >= run.thin && run.thin > 0);
  NaiveBayesGibbs sampler(documents, labels, options);
  Recorder recorder(sampler, labels);
  TextPosterior result;
  result.classes = options.classes;
  result.trace.resize(options.chains);
  std::vector<std::vector<double>> kept(options.chains);
  const double updates_per_sweep = static_cast<double>(sampler.updates_per_sweep()) * options.chains;
  std::uint64_t burn_in = run.burn_in;
  const auto visit = [&](auto& archive) {
    sampler.visit(archive);
    recorder.visit(archive);
    for (std::uint32_t c = 0; c < options.chains; ++c) {
      archive(result.trace[c]);
      archive(kept[c]);
    }
    archive(result.burn_in);
    archive(result.sweeps);
    archive(result.draws);
    archive(burn_in);
    archive(result.shortened_burn_in);
  };
  restore(run.keeper, visit);
  for (std::uint64_t done = result.burn_in + result.sweeps; done < burn_in + run.sweeps;) {
    if (done < burn_in && done > 0 && control.time_fraction() >= 0.5) {  // it would leave nothing to count
      burn_in = done;
      result.shortened_burn_in = true;
    }
    sampler.sweep();
    ++done;
    for (std::uint32_t c = 0; c < options.chains; ++c) result.trace[c].push_back(sampler.chain(c).log_joint);
    const bool past = done > burn_in;
    ++(past ? result.sweeps : result.burn_in);
    if (past && result.sweeps % run.thin == 0) {
      recorder.keep();
      ++result.draws;
      for (std::uint32_t c = 0; c < options.chains; ++c) kept[c].push_back(sampler.chain(c).log_joint);
    }
    const double fraction = static_cast<double>(done) / static_cast<double>(burn_in + run.sweeps);
    control.report({past ? "sampling" : "burn-in", std::max(fraction, control.time_fraction()), done,
                    updates_per_sweep * static_cast<double>(done), 0});
    const bool ends = control.should_stop();
    keep(run.keeper, visit, ends || done == burn_in + run.sweeps);
    if (ends) break;
  }
  if (result.draws == 0) fail_stopped(control, "the sampler");
  recorder.finish(result);
  for (const auto& values : kept)
    result.kept_log_joint.insert(result.kept_log_joint.end(), values.begin(), values.end());
  result.log_joint = summarise({result.kept_log_joint.data(), options.chains, result.draws});
  result.updates = updates_per_sweep * static_cast<double>(result.burn_in + result.sweeps);
  return result;
}

double label_accuracy(std::span<const std::uint32_t> labels, std::span<const std::uint32_t> truth,
                      std::uint32_t classes, bool renamed) {
  assert(labels.size() == truth.size());
  std::vector<double> together(std::size_t{classes} * classes, 0.0);
  double total = 0;
  for (std::size_t d = 0; d < labels.size(); ++d) {
    if (truth[d] == no_label || labels[d] == no_label) continue;
    ++together[std::size_t{labels[d]} * classes + truth[d]];
    ++total;
  }
  const auto names = renamed ? best_matching(classes, together) : identity(classes);
  double right = 0;
  for (std::uint32_t k = 0; k < classes; ++k) right += together[std::size_t{k} * classes + names[k]];
  return total > 0 ? right / total : std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::uint32_t> hide_labels(std::span<const std::uint32_t> labels, std::uint32_t classes,
                                       double share, std::uint64_t seed) {
  std::vector<std::uint32_t> shown(labels.begin(), labels.end());
  if (share >= 1) return shown;
  const Random random(seed, Stream::text_hide);
  for (std::uint32_t k = 0; k < classes; ++k) {
    std::vector<std::pair<double, std::uint32_t>> members;
    for (std::uint32_t d = 0; d < labels.size(); ++d)
      if (labels[d] == k) members.emplace_back(random.uniform(0, 0, d), d);
    std::sort(members.begin(), members.end());
    const auto kept = static_cast<std::size_t>(std::lround(share * static_cast<double>(members.size())));
    for (std::size_t m = kept; m < members.size(); ++m) shown[members[m].second] = no_label;
  }
  return shown;
}

}  // namespace drover
