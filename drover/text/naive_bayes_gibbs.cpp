#include "drover/text/naive_bayes_gibbs.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/core/log_math.hpp"
#include "drover/core/parallel.hpp"

namespace drover {

namespace {

constexpr Value no_value = std::numeric_limits<Value>::max();

/// scores[l] = sum over the document's words of count * table[word][l]. A number of lanes known to the
/// compiler keeps the sums in registers.
template <std::size_t Lanes>
void score_document(std::span<const std::uint32_t> words, const std::uint32_t* counts, const float* table,
                    double* scores) {
  double sums[Lanes] = {};
  for (std::size_t e = 0; e < words.size(); ++e) {
    const float* row = table + words[e] * Lanes;
    const auto count = static_cast<float>(counts[e]);
    for (std::size_t l = 0; l < Lanes; ++l) sums[l] += static_cast<double>(count * row[l]);
  }
  for (std::size_t l = 0; l < Lanes; ++l) scores[l] = sums[l];
}

void score_document(std::size_t lanes, std::span<const std::uint32_t> words, const std::uint32_t* counts,
                    const float* table, double* scores) {
  switch (lanes) {
    case 1:
      return score_document<1>(words, counts, table, scores);
    case 2:
      return score_document<2>(words, counts, table, scores);
    case 3:
      return score_document<3>(words, counts, table, scores);
    case 4:
      return score_document<4>(words, counts, table, scores);
    case 8:
      return score_document<8>(words, counts, table, scores);
    default:
      break;
  }
  std::fill_n(scores, lanes, 0.0);
  for (std::size_t e = 0; e < words.size(); ++e) {
    const float* row = table + words[e] * lanes;
    const auto count = static_cast<float>(counts[e]);
    for (std::size_t l = 0; l < lanes; ++l) scores[l] += static_cast<double>(count * row[l]);
  }
}

}  // namespace

NaiveBayesGibbs::NaiveBayesGibbs(const WordCounts& documents, std::span<const std::uint32_t> labels,
                                 const NaiveBayesOptions& options)
    : documents_(&documents),
      options_(options),
      chains_(options.chains),
      moves_(options.chains),
      gammas_(options.seed, Stream::text_words),
      label_random_(options.seed, Stream::text_labels),
      count_random_(options.seed, Stream::text_counts) {
  assert(labels.size() == documents.documents() && documents.vocabulary > 0);
  assert(options.classes >= 2 && options.classes < no_value && options.chains > 0 && options.chains < 65536);
  known_.reserve(labels.size());
  for (std::size_t d = 0; d < labels.size(); ++d) {
    assert(labels[d] == no_label || labels[d] < options.classes);
    known_.push_back(labels[d] == no_label ? no_value : static_cast<Value>(labels[d]));
    if (labels[d] != no_label) continue;
    open_.push_back(static_cast<std::uint32_t>(d));
    lengths_.push_back(documents.length(d));
    open_entries_ += documents.words_of(d).size();
  }
  known_counts_.labels = known_;
  count(known_counts_);
  log_odds_.assign(open_.size() * lanes(), 0.0F);
  noise_.assign(open_.size() * lanes(), 0.0F);
  if (!options.collapsed) log_ratios_.assign(documents.vocabulary * lanes(), 0.0F);
  log_totals_.assign(lanes(), 0.0);
  parallel_for(0U, options.chains, [&](std::uint32_t c) { start(c); });
}

void NaiveBayesGibbs::start(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  chain.class_pseudo_count = options_.class_pseudo_count;
  chain.word_pseudo_count = options_.word_pseudo_count;
  const Random random(options_.seed, Stream::start);
  std::vector<double> share(options_.classes);
  for (std::uint32_t k = 0; k < options_.classes; ++k)
    share[k] = draw_log_gamma(random, c, 1, k, options_.class_pseudo_count);
  normalise_logs(share);
  chain.labels = known_;
  for (const std::uint32_t d : open_) {
    double u = random.uniform(c, 0, d);
    Value k = 0;
    while (k + 1U < options_.classes && u >= share[k]) u -= share[k++];
    chain.labels[d] = k;
  }
  count(chain);
  update_log_joint(chain);
}

void NaiveBayesGibbs::count(ClassCounts& chain) const {
  const std::size_t classes = options_.classes;
  chain.documents.assign(classes, 0);
  chain.tokens.assign(classes, 0);
  chain.words.assign(documents_->vocabulary * classes, 0);
  for (std::size_t d = 0; d < documents_->documents(); ++d) {
    const Value k = chain.labels[d];
    if (k == no_value) continue;
    ++chain.documents[k];
    const auto words = documents_->words_of(d);
    const auto counts = documents_->counts_of(d);
    for (std::size_t e = 0; e < words.size(); ++e) {
      chain.words[words[e] * classes + k] += counts[e];
      chain.tokens[k] += counts[e];
    }
  }
}

void NaiveBayesGibbs::set_labels(std::uint32_t c, std::span<const Value> labels) {
  ClassCounts& chain = chains_[c];
  assert(labels.size() == chain.labels.size());
  chain.labels.assign(labels.begin(), labels.end());
  count(chain);
  update_log_joint(chain);
}

void NaiveBayesGibbs::set_pseudo_counts(std::uint32_t c, double class_pseudo_count,
                                        double word_pseudo_count) {
  chains_[c].class_pseudo_count = class_pseudo_count;
  chains_[c].word_pseudo_count = word_pseudo_count;
  update_log_joint(chains_[c]);
}

void NaiveBayesGibbs::sweep() {
  if (options_.swap_classes && !open_.empty() && open_.size() < known_.size())
    parallel_for(0U, options_.chains, [&](std::uint32_t c) { try_swap(c); });
  if (options_.sample_pseudo_counts)
    parallel_for(0U, options_.chains, [&](std::uint32_t c) { draw_pseudo_counts(c); });
  if (options_.collapsed) {
    parallel_for(0U, options_.chains, [&](std::uint32_t c) { sweep_collapsed(c); });
  } else {
    draw_words();
    score_documents();
    parallel_for(0U, options_.chains, [&](std::uint32_t c) {
      draw_labels(c);
      move_documents(c);
    });
  }
  parallel_for(0U, options_.chains, [&](std::uint32_t c) { update_log_joint(chains_[c]); });
  ++sweeps_;
}

// theta, as Gammas not yet divided by their sum.
void NaiveBayesGibbs::draw_words() {
  constexpr std::uint32_t width = GammaDraws::width;
  const std::uint32_t vocabulary = documents_->vocabulary;
  const std::uint32_t classes = options_.classes;
  const std::uint32_t groups = (vocabulary + width - 1) / width;
  const std::size_t stride = lanes();
  // Sums by group, added in order afterwards, so that they do not depend on the threads.
  std::vector<double> sums(std::size_t{groups} * options_.chains * classes);
  parallel_for(IndexRange(0, groups, 16), [&](const IndexRange& range) {
    float shapes[width], first[width], logs[width];
    for (std::uint32_t group = range.begin(); group < range.end(); ++group) {
      const std::uint32_t begin = group * width;
      const std::uint32_t size = std::min(width, vocabulary - begin);
      for (std::uint32_t c = 0; c < options_.chains; ++c) {
        const ClassCounts& chain = chains_[c];
        for (std::uint32_t k = 0; k < classes; ++k) {
          std::fill_n(shapes, width, 1.0F);
          for (std::uint32_t i = 0; i < size; ++i)
            shapes[i] = static_cast<float>(chain.words[std::size_t{begin + i} * classes + k] +
                                           chain.word_pseudo_count);
          float* const target = k == 0 ? first : logs;
          sums[(std::size_t{group} * options_.chains + c) * classes + k] =
              gammas_.draw(c, sweeps_, k * groups + group, shapes, size, target);
          if (k == 0) continue;
          float* row = log_ratios_.data() + begin * stride + lane(c) + (k - 1);
          for (std::uint32_t i = 0; i < size; ++i, row += stride) *row = logs[i] - first[i];
        }
      }
    }
  });
  for (std::uint32_t c = 0; c < options_.chains; ++c) {
    double first = 0;
    for (std::uint32_t k = 0; k < classes; ++k) {
      double total = 0;
      for (std::uint32_t group = 0; group < groups; ++group)
        total += sums[(std::size_t{group} * options_.chains + c) * classes + k];
      if (k == 0)
        first = std::log(total);
      else
        log_totals_[lane(c) + (k - 1)] = std::log(total) - first;
    }
  }
}

// Documents given theta, for all chains, and the noise their labels will be drawn with.
void NaiveBayesGibbs::score_documents() {
  const std::size_t stride = lanes();
  parallel_for(IndexRange(0, open_.size(), 64), [&](const IndexRange& range) {
    std::vector<double> scores(stride);
    for (std::size_t o = range.begin(); o < range.end(); ++o) {
      const std::uint32_t d = open_[o];
      score_document(stride, documents_->words_of(d), documents_->counts_of(d).data(), log_ratios_.data(),
                     scores.data());
      const auto length = static_cast<double>(lengths_[o]);
      for (std::size_t l = 0; l < stride; ++l)
        log_odds_[o * stride + l] = static_cast<float>(scores[l] - length * log_totals_[l]);
      for (std::uint32_t c = 0; c < options_.chains; ++c)
        draw_noise(c, d, noise_.data() + o * stride + lane(c));
    }
  });
}

// Differences of Gumbel variables; for two classes that is one logistic variable.
void NaiveBayesGibbs::draw_noise(std::uint32_t c, std::uint32_t document, float* noise) const {
  const auto open_unit = [](std::uint32_t high, std::uint32_t low) {
    return Random::to_unit(high, low) + 0x1p-54;
  };
  Random::Block block = label_random_.block(c, sweeps_, document);
  if (options_.classes == 2) {
    const double u = open_unit(block[0], block[1]);
    noise[0] = static_cast<float>(std::log(u) - std::log1p(-u));
    return;
  }
  double first = 0;
  for (std::uint32_t k = 0; k < options_.classes; ++k) {
    if (k > 0 && k % 2 == 0) block = label_random_.block(c | (k / 2) << 16, sweeps_, document);
    const double gumbel = -std::log(-std::log(open_unit(block[2 * (k % 2)], block[2 * (k % 2) + 1])));
    if (k == 0)
      first = gumbel;
    else
      noise[k - 1] = static_cast<float>(gumbel - first);
  }
}

// The labels in turn: C_k is the only thing that one document changes for the next.
void NaiveBayesGibbs::draw_labels(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  const std::uint32_t classes = options_.classes;
  const std::size_t stride = lanes();
  // log(C_k + a), with and without the document at hand.
  std::vector<double> log_with(classes), log_without(classes);
  const auto refresh = [&](Value k) {
    const double weight = static_cast<double>(chain.documents[k]) + chain.class_pseudo_count;
    log_with[k] = std::log(weight);
    log_without[k] = chain.documents[k] > 0 ? std::log(weight - 1) : 0;
  };
  for (std::uint32_t k = 0; k < classes; ++k) refresh(static_cast<Value>(k));
  moves_[c].clear();
  for (std::size_t o = 0; o < open_.size(); ++o) {
    Value& label = chain.labels[open_[o]];
    float* odds = log_odds_.data() + o * stride + lane(c);
    const float* noise = noise_.data() + o * stride + lane(c);
    const Value old = label;
    const double first = old == 0 ? log_without[0] : log_with[0];
    Value best = 0;
    double best_key = 0;
    for (std::uint32_t k = 1; k < classes; ++k) {
      const double weight = odds[k - 1] + (k == old ? log_without[k] : log_with[k]) - first;
      odds[k - 1] = static_cast<float>(weight);
      const double key = weight + noise[k - 1];
      if (key > best_key) {
        best_key = key;
        best = static_cast<Value>(k);
      }
    }
    if (best == old) continue;
    moves_[c].emplace_back(open_[o], old);
    label = best;
    --chain.documents[old];
    ++chain.documents[best];
    refresh(old);
    refresh(best);
  }
}

void NaiveBayesGibbs::move_documents(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  const std::size_t classes = options_.classes;
  for (const auto& [d, old] : moves_[c]) {
    const Value now = chain.labels[d];
    const auto words = documents_->words_of(d);
    const auto counts = documents_->counts_of(d);
    std::uint64_t length = 0;
    for (std::size_t e = 0; e < words.size(); ++e) {
      std::uint32_t* row = chain.words.data() + words[e] * classes;
      row[old] -= counts[e];
      row[now] += counts[e];
      length += counts[e];
    }
    chain.tokens[old] -= length;
    chain.tokens[now] += length;
  }
}

void NaiveBayesGibbs::draw_pseudo_counts(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  const double classes = options_.classes;
  CountHistogram histogram;
  for (const std::uint64_t documents : chain.documents) histogram.add(static_cast<std::uint32_t>(documents));
  const CountGroup labels{classes, static_cast<double>(documents_->documents())};
  chain.class_pseudo_count =
      draw_pseudo_count(histogram, {&labels, 1}, chain.class_pseudo_count, count_random_, c, sweeps_, 0);
  histogram.clear();
  for (const std::uint32_t count_of_word : chain.words) histogram.add(count_of_word);
  std::vector<CountGroup> groups;
  for (const std::uint64_t tokens : chain.tokens)
    groups.push_back({static_cast<double>(documents_->vocabulary), static_cast<double>(tokens)});
  chain.word_pseudo_count =
      draw_pseudo_count(histogram, groups, chain.word_pseudo_count, count_random_, c, sweeps_, 1);
}

// log G(n + b) - log G(b); most counts are small, and have their value in a table.
double NaiveBayesGibbs::log_rising(const ClassCounts& chain, std::uint32_t n) const {
  const double b = chain.word_pseudo_count;
  assert(chain.log_rising_at == b);
  return n < chain.log_rising.size() ? chain.log_rising[n] : log_gamma(n + b) - log_gamma(b);
}

void NaiveBayesGibbs::update_log_joint(ClassCounts& chain) const {
  const double a = chain.class_pseudo_count;
  const double b = chain.word_pseudo_count;
  const double size = documents_->vocabulary;
  double sum = log_gamma(options_.classes * a) -
               log_gamma(static_cast<double>(documents_->documents()) + options_.classes * a);
  for (std::uint32_t k = 0; k < options_.classes; ++k)
    sum += log_gamma(static_cast<double>(chain.documents[k]) + a) - log_gamma(a) + log_gamma(size * b) -
           log_gamma(static_cast<double>(chain.tokens[k]) + size * b);
  if (chain.log_rising_at != b) {
    constexpr std::uint32_t table_size = 256;
    chain.log_rising.assign(table_size, 0.0);
    for (std::uint32_t n = 1; n < table_size; ++n)
      chain.log_rising[n] = chain.log_rising[n - 1] + std::log(b + (n - 1));
    chain.log_rising_at = b;
  }
  for (const std::uint32_t n : chain.words) sum += log_rising(chain, n);
  chain.log_joint = sum;
}

void NaiveBayesGibbs::conditional(std::uint32_t c, std::size_t o, std::span<double> probabilities) const {
  const float* odds = log_odds_.data() + o * lanes() + lane(c);
  if (options_.classes == 2) {
    probabilities[1] = 1 / (1 + std::exp(-static_cast<double>(odds[0])));
    probabilities[0] = 1 / (1 + std::exp(static_cast<double>(odds[0])));
    return;
  }
  probabilities[0] = 0;
  for (std::uint32_t k = 1; k < options_.classes; ++k) probabilities[k] = odds[k - 1];
  normalise_logs(probabilities);
}

}  // namespace drover
