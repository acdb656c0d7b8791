// Parallel tempering: replicas at a ladder of temperatures exchange places, so that the coldest one, at
// inverse temperature 1, hears of every valley the hot ones find.
//
// Source: even-odd swaps and the ladder by equal rejection: S. Syed, A. Bouchard-Cote, G. Deligiannidis,
// A. Doucet, Non-reversible parallel tempering: a scalable highly parallel MCMC scheme, J. R. Statist. Soc. B
// 84 (2022). Replica exchange: C. Geyer (1991).
//
//   rungs  0 <= beta_0 < ... < beta_(R-1) = 1,   replica at rung t samples p~(x)^beta_t
//   swap rungs t and t + 1 with probability  min(1, exp((beta_(t+1) - beta_t) (l(x_t) - l(x_(t+1))))),
//   l = log p~;  even t in even sweeps, odd t in odd sweeps
//
// The replicas are lanes of a Kernel's State with their own inverse temperatures, so they step together at
// the speed of the kernel; a swap exchanges two temperatures, never two states. Several ladders share the
// lanes when they fit (64 lanes: 8 ladders of 8 rungs, 6 of 10 with 4 lanes idle); a ladder longer than the
// lanes takes several States. A ladder is one chain of Tempering, which itself is a Kernel: read() gives the
// cold replica, so runner, estimators and checkpoints need to know nothing of the rungs.
//
// tune_ladder() finds the ladder first. With r_t the mean rejection of the swap (t, t + 1), the sums of r are
// a curve over beta that hardly depends on the ladder (the communication barrier; its end is called Lambda);
// rungs at equal steps of the curve make all rejections equal, and about 2 Lambda + 1 rungs (rejection near
// one half) make the most of a given number of replicas. The ladder is fixed afterwards, so the draws come
// from one unchanging Markov chain.
//
// When it fails: Lambda grows as the square root of the number of variables; beyond max_rungs the swaps are
// mostly refused, which the report shows (acceptance, round trips). The hot end must move freely by itself:
// with hard zeros it may not.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/core/run_control.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/sample/anneal/temperatures.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

/// Inverse temperatures of the rungs, rising from the hot end to 1, and what was learnt while tuning.
struct Ladder {
  std::vector<double> inverse_temperatures;
  double barrier = 0;  ///< Lambda as estimated in the last round of tuning; 0 when not tuned

  std::size_t rungs() const { return inverse_temperatures.size(); }
};

struct LadderOptions {
  std::uint64_t seed = 1;
  std::uint64_t sweeps = 1000;           ///< spent on tuning, about; at least 64
  std::optional<std::uint32_t> rungs{};  ///< unset: from the barrier
  std::uint32_t max_rungs = 64;
  std::optional<double> hottest{};  ///< inverse temperature of the hot end, below 1; unset: automatic
  const RunControl* control = &no_control();  ///< its end is that of the tuning, with Error stopped
};

/// The swaps of one sweep; points into the State, and is valid until its next sweep.
struct SwapInfo {
  std::span<const double> acceptance;  ///< per ladder and pair of rungs: the probability; NaN: not offered
  std::size_t pairs;                   ///< of one ladder
  std::uint64_t round_trips;
};

/// What happened to the swaps, added up.
struct SwapCounts {
  std::uint64_t rounds = 0;            ///< sweeps times ladders
  std::vector<double> acceptance;      ///< per pair of rungs: sum of the acceptance probabilities
  std::vector<std::uint64_t> offered;  ///< per pair of rungs
  std::uint64_t round_trips = 0;       ///< hot end, cold end and back to the hot end

  void add(const SwapInfo& info);
  void add(const SwapCounts& other);
  template <class Archive>
  void visit(Archive& archive) {
    archive(rounds);
    archive(acceptance);
    archive(offered);
    archive(round_trips);
  }
};

struct TemperingReport {
  std::vector<double> inverse_temperatures;
  std::vector<double> swap_acceptance;  ///< per pair of rungs
  double barrier = 0;                   ///< Lambda: the sum of the rejections
  std::uint64_t round_trips = 0;
  double round_trip_rate = 0;  ///< round trips per sweep of one ladder, over all its replicas
  double best_rate = 0;        ///< 1 / (2 + 2 sum r / (1 - r)), what independent replicas would reach
};

TemperingReport tempering_report(const Ladder& ladder, const SwapCounts& counts);

/// Raises usage errors; fills in the hot end. The result has `hottest`.
LadderOptions checked(const LadderOptions& options, const Graph& graph);

/// How many rungs the barrier asks for, within the options' limits.
std::size_t wanted_rungs(double barrier, const LadderOptions& options);

/// Where a replica is on its round trip.
enum class Journey : std::uint8_t { none, from_hot, from_hot_and_cold };

/// One ladder of a State, as the swaps see it.
struct LadderView {
  std::span<std::uint32_t> replica_of;  ///< per rung: the replica on it
  std::span<const double> scores;       ///< per replica: log p~
  std::span<Journey> journeys;          ///< per replica
  double scale;                         ///< the rungs' inverse temperatures are times this
  std::span<double> acceptance;         ///< per pair of rungs: what SwapInfo tells
};

/// One round of even-odd swaps; `chain` is the ladder's number in the run. Whether it ended a round trip.
bool swap_rungs(const Ladder& ladder, const LadderView& view, const Random& random, std::uint32_t chain,
                std::uint64_t sweep);

template <Kernel K>
class Tempering {
 public:
  using Totals = SwapCounts;

  struct State {
    std::vector<typename K::State> parts;   ///< the lanes of all replicas
    std::vector<std::uint32_t> replica_of;  ///< per ladder and rung: the replica of that ladder
    std::vector<Journey> journeys;          ///< per ladder and replica
    std::vector<double> scores;             ///< log p~ of every lane of every part, as of now
    std::vector<float> scales;              ///< per ladder: all its inverse temperatures are times this
    std::uint64_t seed = 0;
    std::uint32_t first_chain = 0;
    std::vector<float> lane_temperatures;  ///< inverse, of every lane of every part
    // What follows does not outlive a sweep.
    std::vector<float> scratch;      ///< conditionals of all lanes of one part
    std::vector<double> acceptance;  ///< of the swaps, as in SwapInfo

    template <class Archive>
    void visit(Archive& archive) {
      for (auto& part : parts) part.visit(archive);
      archive(replica_of);
      archive(journeys);
      archive(scores);
      archive(scales);
      archive(seed);
      archive(first_chain);
      archive(lane_temperatures);
    }
  };

  /// The kernel must outlive this; the ladder has at least 2 rungs and ends at 1.
  Tempering(const K& kernel, Ladder ladder)
      : kernel_(kernel),
        ladder_(std::move(ladder)),
        rungs_(static_cast<std::uint32_t>(ladder_.rungs())),
        ladders_(std::max(1U, kernel_.lanes() / rungs_)),
        parts_((ladders_ * rungs_ + kernel_.lanes() - 1) / kernel_.lanes()) {}

  std::size_t size() const { return kernel_.size(); }
  std::uint32_t lanes() const { return ladders_; }
  std::size_t entry_count() const { return kernel_.entry_count(); }
  const Ladder& ladder() const { return ladder_; }

  State start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control = no_control()) const {
    StopCheck check(control, "the chains", "were started");
    State state;
    state.seed = seed;
    state.first_chain = first_chain;
    const std::uint32_t batch = first_chain / ladders_;
    for (std::uint32_t part = 0; part < parts_; ++part) {
      state.parts.push_back(kernel_.start(seed, (batch * parts_ + part) * kernel_.lanes()));
      check.ask();
    }
    state.replica_of.resize(ladders_ * rungs_);
    for (std::uint32_t i = 0; i < state.replica_of.size(); ++i) state.replica_of[i] = i % rungs_;
    state.journeys.assign(ladders_ * rungs_, Journey::none);
    state.lane_temperatures.assign(parts_ * kernel_.lanes(), 1.0F);
    state.scores.resize(parts_ * kernel_.lanes());
    state.scales.assign(ladders_, 1.0F);
    set_lanes(state);
    for (std::uint32_t part = 0; part < parts_; ++part) {
      score(state, part);
      check.ask();
    }
    return state;
  }

  /// One sweep of every replica, then one round of swaps.
  SwapInfo sweep(State& state, std::uint64_t sweep) const {
    for (auto& part : state.parts) kernel_.sweep(part, sweep);
    return swap(state, sweep);
  }

  SwapInfo sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const {
    for (std::uint32_t part = 0; part < parts_; ++part) {
      bool has_cold = false;
      for (std::uint32_t ladder = 0; ladder < ladders_; ++ladder)
        has_cold |= place(state, ladder, rungs_ - 1) / kernel_.lanes() == part;
      if (!has_cold) {
        kernel_.sweep(state.parts[part], sweep);
        continue;
      }
      state.scratch.assign(entry_count() * kernel_.lanes(), 0.0F);
      kernel_.sweep(state.parts[part], sweep, ConditionalSums{state.scratch});
      add_cold(state, part, sums.sums);
    }
    return swap(state, sweep);
  }

  void read(const State& state, std::uint32_t ladder, std::span<Value> values) const {
    read_rung(state, ladder, rungs_ - 1, values);
  }
  void write(State& state, std::uint32_t ladder, std::span<const Value> values) const {
    write_rung(state, ladder, rungs_ - 1, values);
  }
  void log_scores(const State& state, std::span<double> scores) const {
    for (std::uint32_t ladder = 0; ladder < ladders_; ++ladder)
      scores[ladder] = state.scores[place(state, ladder, rungs_ - 1)];
  }
  void set_inverse_temperatures(State& state, std::span<const float> inverse_temperatures) const {
    state.scales.assign(inverse_temperatures.begin(), inverse_temperatures.end());
    set_lanes(state);
  }

  void read_rung(const State& state, std::uint32_t ladder, std::uint32_t rung,
                 std::span<Value> values) const {
    const std::uint32_t at = place(state, ladder, rung);
    kernel_.read(state.parts[at / kernel_.lanes()], at % kernel_.lanes(), values);
  }
  void write_rung(State& state, std::uint32_t ladder, std::uint32_t rung,
                  std::span<const Value> values) const {
    const std::uint32_t at = place(state, ladder, rung);
    kernel_.write(state.parts[at / kernel_.lanes()], at % kernel_.lanes(), values);
    score(state, at / kernel_.lanes());
  }

 private:
  /// The lane of the replica on a rung, counted through all parts.
  std::uint32_t place(const State& state, std::uint32_t ladder, std::uint32_t rung) const {
    return ladder * rungs_ + state.replica_of[ladder * rungs_ + rung];
  }

  void score(State& state, std::uint32_t part) const {
    const std::span<double> scores(state.scores);
    kernel_.log_scores(state.parts[part], scores.subspan(part * kernel_.lanes(), kernel_.lanes()));
  }

  /// Gives every lane the temperature of its rung; idle lanes keep 1.
  void set_lanes(State& state) const {
    for (std::uint32_t ladder = 0; ladder < ladders_; ++ladder)
      for (std::uint32_t rung = 0; rung < rungs_; ++rung)
        state.lane_temperatures[place(state, ladder, rung)] =
            state.scales[ladder] * static_cast<float>(ladder_.inverse_temperatures[rung]);
    const std::span<const float> all(state.lane_temperatures);
    for (std::uint32_t part = 0; part < parts_; ++part)
      kernel_.set_inverse_temperatures(state.parts[part],
                                       all.subspan(part * kernel_.lanes(), kernel_.lanes()));
  }

  SwapInfo swap(State& state, std::uint64_t sweep) const {
    for (std::uint32_t part = 0; part < parts_; ++part) score(state, part);
    const std::size_t pairs = rungs_ - 1;
    state.acceptance.assign(ladders_ * pairs, std::numeric_limits<double>::quiet_NaN());
    std::uint64_t round_trips = 0;
    const Random random(state.seed, Stream::swap);
    for (std::uint32_t ladder = 0; ladder < ladders_; ++ladder) {
      const std::size_t first = ladder * rungs_;
      const LadderView view{std::span(state.replica_of).subspan(first, rungs_),
                            std::span<const double>(state.scores).subspan(first, rungs_),
                            std::span(state.journeys).subspan(first, rungs_), state.scales[ladder],
                            std::span(state.acceptance).subspan(ladder * pairs, pairs)};
      round_trips += swap_rungs(ladder_, view, random, state.first_chain + ladder, sweep) ? 1 : 0;
    }
    set_lanes(state);
    return {state.acceptance, pairs, round_trips};
  }

  /// Picks the cold lanes of one part out of the scratch sums.
  void add_cold(const State& state, std::uint32_t part, std::span<float> sums) const {
    const std::uint32_t lanes = kernel_.lanes();
    for (std::uint32_t ladder = 0; ladder < ladders_; ++ladder) {
      const std::uint32_t at = place(state, ladder, rungs_ - 1);
      if (at / lanes != part) continue;
      const float* from = state.scratch.data() + at % lanes;
      for (std::size_t entry = 0; entry < entry_count(); ++entry)
        sums[entry * ladders_ + ladder] += from[entry * lanes];
    }
  }

  const K& kernel_;
  Ladder ladder_;
  std::uint32_t rungs_;
  std::uint32_t ladders_;  ///< side by side in one State
  std::uint32_t parts_;    ///< States of the kernel in one State
};

/// Runs a ladder from the kernel's own start and counts the swaps of the second half.
template <Kernel K>
SwapCounts try_ladder(const K& kernel, const std::vector<double>& inverse_temperatures,
                      const LadderOptions& options, std::uint64_t sweeps) {
  const Tempering<K> tempering(kernel, {inverse_temperatures});
  auto state = tempering.start(options.seed, 0);
  SwapCounts counts;
  for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
    fail_if_stopped(*options.control, "the tuning of the temperatures");
    const SwapInfo info = tempering.sweep(state, sweep);
    if (sweep >= sweeps / 2) counts.add(info);
  }
  return counts;
}

/// Finds the rungs of equal rejection in rounds of 1/16, 1/16, 1/8, 1/4, 1/2 of options.sweeps; every round
/// starts from the rungs that the one before it asked for. Depends on the seed alone.
template <Kernel K>
Ladder tune_ladder(const Graph& graph, const K& kernel, const LadderOptions& asked) {
  const LadderOptions options = checked(asked, graph);
  Ladder ladder;
  ladder.inverse_temperatures =
      rising_inverse_temperatures(graph, *options.hottest, wanted_rungs(6, options));
  for (const std::uint64_t share : {16, 16, 8, 4, 2}) {
    const SwapCounts counts =
        try_ladder(kernel, ladder.inverse_temperatures, options, options.sweeps / share);
    const TemperingReport report = tempering_report(ladder, counts);
    std::vector<double> rejections;
    for (double acceptance : report.swap_acceptance) rejections.push_back(1 - acceptance);
    ladder.barrier = report.barrier;
    ladder.inverse_temperatures =
        equal_cost_spacing(ladder.inverse_temperatures, rejections, wanted_rungs(ladder.barrier, options));
  }
  return ladder;
}

}  // namespace drover
