// Gibbs sampling of one chain on a lattice with any couplings, on several ranks: GibbsSpinLattice in bands of
// rows, with an exchange per colour of the checkerboard.
//
// The outermost rows of a band go to its neighbours as bits. Both exchanges travel while rows inside are
// drawn: colour 0 of the two outermost rows at either end is drawn first and sent; then both colours of the
// upper half, colour 1 a row behind colour 0, which keeps them in cache; colour 1 of the outermost rows, as
// soon as the neighbours' colour 0 is there, is sent; then the lower half. Bit for bit the chain of one
// process.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>

#include "drover/core/parallel.hpp"
#include "drover/sample/gibbs/gibbs_spin_lattice.hpp"
#include "drover/sample/spread/spread_plan.hpp"

namespace drover {

class GibbsLatticeSpread {
 public:
  using State = GibbsSpinLattice::State;

  GibbsLatticeSpread(const Lattice& lattice, const Ranks& ranks)
      : ranks_(ranks),
        kernel_(lattice),
        begin_(part_begin(board().height, ranks.rank(), ranks.size())),
        end_(part_begin(board().height, ranks.rank() + 1, ranks.size())),
        own_((end_ - begin_) * board().width) {
    std::iota(own_.begin(), own_.end(), static_cast<std::uint32_t>(begin_ * board().width));
    const std::size_t height = board().height;
    std::vector<std::uint32_t> owner(2 * height);
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t y = part_begin(height, rank, ranks.size());
           y < part_begin(height, rank + 1, ranks.size()); ++y)
        owner[y] = owner[height + y] = rank;
    const std::size_t colour_begin[] = {0, height, 2 * height};
    const SpreadPlan plan =
        spread_plan(ranks, colour_begin, owner, {false, false}, [&](std::size_t unit, const auto& see) {
          const std::size_t y = unit % height, other = unit < height ? height : 0;
          see(other + y);
          if (y > 0 || lattice.periodic_y) see(other + (y + height - 1) % height);
          if (y + 1 < height || lattice.periodic_y) see(other + (y + 1) % height);
        });
    for (std::size_t c = 0; c < 2; ++c) exchanges_[c].emplace(ranks, plan.routes[c], board().row_words());
  }
  GibbsLatticeSpread(const GibbsLatticeSpread&) = delete;

  std::size_t size() const { return kernel_.size(); }
  std::uint32_t lanes() const { return 1; }
  std::size_t entry_count() const { return own_.size(); }
  std::size_t all_entries() const { return size(); }
  std::span<const std::uint32_t> own_entries() const { return own_; }
  const Ranks& ranks() const { return ranks_; }

  State start(std::uint64_t seed, std::uint32_t first_chain) const {
    return kernel_.start(seed, first_chain);
  }
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, sums.sums.data());
  }

  void gather(State& state) const {
    const std::size_t row_bytes = board().row_words() * sizeof(std::uint64_t);
    std::string bytes;
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t y = begin_; y < end_; ++y)
        bytes.append(reinterpret_cast<const char*>(state.words.data() + board().row(c, y)), row_bytes);
    const std::vector<std::string> parts = ranks_.gather(std::move(bytes));
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
      const char* from = parts[rank].data();
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t y = part_begin(board().height, rank, ranks_.size());
             y < part_begin(board().height, rank + 1, ranks_.size()); ++y, from += row_bytes)
          store(state, c * board().height + y, from);
    }
  }
  void read(const State& state, std::uint32_t lane, std::span<Value> values) const {
    State whole = state;
    gather(whole);
    if (ranks_.is_first()) kernel_.read(whole, lane, values);
  }
  /// The same values on every rank.
  void write(State& state, std::uint32_t lane, std::span<const Value> values) const {
    kernel_.write(state, lane, values);
  }
  void log_scores(const State& state, std::span<double> scores) const {
    WholeSum::Parts parts = kernel_.score_of(state, begin_, end_).parts();
    ranks_.add_up(parts);
    scores[0] = kernel_.log_constant() + WholeSum::of(parts).value();
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    kernel_.set_inverse_temperatures(state, inverse_temperatures);
  }

 private:
  static constexpr std::size_t fewest_rows = 6;          // below, nothing is drawn while rows travel
  static constexpr std::size_t band = 32;                // rows of one task
  static constexpr std::size_t parallel_from = 1 << 16;  // sites

  const Checkerboard& board() const { return kernel_.board(); }

  void store(State& state, std::size_t unit, const void* words) const {
    const std::size_t height = board().height, colour = unit / height, y = unit % height;
    std::memcpy(state.words.data() + board().row(colour, y), words,
                board().row_words() * sizeof(std::uint64_t));
    board().mend_row(state.words.data(), colour, y);
  }
  void begin(const State& state, std::size_t colour) const {
    const std::size_t height = board().height;
    exchanges_[colour]->begin([&](std::uint32_t unit, std::uint64_t* words) {
      std::copy_n(state.words.data() + board().row(unit / height, unit % height), board().row_words(), words);
    });
  }
  void finish(State& state, std::size_t colour) const {
    exchanges_[colour]->finish(
        [&](std::uint32_t unit, const std::uint64_t* words) { store(state, unit, words); });
  }

  // Rows begin .. end of colour 0 and other_begin .. other_end of colour 1, in bands that threads share;
  // either end of the latter may go one row beyond the former's, where colour 0 was drawn before, or end one
  // row within.
  template <class Draw>
  void draw_rows(std::size_t begin, std::size_t end, std::size_t other_begin, std::size_t other_end,
                 const Draw& draw) const {
    const std::size_t bands = (end - begin + band - 1) / band;
    const auto for_each_band = [&](auto body) {
      const auto one = [&](std::size_t b) { body(begin + b * band, std::min(end, begin + (b + 1) * band)); };
      if ((end - begin) * board().width < parallel_from)
        for (std::size_t b = 0; b < bands; ++b) one(b);
      else
        parallel_for(std::size_t{0}, bands, one);
    };
    for_each_band([&](std::size_t first, std::size_t last) {
      for (std::size_t y = first; y < last; ++y) {
        draw(0, y);
        if (y >= first + 2) draw(1, y - 1);
      }
    });
    for_each_band([&](std::size_t first, std::size_t last) {
      if (first >= other_begin && first < other_end) draw(1, first);
      if (last - first > 1 && last <= other_end) draw(1, last - 1);
    });
    if (other_begin < begin) draw(1, other_begin);
    if (other_end > end) draw(1, other_end - 1);
  }

  void run(State& state, std::uint64_t sweep, float* sums) const {
    const LaneRandom random(state.seed, Stream::sweep);
    const auto draw = [&](std::size_t colour, std::size_t y) {
      kernel_.draw_row(state, random, sweep, colour, y, sums ? sums + (y - begin_) * board().width : nullptr);
    };
    if (end_ - begin_ < fewest_rows) {
      for (std::size_t colour = 0; colour < 2; ++colour) {
        for (std::size_t y = begin_; y < end_; ++y) draw(colour, y);
        begin(state, colour);
        finish(state, colour);
      }
      return;
    }
    const std::size_t middle = begin_ + (end_ - begin_) / 2;
    for (std::size_t y : {begin_, begin_ + 1, end_ - 2, end_ - 1}) draw(0, y);
    begin(state, 0);
    draw_rows(begin_ + 2, middle + 1, begin_ + 1, middle, draw);
    finish(state, 0);
    draw(1, begin_);
    draw(1, end_ - 1);
    begin(state, 1);
    draw_rows(middle + 1, end_ - 2, middle, end_ - 1, draw);
    finish(state, 1);
  }

  const Ranks& ranks_;
  GibbsSpinLattice kernel_;
  std::size_t begin_, end_;  ///< own rows
  std::vector<std::uint32_t> own_;
  mutable std::optional<UnitExchange> exchanges_[2];  ///< buffers, of no meaning between sweeps
};

}  // namespace drover
