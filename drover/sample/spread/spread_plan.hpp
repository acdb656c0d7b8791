// One chain on several ranks: who draws which units of variables, and whose values a rank needs for that.
//
// Variables are laid out in units (64 of a colour, a row of a lattice), and the units of one colour are drawn
// together. Every rank keeps room for the values of all units (bits, little beside the weights) but only
// those that it draws or reads are up to date. For each colour a rank draws the units that others wait for,
// begins to exchange them, draws its inner units while they travel, and waits for the others'. Random numbers
// belong to the number of a unit among all, so that the bits are those of one process.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drover/core/ranks.hpp"
#include "drover/core/types.hpp"

namespace drover {

/// What a rank does for one colour.
struct ColourShare {
  std::vector<std::uint32_t> boundary;  ///< units that other ranks read, in order
  std::vector<std::uint32_t> inner;     ///< the other units that it draws, in order
};

/// Which units go to and come from another rank after a colour was drawn, both in order.
struct UnitRoute {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> out, in;
};

struct SpreadPlan {
  std::vector<ColourShare> shares;             ///< by colour
  std::vector<std::vector<UnitRoute>> routes;  ///< by colour
  std::vector<std::uint32_t> own;              ///< units whose values this rank vouches for, in order
};

/// `colour_begin[c] .. colour_begin[c + 1]` are the units of colour c, `owner[u]` is the rank of unit u.
/// `reads(u, see)` calls see(v) for every unit v that unit u reads, and may repeat itself. `twice[c]`: units
/// of colour c have no owner but are drawn by every rank that owns a unit which reads them, from the same
/// random numbers, and do not travel.
SpreadPlan spread_plan(
    const Ranks& ranks, std::span<const std::size_t> colour_begin, std::span<const std::uint32_t> owner,
    const std::vector<bool>& twice,
    const std::function<void(std::size_t, const std::function<void(std::size_t)>&)>& reads);

/// Exchanges the words of some units, `words_per_unit` each, of one State at a time.
class UnitExchange {
 public:
  UnitExchange(const Ranks& ranks, std::span<const UnitRoute> routes, std::size_t words_per_unit);

  /// `load(unit, words)` writes the words of a unit that goes out.
  template <class Load>
  void begin(Load load) {
    std::uint64_t* to = out_.data();
    for (std::uint32_t unit : sent_) {
      load(unit, to);
      to += words_per_unit_;
    }
    exchange_->begin();
  }
  /// `store(unit, words)` takes the words of a unit that came in.
  template <class Store>
  void finish(Store store) {
    exchange_->finish();
    const std::uint64_t* from = in_.data();
    for (std::uint32_t unit : received_) {
      store(unit, from);
      from += words_per_unit_;
    }
  }
  /// Bytes that leave this rank in one exchange, and the number of messages they are in.
  std::size_t bytes() const { return out_.size() * sizeof(std::uint64_t); }
  std::size_t messages() const { return messages_; }

 private:
  std::size_t words_per_unit_, messages_ = 0;
  std::vector<std::uint32_t> sent_, received_;
  std::vector<std::uint64_t> out_, in_;
  std::unique_ptr<Exchange> exchange_;
};

/// By colour; null where nothing ever travels.
using UnitExchanges = std::vector<std::unique_ptr<UnitExchange>>;
/// Of units of so many words.
UnitExchanges unit_exchanges(const Ranks& ranks, const SpreadPlan& plan, std::size_t words_per_unit);
/// What leaves a rank in a sweep: bytes, messages, and exchanges, which are colours that travel.
std::size_t bytes_per_sweep(const UnitExchanges& exchanges);
std::size_t messages_per_sweep(const UnitExchanges& exchanges);
std::size_t exchanges_per_sweep(const UnitExchanges& exchanges);

/// Brings the words of all units to rank 0: `load(unit, words)` gives those of a unit of this rank, `store(unit, words)`
/// takes those of any.
template <class Load, class Store>
void gather_units(const Ranks& ranks, std::span<const std::uint32_t> own, std::size_t words_per_unit,
                  Load load, Store store) {
  const std::size_t bytes_per_unit = words_per_unit * sizeof(std::uint64_t);
  std::string bytes;
  std::vector<std::uint64_t> words(words_per_unit);
  for (std::uint32_t unit : own) {
    load(unit, words.data());
    bytes.append(reinterpret_cast<const char*>(&unit), sizeof(unit));
    bytes.append(reinterpret_cast<const char*>(words.data()), bytes_per_unit);
  }
  for (const std::string& part : ranks.gather(std::move(bytes)))
    for (std::size_t at = 0; at < part.size(); at += sizeof(std::uint32_t) + bytes_per_unit) {
      std::uint32_t unit = 0;
      std::memcpy(&unit, part.data() + at, sizeof(unit));
      std::memcpy(words.data(), part.data() + at + sizeof(unit), bytes_per_unit);
      store(unit, words.data());
    }
}

/// The values and the log scores of a kernel that rank 0 works out of the whole state.
template <class Spread, class Kernel, class State>
void read_whole(const Spread& spread, const Kernel& kernel, const State& state, std::uint32_t lane,
                std::span<Value> values) {
  State whole = state;
  spread.gather(whole);
  if (spread.ranks().is_first()) kernel.read(whole, lane, values);
}
template <class Spread, class Kernel, class State>
void score_whole(const Spread& spread, const Kernel& kernel, const State& state, std::span<double> scores) {
  State whole = state;
  spread.gather(whole);
  if (spread.ranks().is_first()) kernel.log_scores(whole, scores);
  std::string bytes(reinterpret_cast<const char*>(scores.data()), scores.size_bytes());
  spread.ranks().broadcast(bytes);
  std::memcpy(scores.data(), bytes.data(), bytes.size());
}

}  // namespace drover
