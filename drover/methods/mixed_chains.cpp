#include "drover/methods/mixed_chains.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/run/chain_run.hpp"

namespace drover {

namespace {

// Of reading and writing a variable of a chain, twice, in the unit of sweep_cost.hpp.
constexpr double hand_over_cost = 10;
// Handing over may take this share of the work.
constexpr double hand_over_share = 0.1;

class MixedChains final : public LiveChains {
 public:
  MixedChains(LiveChains& first, LiveChains& second, std::size_t variables)
      : first_(first), second_(second), x_(variables) {
    assert(first.chains() == second.chains());
    const double one = first.work_per_sweep(), other = second.work_per_sweep();
    const double hand_over = hand_over_cost * static_cast<double>(variables) * first.chains();
    const double turn = std::max({one, other, hand_over / (2 * hand_over_share)});
    turn_of_first_ = static_cast<std::uint64_t>(std::lround(turn / one));
    turn_of_second_ = static_cast<std::uint64_t>(std::lround(turn / other));
    work_per_sweep_ = one + (static_cast<double>(turn_of_second_) * other + hand_over) /
                                static_cast<double>(turn_of_first_);
  }

  std::uint32_t chains() const override { return first_.chains(); }
  void start_at(std::uint32_t chain, std::span<const Value> x) override { first_.start_at(chain, x); }
  void run_to(std::uint64_t sweeps, const RunControl& control) override {
    while (first_.sweeps_done() < sweeps) {
      const std::uint64_t done = first_.sweeps_done();
      first_.run_to(std::min(sweeps, (done / turn_of_first_ + 1) * turn_of_first_), control);
      if (first_.sweeps_done() == done) return;
      if (first_.sweeps_done() % turn_of_first_ != 0) continue;
      hand_over(first_, second_);
      second_.run_to(second_.sweeps_done() + turn_of_second_, control);
      hand_over(second_, first_);
    }
  }
  void discard_before(std::uint64_t sweep) override { first_.discard_before(sweep); }
  void read(std::uint32_t chain, std::span<Value> x) const override { first_.read(chain, x); }
  std::uint64_t sweeps_done() const override { return first_.sweeps_done(); }
  std::uint64_t draws() const override { return first_.draws(); }
  const SegmentStore& store() const override { return first_.store(); }
  double work_per_sweep() const override { return work_per_sweep_; }
  SweepSize sweep_size() const override { return first_.sweep_size(); }
  double replicas() const override { return first_.replicas(); }
  std::uint64_t blocks() const override { return first_.blocks() ^ second_.blocks(); }
  std::span<const Value> best_state() const override { return better().best_state(); }
  double best_log_score() const override { return better().best_log_score(); }
  MarginalsResult result() override {
    MarginalsResult result = first_.result();
    result.updates += static_cast<double>(second_.sweeps_done()) * static_cast<double>(x_.size()) * chains();
    return result;
  }
  void release() override {
    first_.release();
    second_.release();
  }

 private:
  void hand_over(const LiveChains& from, LiveChains& to) {
    for (std::uint32_t c = 0; c < from.chains(); ++c) {
      from.read(c, x_);
      to.start_at(c, x_);
    }
  }
  const LiveChains& better() const {
    return second_.best_log_score() > first_.best_log_score() ? second_ : first_;
  }

  LiveChains& first_;
  LiveChains& second_;
  std::vector<Value> x_;
  std::uint64_t turn_of_first_, turn_of_second_;  // sweeps
  double work_per_sweep_;
};

}  // namespace

RunFacts enter_mixture(const Method& first, const Method& second, const Problem& problem,
                       const ChainOptions& options, const RunControl& control, const UseChains& use) {
  assert(options.chains > 0);
  // Numbers belong to a seed, a sweep and a site: the second must not meet those that moved the first.
  ChainOptions apart = options;
  apart.seed = ~options.seed;
  RunFacts others;
  RunFacts facts = first.enter(problem, options, control, [&](LiveChains& one) {
    others = second.enter(problem, apart, control, [&](LiveChains& other) {
      MixedChains both(one, other, problem.graph().size());
      use(both);
    });
  });
  for (const auto& [name, value] : others.details.entries()) facts.details[name] = value;
  facts.warnings.insert(facts.warnings.end(), others.warnings.begin(), others.warnings.end());
  return facts;
}

}  // namespace drover
