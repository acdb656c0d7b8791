// A move between the modes that differ by the names of two classes.
//
// With few labels the open documents are often grouped rightly but under exchanged names, and one label at a
// time never leaves such a state. This move picks two classes, exchanges them in all open documents at once,
// and accepts by Metropolis' rule with probability
//   min(1, P(words, new labels) / P(words, labels)),   theta and pi integrated out.
// The proposal is its own inverse, so the posterior stays as it is. Only words whose known counts differ
// between the two classes enter the ratio. Between two classes without any known label the move would change
// names only; it is left out.
#include <cmath>
#include <utility>

#include "drover/text/naive_bayes_gibbs.hpp"

namespace drover {

void NaiveBayesGibbs::try_swap(std::uint32_t c) {
  ClassCounts& chain = chains_[c];
  const ClassCounts& known = known_counts_;
  const std::size_t classes = options_.classes;
  constexpr std::uint32_t pick_place = 2U << 16, accept_place = 3U << 16;
  const std::size_t pairs = classes * (classes - 1) / 2;
  auto pair =
      static_cast<std::size_t>(static_cast<double>(pairs) * count_random_.uniform(c, sweeps_, pick_place));
  std::size_t k = 0;
  while (pair >= classes - 1 - k) pair -= classes - 1 - k++;
  const std::size_t l = k + 1 + pair;
  if (known.documents[k] == 0 && known.documents[l] == 0) return;

  // What class k has after the exchange: its own known documents and the open ones of class l.
  const auto exchanged = [](auto known_k, auto all_l, auto known_l) { return known_k + (all_l - known_l); };
  const double a = chain.class_pseudo_count;
  const double all_b = chain.word_pseudo_count * documents_->vocabulary;
  double change = 0;
  for (const auto& [x, y] : {std::pair{k, l}, {l, k}}) {
    const auto documents =
        static_cast<double>(exchanged(known.documents[x], chain.documents[y], known.documents[y]));
    const auto tokens = static_cast<double>(exchanged(known.tokens[x], chain.tokens[y], known.tokens[y]));
    change += log_gamma(documents + a) - log_gamma(static_cast<double>(chain.documents[x]) + a) -
              log_gamma(tokens + all_b) + log_gamma(static_cast<double>(chain.tokens[x]) + all_b);
  }
  for (std::size_t row = 0; row < chain.words.size(); row += classes) {
    const std::uint32_t known_k = known.words[row + k], known_l = known.words[row + l];
    if (known_k == known_l) continue;
    const std::uint32_t n_k = chain.words[row + k], n_l = chain.words[row + l];
    change += log_rising(chain, exchanged(known_k, n_l, known_l)) +
              log_rising(chain, exchanged(known_l, n_k, known_k)) - log_rising(chain, n_k) -
              log_rising(chain, n_l);
  }
  if (std::log1p(-count_random_.uniform(c, sweeps_, accept_place)) >= change) return;

  for (const std::uint32_t d : open_) {
    Value& label = chain.labels[d];
    if (label == k)
      label = static_cast<Value>(l);
    else if (label == l)
      label = static_cast<Value>(k);
  }
  const auto exchange = [&](auto& all, const auto& part, std::size_t at_k, std::size_t at_l) {
    const auto new_k = exchanged(part[at_k], all[at_l], part[at_l]);
    const auto new_l = exchanged(part[at_l], all[at_k], part[at_k]);
    all[at_k] = new_k;
    all[at_l] = new_l;
  };
  exchange(chain.documents, known.documents, k, l);
  exchange(chain.tokens, known.tokens, k, l);
  for (std::size_t row = 0; row < chain.words.size(); row += classes)
    exchange(chain.words, known.words, row + k, row + l);
}

}  // namespace drover
