// The collapsed sweep: labels in turn, theta integrated out.
//
// Resnik, Hardisty 2010, section 2.6, with the ratios of Gamma functions written out. With document j's
// counts W_i and length N taken out of the counts n_ki, n_k of the classes:
//   P(L_j = k) ~ (C_k + a) prod_i (n_ki + b)(n_ki + b + 1) ... (n_ki + b + W_i - 1)
//                          / ((n_k + V b)(n_k + V b + 1) ... (n_k + V b + N - 1))
// The products over words are kept as numbers and turned into logarithms only when they grow large; the
// product over the length is a difference of two log-Gammas. Every document depends on the one before, so
// only chains run in parallel; mixes better per sweep than drawing theta.
#include <algorithm>
#include <cmath>

#include "drover/text/naive_bayes_gibbs.hpp"

namespace drover {

namespace {

/// logs[k] = log of prod_i (n_ki + b) ... (n_ki + b + W_i - 1) for every class, the document's own counts
/// taken out of class `own`. Products stay within the range of double: every factor lies between 1e-18 and
/// 2^33, and after eight they are looked at. A number of classes known to the compiler keeps them in
/// registers.
template <std::size_t Known>
void log_rising_words(std::span<const std::uint32_t> words, const std::uint32_t* counts,
                      const std::uint32_t* class_words, std::size_t own, double b, std::span<double> products,
                      std::span<double> logs) {
  constexpr std::uint32_t many = 64;  // from here on two log-Gammas are cheaper
  const std::size_t classes = Known > 0 ? Known : logs.size();
  double registers[Known > 0 ? Known : 1];
  double* const product = Known > 0 ? registers : products.data();
  std::fill_n(product, classes, 1.0);
  std::fill(logs.begin(), logs.end(), 0.0);
  unsigned factors = 0;
  for (std::size_t e = 0; e < words.size(); ++e) {
    const std::uint32_t count = counts[e];
    const std::uint32_t* row = class_words + words[e] * classes;
    const auto start = [&](std::size_t k) { return row[k] - (k == own ? count : 0) + b; };
    if (count >= many) {
      for (std::size_t k = 0; k < classes; ++k) logs[k] += log_gamma(start(k) + count) - log_gamma(start(k));
      continue;
    }
    for (std::uint32_t m = 0; m < count; ++m) {
      for (std::size_t k = 0; k < classes; ++k) product[k] *= start(k) + m;
      if (++factors % 8 != 0) continue;
      for (std::size_t k = 0; k < classes; ++k) {
        if (product[k] < 1e150 && product[k] > 1e-150) continue;
        logs[k] += std::log(product[k]);
        product[k] = 1;
      }
    }
  }
  for (std::size_t k = 0; k < classes; ++k) logs[k] += std::log(product[k]);
}

}  // namespace

void NaiveBayesGibbs::sweep_collapsed(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  const std::uint32_t classes = options_.classes;
  const double b = chain.word_pseudo_count;
  const double all_b = b * documents_->vocabulary;
  std::vector<double> weights(classes), products(classes);
  const auto log_rising = classes == 2 ? log_rising_words<2> : log_rising_words<0>;
  for (std::size_t o = 0; o < open_.size(); ++o) {
    const std::uint32_t d = open_[o];
    const auto words = documents_->words_of(d);
    const auto counts = documents_->counts_of(d);
    const Value old = chain.labels[d];
    const std::uint64_t length = lengths_[o];
    log_rising(words, counts.data(), chain.words.data(), old, b, products, weights);
    for (std::uint32_t k = 0; k < classes; ++k) {
      const std::uint32_t own = k == old ? 1 : 0;
      const double rest = static_cast<double>(chain.tokens[k] - own * length) + all_b;
      weights[k] += std::log(static_cast<double>(chain.documents[k] - own) + chain.class_pseudo_count) -
                    (log_gamma(rest + static_cast<double>(length)) - log_gamma(rest));
    }
    float* odds = log_odds_.data() + o * lanes() + lane(c);
    float* noise = noise_.data() + o * lanes() + lane(c);
    draw_noise(c, d, noise);
    Value best = 0;
    double best_key = 0;
    for (std::uint32_t k = 1; k < classes; ++k) {
      const double weight = weights[k] - weights[0];
      odds[k - 1] = static_cast<float>(weight);
      if (weight + noise[k - 1] > best_key) {
        best_key = weight + noise[k - 1];
        best = static_cast<Value>(k);
      }
    }
    if (best == old) continue;
    chain.labels[d] = best;
    --chain.documents[old];
    ++chain.documents[best];
    moves_[c].assign(1, {d, old});
    move_documents(c);
  }
}

}  // namespace drover
