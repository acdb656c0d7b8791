// Gibbs sampling of one chain on a lattice, on several ranks, in bands of rows: GibbsSpinLattice or
// GibbsSpinEqualLattice, with one exchange for up to four sweeps.
//
// A half-sweep (all sites of one colour) reads the rows y - 1, y, y + 1 as the half-sweep before it left them, and
// random numbers belong to sites: so a rank can draw rows of its neighbours as well as they can. Before k sweeps it has
// the 2 k rows on either side of its band (of colour 1; colour 0 is drawn first). It draws 2 k - 1 of them in the first
// half-sweep, one less in each that follows, none in the last, and has nothing to ask for meanwhile. What it draws twice
// is 2 k - 1 rows for the whole band. Then the outermost rows travel, as bits.
//
// They are drawn first: a zone at either end, which loses a row inwards too with every half-sweep and ends with the
// rows that the neighbours wait for. These travel while the rows inside are drawn, as Checkerboard::sweep_stretch()
// does it. Bands that are too short for that are drawn half-sweep by half-sweep, with an exchange after every sweep. Bit
// for bit the chain of one process.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/parallel.hpp"
#include "drover/sample/gibbs/gibbs_spin_checkerboard.hpp"
#include "drover/sample/spread/spread_plan.hpp"

namespace drover {

template <class K>
class GibbsLatticeSpread {
 public:
  using State = typename K::State;

  /// Of the lattice that K is made of.
  template <class AnyLattice>
  GibbsLatticeSpread(const AnyLattice& lattice, const Ranks& ranks)
      : ranks_(ranks),
        kernel_(lattice),
        periodic_(lattice.periodic_y),
        begin_(part_begin(height(), ranks.rank(), ranks.size())),
        end_(part_begin(height(), ranks.rank() + 1, ranks.size())),
        own_((end_ - begin_) * width()) {
    std::iota(own_.begin(), own_.end(), static_cast<std::uint32_t>(begin_ * width()));
    // The same on every rank. Two zones and two triangles must have room in a band, and no row may be met from both ends.
    const std::size_t shortest = height() / ranks.size(),
                      longest = (height() + ranks.size() - 1) / ranks.size();
    together_ = std::clamp<std::size_t>((shortest + 4) / 12, 1, most_together);
    overlaps_ = shortest >= 8 && (!periodic_ || longest + 4 * together_ <= height());
    if (!overlaps_) together_ = 1;

    std::vector<std::uint32_t> owner(height());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t y = part_begin(height(), rank, ranks.size());
           y < part_begin(height(), rank + 1, ranks.size()); ++y)
        owner[y] = rank;
    const std::size_t colour_begin[] = {0, height()};
    const SpreadPlan plan =
        spread_plan(ranks, colour_begin, owner, {false}, [&](std::size_t y, const auto& see) {
          for (std::size_t row = y + height() - 2 * together_; row <= y + height() + 2 * together_; ++row)
            if (is_there(row)) see(row % height());
        });
    exchange_.emplace(ranks, plan.routes[0], kernel_.row_words());
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
  void sweep(State& state, std::uint64_t sweep) const { run(state, sweep, 1, nullptr); }
  void sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    run(state, sweep, 1, sums.sums.data());
  }
  void sweeps(State& state, std::uint64_t first, std::uint64_t count) const {
    run(state, first, count, nullptr);
  }
  void sweeps(State& state, std::uint64_t first, std::uint64_t count, ConditionalSums sums) const {
    run(state, first, count, sums.sums.data());
  }

  void gather(State& state) const {
    const std::size_t row_bytes = kernel_.row_words() * sizeof(std::uint64_t);
    std::vector<std::uint64_t> words(kernel_.row_words());
    std::string bytes;
    for (std::size_t colour = 0; colour < 2; ++colour)
      for (std::size_t y = begin_; y < end_; ++y) {
        kernel_.load_row(state, colour, y, words.data());
        bytes.append(reinterpret_cast<const char*>(words.data()), row_bytes);
      }
    const std::vector<std::string> parts = ranks_.gather(std::move(bytes));
    for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
      const char* from = parts[rank].data();
      for (std::size_t colour = 0; colour < 2; ++colour)
        for (std::size_t y = part_begin(height(), rank, ranks_.size());
             y < part_begin(height(), rank + 1, ranks_.size()); ++y, from += row_bytes) {
          std::memcpy(words.data(), from, row_bytes);
          kernel_.store_row(state, colour, y, words.data());
        }
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
    auto parts = kernel_.score_parts(state, begin_, end_);
    ranks_.add_up(parts);
    scores[0] = kernel_.score_of(parts);
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    kernel_.set_inverse_temperatures(state, inverse_temperatures);
  }

  /// Sweeps from one exchange to the next, and bytes that leave this rank in one.
  std::size_t sweeps_together() const { return together_; }
  std::size_t bytes_per_exchange() const { return exchange_->bytes(); }
  std::size_t messages_per_exchange() const { return exchange_->messages(); }
  /// The share of its rows that are drawn while others travel.
  double inner_share() const {
    const std::size_t zones = 4 * together_ + 2 * together_ - 1;  // a mean of the half-sweeps, both ends
    return overlaps_ ? 1 - static_cast<double>(zones) / static_cast<double>(end_ - begin_) : 0;
  }

 private:
  static constexpr std::size_t most_together = 4;
  static constexpr std::size_t band = 64;                // rows of one task
  static constexpr std::size_t parallel_from = 1 << 16;  // sites

  std::size_t width() const { return kernel_.board().width; }
  std::size_t height() const { return kernel_.board().height; }
  // Row y stands at height() + y, so that rows before the first have numbers; these are there if the lattice is periodic.
  bool is_there(std::size_t row) const { return periodic_ || (row >= height() && row < 2 * height()); }

  void run(State& state, std::uint64_t first, std::uint64_t count, float* sums) const {
    typename K::Rows rows = kernel_.rows(state, sums != nullptr);
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t end = done + K::Rows::next_part(count - done, sums != nullptr), from = done;
      for (std::uint64_t together = 0; done < end; done += together) {
        together = std::min<std::uint64_t>(together_, end - done);
        draw_together(rows, state, first + done, together, sums);
      }
      if (sums)
        parallel_for(IndexRange(begin_, end_, band), [&](const IndexRange& range) {
          for (std::size_t y = range.begin(); y != range.end(); ++y)
            rows.close(y, end - from, sums + (y - begin_) * width());
        });
    }
  }

  void draw_together(const typename K::Rows& rows, State& state, std::uint64_t first, std::size_t count,
                     float* sums) const {
    const std::size_t begin = height() + begin_, end = height() + end_, steps = 2 * count;
    const bool parallel = own_.size() >= parallel_from;
    const auto draw = [&](std::size_t step, std::size_t row) {
      if (!is_there(row)) return;
      const bool own = row >= begin && row < end;
      rows.draw(first + step / 2, step % 2, row % height(),
                own && sums ? sums + (row - begin) * width() : nullptr);
    };
    if (begin == end) return exchange(state, [] {});
    if (!overlaps_) {
      for (std::size_t step = 0; step < steps; ++step)
        for (std::size_t row = begin - (steps - 1 - step); row < end + (steps - 1 - step); ++row)
          draw(step, row);
      return exchange(state, [] {});
    }
    const std::size_t depth = 2 * together_ + steps - 1;  // of a zone in the first half-sweep
    const auto draw_zone = [&](std::size_t side) {
      for (std::size_t step = 0; step < steps; ++step) {
        const std::size_t inside = depth - step, beyond = steps - 1 - step;
        const std::size_t from = side == 0 ? begin - beyond : end - inside;
        for (std::size_t row = from; row < from + inside + beyond; ++row) draw(step, row);
      }
    };
    if (parallel)
      parallel_for(std::size_t{0}, 2, draw_zone);
    else
      for (std::size_t side : {0, 1}) draw_zone(side);
    exchange(state, [&] {
      Checkerboard::sweep_stretch(begin + depth, end - depth, steps, band, parallel, true, draw);
    });
  }

  template <class Meanwhile>
  void exchange(State& state, Meanwhile meanwhile) const {
    exchange_->begin([&](std::uint32_t y, std::uint64_t* words) { kernel_.load_row(state, 1, y, words); });
    meanwhile();
    exchange_->finish(
        [&](std::uint32_t y, const std::uint64_t* words) { kernel_.store_row(state, 1, y, words); });
  }

  const Ranks& ranks_;
  K kernel_;
  bool periodic_;
  std::size_t begin_, end_;  ///< own rows
  std::vector<std::uint32_t> own_;
  std::size_t together_ = 1;
  bool overlaps_ = false;                         ///< rows travel while others are drawn
  mutable std::optional<UnitExchange> exchange_;  ///< buffers, of no meaning between sweeps
};

}  // namespace drover
