#include "drover/sample/spread/spread_plan.hpp"

#include <algorithm>

namespace drover {

namespace {

/// A set of ranks for every unit.
class RankSets {
 public:
  RankSets(std::size_t units, std::uint32_t ranks) : words_((ranks + 63) / 64), bits_(units * words_, 0) {}
  void add(std::size_t unit, std::uint32_t rank) {
    bits_[unit * words_ + rank / 64] |= std::uint64_t{1} << rank % 64;
  }
  bool has(std::size_t unit, std::uint32_t rank) const {
    return bits_[unit * words_ + rank / 64] >> rank % 64 & 1;
  }
  void add_all(std::size_t unit, const RankSets& from, std::size_t of_unit) {
    for (std::size_t k = 0; k < words_; ++k) bits_[unit * words_ + k] |= from.bits_[of_unit * words_ + k];
  }
  bool has_other(std::size_t unit, std::uint32_t rank) const {
    for (std::size_t k = 0; k < words_; ++k) {
      const std::uint64_t own = rank / 64 == k ? std::uint64_t{1} << rank % 64 : 0;
      if ((bits_[unit * words_ + k] & ~own) != 0) return true;
    }
    return false;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

SpreadPlan spread_plan(
    const Ranks& ranks, std::span<const std::size_t> colour_begin, std::span<const std::uint32_t> owner,
    const std::vector<bool>& twice,
    const std::function<void(std::size_t, const std::function<void(std::size_t)>&)>& reads) {
  const std::size_t colours = colour_begin.size() - 1, units = colour_begin.back();
  const std::uint32_t self = ranks.rank();
  std::vector<std::uint32_t> colour_of(units);
  for (std::size_t c = 0; c < colours; ++c)
    std::fill(colour_of.begin() + static_cast<std::ptrdiff_t>(colour_begin[c]),
              colour_of.begin() + static_cast<std::ptrdiff_t>(colour_begin[c + 1]),
              static_cast<std::uint32_t>(c));
  RankSets drawn_by(units, ranks.size()), read_by(units, ranks.size());
  for (std::size_t u = 0; u < units; ++u)
    if (!twice[colour_of[u]]) drawn_by.add(u, owner[u]);
  for (std::size_t u = 0; u < units; ++u)
    if (!twice[colour_of[u]])
      reads(u, [&](std::size_t v) {
        if (twice[colour_of[v]]) drawn_by.add(v, owner[u]);
      });
  for (std::size_t u = 0; u < units; ++u) reads(u, [&](std::size_t v) { read_by.add_all(v, drawn_by, u); });

  SpreadPlan plan;
  plan.shares.resize(colours);
  plan.routes.resize(colours);
  for (std::size_t c = 0; c < colours; ++c) {
    std::vector<UnitRoute> routes(ranks.size());
    for (std::size_t u = colour_begin[c]; u < colour_begin[c + 1]; ++u) {
      const auto unit = static_cast<std::uint32_t>(u);
      if (twice[c]) {
        if (drawn_by.has(u, self)) plan.shares[c].inner.push_back(unit);
        continue;
      }
      if (owner[u] != self) {
        if (read_by.has(u, self)) routes[owner[u]].in.push_back(unit);
        continue;
      }
      plan.own.push_back(unit);
      if (!read_by.has_other(u, self)) {
        plan.shares[c].inner.push_back(unit);
        continue;
      }
      plan.shares[c].boundary.push_back(unit);
      for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
        if (rank != self && read_by.has(u, rank)) routes[rank].out.push_back(unit);
    }
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      routes[rank].rank = rank;
      if (!routes[rank].in.empty() || !routes[rank].out.empty())
        plan.routes[c].push_back(std::move(routes[rank]));
    }
  }
  return plan;
}

UnitExchange::UnitExchange(const Ranks& ranks, std::span<const UnitRoute> routes, std::size_t words_per_unit)
    : words_per_unit_(words_per_unit) {
  for (const UnitRoute& route : routes) {
    sent_.insert(sent_.end(), route.out.begin(), route.out.end());
    received_.insert(received_.end(), route.in.begin(), route.in.end());
    messages_ += route.out.empty() ? 0 : 1;
  }
  out_.resize(sent_.size() * words_per_unit);
  in_.resize(received_.size() * words_per_unit);
  std::vector<Route> places;
  std::size_t out = 0, in = 0;
  for (const UnitRoute& route : routes) {
    const std::size_t going = route.out.size() * words_per_unit, coming = route.in.size() * words_per_unit;
    places.push_back({route.rank, std::span(out_).subspan(out, going), std::span(in_).subspan(in, coming)});
    out += going;
    in += coming;
  }
  exchange_ = ranks.exchange(places);
}

UnitExchanges unit_exchanges(const Ranks& ranks, const SpreadPlan& plan, std::size_t words_per_unit) {
  UnitExchanges exchanges;
  for (const auto& routes : plan.routes)
    exchanges.push_back(routes.empty() ? nullptr
                                       : std::make_unique<UnitExchange>(ranks, routes, words_per_unit));
  return exchanges;
}

std::size_t bytes_per_sweep(const UnitExchanges& exchanges) {
  std::size_t bytes = 0;
  for (const auto& exchange : exchanges) bytes += exchange ? exchange->bytes() : 0;
  return bytes;
}

std::size_t messages_per_sweep(const UnitExchanges& exchanges) {
  std::size_t messages = 0;
  for (const auto& exchange : exchanges) messages += exchange ? exchange->messages() : 0;
  return messages;
}

std::size_t exchanges_per_sweep(const UnitExchanges& exchanges) {
  return static_cast<std::size_t>(
      std::ranges::count_if(exchanges, [](const auto& exchange) { return exchange != nullptr; }));
}

}  // namespace drover
