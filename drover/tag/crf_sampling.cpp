// Annealed Gibbs and herded Gibbs on chains with skip pairs.
//
// Both visit the tokens in order. The conditional of a token depends on its neighbours only: the tokens
// before and after it in the sentence and those across skip pairs. Annealing lowers the temperature linearly,
// as the paper's comparison does. Herding has no temperature: for each configuration of the neighbours it
// follows x = argmax w, w += pi - e_x (herded_gibbs_weights.hpp), with w = pi at the first visit, so that the
// first choice in every configuration is its most probable label. There is no guarantee of finding the best
// state; what is kept is the best one seen.
#include <array>
#include <cmath>

#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"
#include "drover/tag/crf_decode.hpp"

namespace drover {

namespace {

constexpr std::uint32_t nobody = 0xffffffffU;

/// A token's neighbours: before, after, and across at most two skip pairs.
struct Site {
  std::array<std::uint32_t, 4> neighbour{nobody, nobody, nobody, nobody};
};

class Sites {
 public:
  explicit Sites(const TagField& field)
      : field_(field), labels_(field.labels()), stride_(field.stride()), sites_(field.tokens()) {
    transposed_.resize(labels_ * stride_);
    for (std::size_t k = 0; k < labels_; ++k)
      for (std::size_t y = 0; y < labels_; ++y)
        transposed_[y * stride_ + k] = field.chain->log[k * stride_ + y];
    component_.resize(field.sentence_end.size());
    std::vector<std::uint32_t> sentence_of(sites_.size());
    std::size_t t = 0;
    for (std::size_t s = 0; s < field.sentence_end.size(); ++s) {
      component_[s] = static_cast<std::uint32_t>(s);
      for (bool first = true; t < field.sentence_end[s]; ++t, first = false) {
        sentence_of[t] = static_cast<std::uint32_t>(s);
        if (first) continue;
        sites_[t].neighbour[0] = static_cast<std::uint32_t>(t - 1);
        sites_[t - 1].neighbour[1] = static_cast<std::uint32_t>(t);
      }
    }
    for (const auto& [i, j] : field.skip_pairs) {
      join(i, j);
      join(j, i);
      const std::uint32_t a = root(sentence_of[i]), b = root(sentence_of[j]);
      component_[std::max(a, b)] = std::min(a, b);
    }
    for (std::uint32_t s = 0; s < component_.size(); ++s) component_[s] = root(s);
    score_.resize(component_.size());
    best_score_.assign(component_.size(), -std::numeric_limits<double>::infinity());
  }

  std::size_t size() const { return sites_.size(); }
  const Site& site(std::size_t t) const { return sites_[t]; }

  /// The log conditional of token t up to a constant.
  void local_scores(std::size_t t, std::span<const LabelId> y, float* out) const {
    const float* const own = field_.scores.data() + t * stride_;
    for (std::size_t k = 0; k < labels_; ++k) out[k] = own[k];
    const auto& neighbour = sites_[t].neighbour;
    if (neighbour[0] != nobody) add(out, field_.chain->log.data() + y[neighbour[0]] * stride_);
    if (neighbour[1] != nobody) add(out, transposed_.data() + y[neighbour[1]] * stride_);
    for (std::size_t n = 2; n < 4; ++n)
      if (neighbour[n] != nobody) add(out, field_.skip.data() + y[neighbour[n]] * labels_);
  }

  /// Calls visit(t) for every token, in order; visit returns by how much the score rose. Keeps the best.
  template <class Visit>
  void sweep(std::span<const LabelId> y, std::vector<LabelId>& best, Visit&& visit) {
    std::size_t t = 0;
    for (std::size_t s = 0; s < component_.size(); ++s)
      for (; t < field_.sentence_end[s]; ++t) score_[component_[s]] += visit(t);
    t = 0;
    for (std::size_t s = 0; s < component_.size(); ++s) {
      const bool better = score_[component_[s]] > best_score_[component_[s]] + 1e-7;
      for (; t < field_.sentence_end[s]; ++t)
        if (better) best[t] = y[t];
    }
    for (std::size_t c = 0; c < score_.size(); ++c) best_score_[c] = std::max(best_score_[c], score_[c]);
  }

 private:
  void add(float* out, const float* terms) const {
    for (std::size_t k = 0; k < labels_; ++k) out[k] += terms[k];
  }
  void join(std::uint32_t from, std::uint32_t to) {
    auto& neighbour = sites_[from].neighbour;
    neighbour[neighbour[2] == nobody ? 2 : 3] = to;
  }
  std::uint32_t root(std::uint32_t s) const {
    while (component_[s] != s) s = component_[s];
    return s;
  }

  const TagField& field_;
  std::size_t labels_, stride_;
  std::vector<Site> sites_;
  std::vector<float> transposed_;
  std::vector<std::uint32_t> component_;    ///< of each sentence: the first sentence it is joined with
  std::vector<double> score_, best_score_;  ///< per component, relative to the start
};

}  // namespace

void decode_by_gibbs(const TagField& field, std::size_t sweeps, std::uint64_t seed, std::uint32_t number,
                     std::span<LabelId> y) {
  Sites sites(field);
  const Random random(seed, Stream::sweep);
  const std::size_t labels = field.labels();
  std::vector<LabelId> best(y.begin(), y.end());
  std::vector<float> local(labels), weight(labels);
  for (std::size_t s = 0; s < sweeps; ++s) {
    const auto inverse_temperature =
        static_cast<float>(static_cast<double>(sweeps) / static_cast<double>(sweeps - s));
    sites.sweep(y, best, [&](std::size_t t) {
      sites.local_scores(t, y, local.data());
      float high = local[0];
      for (std::size_t k = 1; k < labels; ++k) high = std::max(high, local[k]);
      float total = 0;
      for (std::size_t k = 0; k < labels; ++k)
        total += weight[k] = std::exp((local[k] - high) * inverse_temperature);
      float left = static_cast<float>(random.uniform(number, s, static_cast<std::uint32_t>(t))) * total;
      std::size_t drawn = 0;
      while (drawn + 1 < labels && left >= weight[drawn]) left -= weight[drawn++];
      const LabelId old = y[t];
      y[t] = static_cast<LabelId>(drawn);
      return static_cast<double>(local[drawn]) - static_cast<double>(local[old]);
    });
  }
  std::copy(best.begin(), best.end(), y.begin());
}

void decode_by_herding(const TagField& field, std::size_t sweeps, std::span<LabelId> y) {
  Sites sites(field);
  const std::size_t labels = field.labels();
  std::vector<LabelId> best(y.begin(), y.end());
  std::vector<float> local(labels);
  std::vector<double> probability(labels);
  std::vector<std::int32_t> pool;  ///< for each configuration met: probabilities, then weights
  HashIndex configurations;
  std::vector<float> gain;  ///< for each configuration met: its local scores
  for (std::size_t s = 0; s < sweeps; ++s)
    sites.sweep(y, best, [&](std::size_t t) {
      std::uint64_t key = t;
      for (std::uint32_t neighbour : sites.site(t).neighbour)
        key = key * (labels + 1) + (neighbour == nobody ? labels : y[neighbour]);
      const auto fresh = static_cast<std::uint32_t>(configurations.size());
      const std::uint64_t hash = herded_mix(key + 1);
      const std::uint32_t found = configurations.insert(hash == 0 ? 1 : hash, fresh);
      if (found == fresh) {
        sites.local_scores(t, y, local.data());
        gain.insert(gain.end(), local.begin(), local.end());
        for (std::size_t k = 0; k < labels; ++k) probability[k] = static_cast<double>(local[k]);
        normalise_logs(probability);
        pool.resize(pool.size() + 2 * labels);
        const std::span<std::int32_t> entry(pool.data() + 2 * labels * found, 2 * labels);
        herded_probabilities(probability, entry.first(labels));
        std::copy_n(entry.begin(), labels, entry.begin() + static_cast<std::ptrdiff_t>(labels));
      }
      const std::span<std::int32_t> entry(pool.data() + 2 * labels * found, 2 * labels);
      const LabelId old = y[t];
      y[t] = herd(entry.last(labels), entry.first(labels));
      const float* const scores = gain.data() + labels * found;
      return static_cast<double>(scores[y[t]]) - static_cast<double>(scores[old]);
    });
  std::copy(best.begin(), best.end(), y.begin());
}

}  // namespace drover
