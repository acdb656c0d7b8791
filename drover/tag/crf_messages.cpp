// Belief propagation on chains with skip pairs, in log space.
//
// Along a chain messages are passed exactly, forward and back; across skip pairs they are iterated:
//   m_ij(y_j) = max or log-sum over y_i of [ belief_i(y_i) - m_ji(y_i) + S(y_i, y_j) ]
// Without skip pairs one round is exact. With them the graph has cycles: the result is approximate, and the
// messages need not settle.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/tag/crf_decode.hpp"

namespace drover {

namespace {

constexpr double settled_change = 1e-4;
constexpr double damping = 0.5;

double gather(bool sum, std::span<const double> terms) {
  return sum ? log_sum_exp(terms) : *std::max_element(terms.begin(), terms.end());
}

/// Beliefs (tokens x labels, log, up to a constant) of one sentence with these scores.
void chain_beliefs(const ChainTables<float>& chain, bool sum, std::span<const double> scores,
                   std::span<double> beliefs) {
  const std::size_t labels = chain.labels, tokens = scores.size() / labels;
  std::vector<double> terms(labels), message(labels, 0.0);
  std::copy(scores.begin(), scores.end(), beliefs.begin());
  for (std::size_t t = 1; t < tokens; ++t)
    for (std::size_t y = 0; y < labels; ++y) {
      for (std::size_t k = 0; k < labels; ++k)
        terms[k] = beliefs[(t - 1) * labels + k] + static_cast<double>(chain.log[k * chain.stride + y]);
      beliefs[t * labels + y] += gather(sum, terms);
    }
  for (std::size_t t = tokens; t-- > 1;) {
    std::vector<double> onward(labels);
    for (std::size_t k = 0; k < labels; ++k) {
      for (std::size_t y = 0; y < labels; ++y)
        terms[y] = static_cast<double>(chain.log[k * chain.stride + y]) + scores[t * labels + y] + message[y];
      onward[k] = gather(sum, terms);
    }
    message = onward;
    for (std::size_t k = 0; k < labels; ++k) beliefs[(t - 1) * labels + k] += message[k];
  }
}

}  // namespace

bool pass_messages(const TagField& field, bool sum, std::size_t iterations, std::vector<float>& beliefs,
                   std::span<LabelId> labels) {
  const std::size_t count = field.labels(), stride = field.stride(), tokens = field.tokens();
  const std::size_t pairs = field.skip_pairs.size();
  std::vector<double> base(tokens * count), scores, belief(tokens * count);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t y = 0; y < count; ++y)
      base[t * count + y] = static_cast<double>(field.scores[t * stride + y]);
  std::vector<double> messages(2 * pairs * count, 0.0);  // to the first token of a pair, then to the second
  std::vector<double> terms(count), fresh(count);
  std::vector<LabelId> state(tokens);
  double best = -std::numeric_limits<double>::infinity();
  bool settled = false;
  for (std::size_t round = 0; round < std::max<std::size_t>(1, iterations) && !settled; ++round) {
    scores = base;
    for (std::size_t p = 0; p < pairs; ++p)
      for (std::size_t y = 0; y < count; ++y) {
        scores[field.skip_pairs[p].first * count + y] += messages[2 * p * count + y];
        scores[field.skip_pairs[p].second * count + y] += messages[(2 * p + 1) * count + y];
      }
    std::size_t begin = 0;
    for (std::uint32_t end : field.sentence_end) {
      chain_beliefs(*field.chain, sum, std::span(scores).subspan(begin * count, (end - begin) * count),
                    std::span(belief).subspan(begin * count, (end - begin) * count));
      begin = end;
    }
    for (std::size_t t = 0; t < tokens; ++t) {
      const auto row = belief.begin() + static_cast<std::ptrdiff_t>(t * count);
      state[t] = static_cast<LabelId>(std::max_element(row, row + static_cast<std::ptrdiff_t>(count)) - row);
    }
    if (const double score = field.score(state); score > best) {
      best = score;
      std::copy(state.begin(), state.end(), labels.begin());
    }
    double change = 0;
    for (std::size_t m = 0; m < 2 * pairs; ++m) {
      const auto& [i, j] = field.skip_pairs[m / 2];
      const std::size_t from = m % 2 == 0 ? j : i;
      const std::size_t back = m % 2 == 0 ? m + 1 : m - 1;
      for (std::size_t y = 0; y < count; ++y) {
        for (std::size_t k = 0; k < count; ++k)
          terms[k] = belief[from * count + k] - messages[back * count + k] +
                     static_cast<double>(field.skip[k * count + y]);
        fresh[y] = gather(sum, terms);
      }
      const double high = *std::max_element(fresh.begin(), fresh.end());
      for (std::size_t y = 0; y < count; ++y) {
        double& message = messages[m * count + y];
        const double next = damping * message + (1 - damping) * (fresh[y] - high);
        change = std::max(change, std::abs(next - message));
        message = next;
      }
    }
    settled = change < settled_change;
  }
  beliefs.assign(tokens * stride, 0.0F);
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::span<double> row(belief.data() + t * count, count);
    normalise_logs(row);
    for (std::size_t y = 0; y < count; ++y) beliefs[t * stride + y] = static_cast<float>(row[y]);
  }
  return settled;
}

}  // namespace drover
