#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/sample/lane_random_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/sample/gibbs/gibbs_spin_lattice.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "drover/sample/gibbs/gibbs_spin_draw-inl.hpp"

#ifndef DROVER_LATTICE_ROW
#define DROVER_LATTICE_ROW
namespace drover {

// The rows that one row of sites is drawn from. Each pointer is at the row's first bit or number.
struct LatticeRow {
  std::size_t sites;
  std::size_t shift;  // x = 2 j + shift
  std::uint64_t* own;
  const std::uint64_t *up, *level, *down;            // states of the other colour
  const float *bias, *right, *lower, *left, *upper;  // terms; left is that of the other colour's row
};

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {

// Fields (or, as a product, exp(-f)) of word k.
template <bool product>
HWY_INLINE void combine_word(const LatticeRow& row, std::size_t k, FloatVector* HWY_RESTRICT totals) {
  const FloatTag d;
  const std::uint64_t level = row.level[k];
  const std::uint64_t left = row.shift ? level : level << 1 | row.level[k - 1] >> 63;
  const std::uint64_t right = row.shift ? level >> 1 | row.level[k + 1] << 63 : level;
  const float* const left_terms = row.left - (row.shift ? 0 : 1);
  for (std::size_t v = 0; v < vector_count; ++v) {
    const std::size_t at = 64 * k + v * vector_lanes;
    FloatVector total = hn::LoadU(d, row.bias + at);
    total = combine<product>(total, mask_of(row.up[k], v), hn::LoadU(d, row.upper + at));
    total = combine<product>(total, mask_of(row.down[k], v), hn::LoadU(d, row.lower + at));
    total = combine<product>(total, mask_of(left, v), hn::LoadU(d, left_terms + at));
    totals[v] = combine<product>(total, mask_of(right, v), hn::LoadU(d, row.right + at));
  }
}

template <bool product, bool summed>
HWY_INLINE void draw_words(const LatticeRow& row, float inverse_temperature, const LaneWords& lane_words,
                           std::uint32_t place, float* HWY_RESTRICT sums) {
  const FloatTag d;
  for (std::size_t k = 0; 64 * k < row.sites; ++k) {
    WordVector random[vector_count];
    lane_words.draw(place + static_cast<std::uint32_t>(k), random);
    FloatVector totals[vector_count];
    combine_word<product>(row, k, totals);
    if constexpr (!product)
      for (std::size_t v = 0; v < vector_count; ++v)
        totals[v] = hn::Mul(totals[v], hn::Set(d, inverse_temperature));
    if constexpr (summed) {
      alignas(64) float p[64];
      for (std::size_t v = 0; v < vector_count; ++v)
        hn::Store(product ? probability_of_odds(totals[v]) : probability_of(totals[v]), d,
                  p + v * vector_lanes);
      add_to_every_second(sums + 128 * k + row.shift, p, std::min<std::size_t>(64, row.sites - 64 * k));
    }
    row.own[k] = product ? draw_word_of_odds(totals, random) : draw_word(totals, random);
  }
}

// Draws one row; `odds` when the terms are exp(-weight). `place` numbers its first word among all.
void draw_lattice_row(const LatticeRow& row, bool odds, float inverse_temperature, const LaneRandom& random,
                      std::uint32_t chain, std::uint64_t sweep, std::uint32_t place, float* sums) {
  const LaneWords lane_words(random, chain, sweep);
  if (odds) {
    if (sums)
      draw_words<true, true>(row, 1, lane_words, place, sums);
    else
      draw_words<true, false>(row, 1, lane_words, place, sums);
  } else if (sums) {
    draw_words<false, true>(row, inverse_temperature, lane_words, place, sums);
  } else {
    draw_words<false, false>(row, inverse_temperature, lane_words, place, sums);
  }
}

// sum of x_i (bias_i + right_i x_right + down_i x_down) over one row.
double score_row(const LatticeRow& row) {
  const FloatTag d;
  double score = 0;
  for (std::size_t k = 0; 64 * k < row.sites; ++k) {
    const std::size_t left = row.sites - 64 * k;
    const std::uint64_t own = left < 64 ? row.own[k] & ((std::uint64_t{1} << left) - 1) : row.own[k];
    const std::uint64_t right = row.shift ? row.level[k] >> 1 | row.level[k + 1] << 63 : row.level[k];
    FloatVector sum = hn::Zero(d);
    for (std::size_t v = 0; v < vector_count; ++v) {
      const std::size_t at = 64 * k + v * vector_lanes;
      sum = combine<false>(sum, mask_of(own, v), hn::LoadU(d, row.bias + at));
      sum = combine<false>(sum, mask_of(own & right, v), hn::LoadU(d, row.right + at));
      sum = combine<false>(sum, mask_of(own & row.down[k], v), hn::LoadU(d, row.lower + at));
    }
    score += hn::GetLane(hn::SumOfLanes(d, sum));
  }
  return score;
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

namespace {

HWY_EXPORT(draw_lattice_row);
HWY_EXPORT(score_row);

constexpr std::size_t band = 64;  // rows of one task

// Floats before a row, so that the number before the first exists and rows stay aligned.
constexpr std::size_t term_margin = 16;
std::size_t terms_stride(const Checkerboard& board) {
  return 64 * board.row_words() + 2 * term_margin;
}
std::size_t terms_row(const Checkerboard& board, std::size_t colour, std::size_t y) {
  return (colour * board.height + y) * terms_stride(board) + term_margin;
}

LatticeRow row_of(const Checkerboard& board, const GibbsSpinLattice::Terms& terms, std::uint64_t* words,
                  std::size_t colour, std::size_t y) {
  const std::size_t above = y == 0 ? board.height - 1 : y - 1, below = y + 1 == board.height ? 0 : y + 1;
  return {.sites = board.row_sites(colour, y),
          .shift = Checkerboard::shift(colour, y),
          .own = words + board.row(colour, y),
          .up = words + board.row(1 - colour, above),
          .level = words + board.row(1 - colour, y),
          .down = words + board.row(1 - colour, below),
          .bias = terms.bias.data() + terms_row(board, colour, y),
          .right = terms.right.data() + terms_row(board, colour, y),
          .lower = terms.down.data() + terms_row(board, colour, y),
          .left = terms.right.data() + terms_row(board, 1 - colour, y),
          .upper = terms.down.data() + terms_row(board, 1 - colour, above)};
}

void resize(GibbsSpinLattice::Terms& terms, std::size_t count) {
  terms.bias.resize(count);
  terms.right.resize(count);
  terms.down.resize(count);
}

// One row of either colour, what is around it too.
void fill_rows(const Checkerboard& board, GibbsSpinLattice::Terms& terms, std::size_t y, float value) {
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (auto* list : {&terms.bias, &terms.right, &terms.down})
      std::fill_n(list->data() + terms_row(board, colour, y) - term_margin, terms_stride(board), value);
}

}  // namespace

GibbsSpinLattice::GibbsSpinLattice(const Lattice& lattice)
    : CheckerboardKernel({lattice.width, lattice.height, lattice.periodic_x}),
      log_constant_(lattice.log_constant) {
  assert(lattice.is_checkerboard());
  const std::size_t count = 2 * board_.height * terms_stride(board_);
  resize(weights_, count);
  resize(odds_, count);
  const auto put_row = [&](std::size_t y) {
    fill_rows(board_, weights_, y, 0.0f);
    fill_rows(board_, odds_, y, 1.0f);
    double largest = 0;
    for (std::size_t x = 0; x < board_.width; ++x) {
      const std::size_t i = y * board_.width + x, colour = (x + y) % 2;
      const std::size_t at = terms_row(board_, colour, y) + x / 2;
      const auto put = [&](auto& weights, auto& odds, std::size_t place, float weight) {
        weights[place] = weight;
        odds[place] = std::exp(-weight);
      };
      put(weights_.bias, odds_.bias, at, lattice.bias[i]);
      put(weights_.right, odds_.right, at, lattice.right[i]);
      put(weights_.down, odds_.down, at, lattice.down[i]);
      if (x + 1 == board_.width && lattice.periodic_x)
        put(weights_.right, odds_.right, terms_row(board_, colour, y) - 1, lattice.right[i]);
      const std::size_t left = x == 0 ? i + board_.width - 1 : i - 1;
      const std::size_t above = y == 0 ? i + size() - board_.width : i - board_.width;
      largest = std::max<double>(largest, std::abs(lattice.bias[i]) + std::abs(lattice.right[i]) +
                                              std::abs(lattice.down[i]) + std::abs(lattice.right[left]) +
                                              std::abs(lattice.down[above]));
    }
    return largest;
  };
  const double largest = parallel_max(IndexRange(0, board_.height, 64), 0, [&](const IndexRange& rows) {
    double most = 0;
    for (std::size_t y = rows.begin(); y != rows.end(); ++y) most = std::max(most, put_row(y));
    return most;
  });
  moderate_ = largest <= 80;
}

GibbsSpinLattice::Rows::Rows(const GibbsSpinLattice& kernel, State& state)
    : kernel_(kernel),
      state_(state),
      random_(state.seed, Stream::sweep),
      odds_(kernel.moderate_ && state.inverse_temperature == 1) {}

void GibbsSpinLattice::Rows::draw(std::uint64_t sweep, std::size_t colour, std::size_t y, float* sums) const {
  const Checkerboard& board = kernel_.board_;
  const LatticeRow row =
      row_of(board, odds_ ? kernel_.odds_ : kernel_.weights_, state_.words.data(), colour, y);
  const auto place = static_cast<std::uint32_t>((colour * board.height + y) * board.row_words());
  HWY_DYNAMIC_DISPATCH(draw_lattice_row)
  (row, odds_, state_.inverse_temperature, random_, state_.chain, sweep, place, sums);
  board.mend_row(state_.words.data(), colour, y);
}

void GibbsSpinLattice::run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const {
  const Rows rows(*this, state);
  std::uint64_t done = 0;
  const auto draw = [&](std::size_t sweep, std::size_t colour, std::size_t y) {
    rows.draw(first + done + sweep, colour, y, sums ? sums + y * board_.width : nullptr);
  };
  for (std::uint64_t together = 0; done < count; done += together) {
    together = std::min<std::uint64_t>(board_.sweeps_together(band), count - done);
    board_.sweep_rows(together, band, 1 << 16, draw);
  }
}

WholeSum::Parts GibbsSpinLattice::score_parts(const State& state, std::size_t begin, std::size_t end) const {
  auto* const words = const_cast<std::uint64_t*>(state.words.data());  // only read
  WholeSum sum;
  for (std::size_t colour = 0; colour < 2; ++colour)
    for (std::size_t y = begin; y < end; ++y)
      sum.add(HWY_DYNAMIC_DISPATCH(score_row)(row_of(board_, weights_, words, colour, y)));
  return sum.parts();
}

void GibbsSpinLattice::log_scores(const State& state, std::span<double> scores) const {
  scores[0] = score_of(score_parts(state, 0, board_.height));
}

}  // namespace drover
#endif
