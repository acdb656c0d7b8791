// Ranks that are threads of one process: everything that travels between machines travels here too, so that
// what does not depend on MPI is tested without it. Units are divided by a hash, which leaves hardly a unit
// without neighbours elsewhere.
#pragma once

#include <barrier>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "drover/core/ranks.hpp"

namespace drover::testing {

class ThreadHub {
 public:
  explicit ThreadHub(std::uint32_t ranks)
      : size(ranks), boxes(ranks), meeting(static_cast<std::ptrdiff_t>(ranks)) {}

  struct Vote {
    std::uint32_t bits = 0, given = 0;
  };
  const std::uint32_t size;
  std::vector<std::string> boxes;
  std::barrier<> meeting;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, Vote> votes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::vector<std::uint64_t>>> travelling;
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(ThreadHub& hub, std::uint32_t rank) : hub_(hub), rank_(rank) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return hub_.size; }

  std::vector<std::string> gather(std::string bytes) const override {
    hub_.boxes[rank_] = std::move(bytes);
    hub_.meeting.arrive_and_wait();
    std::vector<std::string> all;
    if (rank_ == 0) all = hub_.boxes;
    hub_.meeting.arrive_and_wait();
    return all;
  }
  void broadcast(std::string& bytes) const override {
    if (rank_ == 0) hub_.boxes[0] = bytes;
    hub_.meeting.arrive_and_wait();
    bytes = hub_.boxes[0];
    hub_.meeting.arrive_and_wait();
  }
  void begin_vote(std::uint32_t bits) const override {
    const std::lock_guard lock(hub_.mutex);
    ThreadHub::Vote& vote = hub_.votes[vote_];
    vote.bits |= bits;
    ++vote.given;
    hub_.changed.notify_all();
  }
  std::uint32_t finish_vote() const override {
    std::unique_lock lock(hub_.mutex);
    hub_.changed.wait(lock, [&] { return hub_.votes[vote_].given == hub_.size; });
    return hub_.votes[vote_++].bits;
  }
  void add_up(std::span<std::uint64_t> numbers) const override {
    hub_.boxes[rank_].assign(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    hub_.meeting.arrive_and_wait();
    std::vector<std::uint64_t> sums(numbers.size(), 0);
    for (const std::string& box : hub_.boxes)
      for (std::size_t k = 0; k < sums.size(); ++k)
        sums[k] += reinterpret_cast<const std::uint64_t*>(box.data())[k];
    hub_.meeting.arrive_and_wait();
    std::copy(sums.begin(), sums.end(), numbers.begin());
  }
  std::unique_ptr<Exchange> exchange(std::span<const Route> routes) const override;
  std::vector<std::uint32_t> divide(const WorkGraph& graph) const override {
    std::vector<std::uint32_t> parts;
    for (std::size_t u = 0; u < graph.work.size(); ++u)
      parts.push_back(static_cast<std::uint32_t>((u * 2654435761U >> 7) % hub_.size));
    return parts;
  }

 private:
  friend class ThreadExchange;
  ThreadHub& hub_;
  std::uint32_t rank_;
  mutable std::uint64_t vote_ = 0;
};

class ThreadExchange : public Exchange {
 public:
  ThreadExchange(const ThreadRanks& ranks, std::span<const Route> routes)
      : ranks_(ranks), routes_(routes.begin(), routes.end()) {}
  void begin() override {
    const std::lock_guard lock(ranks_.hub_.mutex);
    for (const Route& route : routes_)
      if (!route.out.empty())
        ranks_.hub_.travelling[{ranks_.rank_, route.rank}].emplace_back(route.out.begin(), route.out.end());
    ranks_.hub_.changed.notify_all();
  }
  void finish() override {
    std::unique_lock lock(ranks_.hub_.mutex);
    for (const Route& route : routes_) {
      if (route.in.empty()) continue;
      auto& box = ranks_.hub_.travelling[{route.rank, ranks_.rank_}];
      ranks_.hub_.changed.wait(lock, [&] { return !box.empty(); });
      if (box.front().size() != route.in.size()) std::terminate();
      std::copy(box.front().begin(), box.front().end(), route.in.begin());
      box.pop_front();
    }
  }

 private:
  const ThreadRanks& ranks_;
  std::vector<Route> routes_;
};

inline std::unique_ptr<Exchange> ThreadRanks::exchange(std::span<const Route> routes) const {
  return std::make_unique<ThreadExchange>(*this, routes);
}

/// work(ranks) on so many ranks at once. An exception ends the program: the others would wait.
inline void run_ranks(std::uint32_t count, const std::function<void(const Ranks&)>& work) {
  ThreadHub hub(count);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank]() noexcept { work(ThreadRanks(hub, rank)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace drover::testing
