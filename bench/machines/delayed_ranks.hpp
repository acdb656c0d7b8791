// Ranks whose exchanges arrive later than they do: a slower network than the one at hand. Every message carries the
// time it was sent (one clock: one machine), and whoever receives it waits until that time and the delay have passed,
// as it would wait for the message. What the network costs the processor is not made larger.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "drover/core/ranks.hpp"

namespace drover::bench {

class DelayedExchange : public Exchange {
 public:
  DelayedExchange(const Ranks& ranks, std::span<const Route> routes, double seconds)
      : routes_(routes.begin(), routes.end()), nanoseconds_(static_cast<std::uint64_t>(seconds * 1e9)) {
    std::vector<Route> longer;
    for (const Route& route : routes_) {  // one word more each way, for the time
      out_.emplace_back(route.out.empty() ? 0 : route.out.size() + 1);
      in_.emplace_back(route.in.empty() ? 0 : route.in.size() + 1);
      longer.push_back({route.rank, out_.back(), in_.back()});
    }
    exchange_ = ranks.exchange(longer);
  }
  void begin() override {
    for (std::size_t r = 0; r < routes_.size(); ++r) {
      if (out_[r].empty()) continue;
      std::copy(routes_[r].out.begin(), routes_[r].out.end(), out_[r].begin());
      out_[r].back() = now();
    }
    exchange_->begin();
  }
  void finish() override {
    exchange_->finish();
    std::uint64_t last = 0;
    for (std::size_t r = 0; r < routes_.size(); ++r) {
      if (in_[r].empty()) continue;
      std::copy(in_[r].begin(), in_[r].end() - 1, routes_[r].in.begin());
      last = std::max(last, in_[r].back());
    }
    while (last > 0 && now() < last + nanoseconds_) {
    }
  }

 private:
  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  std::vector<Route> routes_;
  std::uint64_t nanoseconds_;
  std::vector<std::vector<std::uint64_t>> out_, in_;
  std::unique_ptr<Exchange> exchange_;
};

class DelayedRanks : public Ranks {
 public:
  DelayedRanks(const Ranks& ranks, double seconds) : ranks_(ranks), seconds_(seconds) {}
  std::uint32_t rank() const override { return ranks_.rank(); }
  std::uint32_t size() const override { return ranks_.size(); }
  std::vector<std::string> gather(std::string bytes) const override {
    return ranks_.gather(std::move(bytes));
  }
  void broadcast(std::string& bytes) const override { ranks_.broadcast(bytes); }
  void begin_vote(std::uint32_t bits) const override { ranks_.begin_vote(bits); }
  std::uint32_t finish_vote() const override { return ranks_.finish_vote(); }
  void add_up(std::span<std::uint64_t> numbers) const override { ranks_.add_up(numbers); }
  std::vector<std::uint32_t> divide(const WorkGraph& graph) const override { return ranks_.divide(graph); }
  std::unique_ptr<Exchange> exchange(std::span<const Route> routes) const override {
    return std::make_unique<DelayedExchange>(ranks_, routes, seconds_);
  }

 private:
  const Ranks& ranks_;
  double seconds_;
};

}  // namespace drover::bench
