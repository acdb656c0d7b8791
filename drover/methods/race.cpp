// The race: every sampler that fits makes a short pilot, and the one that learns most per unit of work goes
// on until its chains agree. What `auto` does where exact inference is out of reach.
//
//   heats      all contestants run until they have done the same counted work (sweep_cost.hpp), which doubles
//              from heat to heat; those whose slowest entries gain far fewer effective samples per work than
//              the best contestant's leave (successive halving: Karnin, Koren and Somekh 2013). No pilot and
//              no heat is worth more than the work that is left to the leader: where it would meet its
//              targets about as soon, it goes on alone;
//   escalation when the leader is far from its targets, blocked Gibbs with larger and larger tables enters, and
//              those whose pilots cost too much to be among the first, cheapest first; and two samplers in turns
//              (mixed_chains.hpp) where their pilots say that each is fast where the other is slow;
//   final      the winner runs on, or the best of those that left once the winner proves worse, until
//              R-hat <= 1.01 and ESS >= 400 hold for every entry and the groups of chains have forgotten their
//              starts (nested_rhat.hpp), or until the budget or the time is used.
//
// Burn-in is the first quarter of a pilot; of longer runs a quarter or ten autocorrelation times of the
// slowest entries, whichever is less. Without a time limit nothing depends on the clock: same seed, same bits.
// A winner that disagrees with another contestant which had come as far is not called converged.
//
// When it fails: a mode that no contestant and no start came near is not seen. A pilot is a short look: where
// all rates are alike or all chains stuck, the choice is a guess.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "drover/methods/all.hpp"
#include "drover/methods/chains.hpp"
#include "drover/methods/contestant.hpp"
#include "drover/methods/joint_counter.hpp"
#include "drover/methods/mixed_chains.hpp"
#include "drover/methods/race_starts.hpp"
#include "drover/methods/race_verdict.hpp"

namespace drover {

namespace {

// About two minutes of one core.
constexpr double work_budget = 1.2e11;
constexpr double first_heat_work = 2e6;
constexpr std::uint64_t least_sweeps = 32;
// After so many sweeps, burn-in taken off, there are enough draws to end: the first look at the first sampler.
constexpr std::uint64_t first_look_sweeps = 352;
// A look at fewer entries tells who is ahead; at all of them, up to the usual number, whether it has arrived.
constexpr std::size_t few_entries = 256;
// A contestant whose shortest pilot takes more than this share of the budget does not run.
constexpr double most_pilot_share = 0.03;
// The same of the time that is left, a unit of work being about a nanosecond, once the others are known.
constexpr double most_timed_pilot_share = 0.1;
// All heats together take at most this share of the budget or of the time: first those of the cheap samplers,
// then those with tempering and larger blocks.
constexpr double most_heats_share[] = {0.2, 0.4};
// A leader that would need so many times its work to meet the targets calls for escalation; from the second
// figure on at once, without further heats.
constexpr double far = 16, out_of_sight = 100;
// Most pilots find nothing better than the leader: they must cost that many times less than it needs.
constexpr double pilot_odds = 2;
// The tables of blocked Gibbs in one escalation after the other.
constexpr std::size_t larger_tables[] = {512, 4096, 32768};
// A sweep with each of them takes so many times one with those before; 2.5 to 6.4 times was seen.
constexpr double tables_growth = 4;
// Larger tables enter while those before them have this share of the leader's rate: eight times the entries gain a few
// times the rate, and their pilots are the dearest of all.
constexpr double worth_enlarging = 0.05;
// Two samplers in turns must promise so many times the rate of the leader to be tried.
constexpr double worth_mixing = 1.4;
// Those that are of use only where Gibbs sampling, cluster moves and blocks are slow are there from the start where a pilot,
// with tempering's tuning, costs no more than this.
constexpr double small_pilot = 2e7;
constexpr std::uint64_t tuning_sweeps = 128;
// After heat h contestants stay whose rate is at least this share of the best.
constexpr double staying_share[] = {0.25, 0.4, 0.6};
constexpr double burn_in_share = 0.25, burn_in_times = 10;
constexpr double most_dual_entries = 20'000;
// Of a table, for its duals (TreePrimalDual::products).
constexpr double products_per_entry = 2;
constexpr std::size_t large_model = 100'000;
// To make the chains of a sampler and touch their sums, in units of work for each value of a variable.
constexpr double layout_cost = 4;
constexpr std::uint32_t few_chains = 8;

class Race {
 public:
  Race(const Problem& problem, const RunControl& control) : problem_(problem), control_(control) {
    const Chains& chains = problem.options().chains;
    targets_ = {chains.target_rhat.value_or(1.01), chains.target_mcse.value_or(0)};
    by_sweeps_ = chains.sweeps.has_value();
    stage_.watch([this](const Progress& progress) { report(progress); });
    until_limit_.share_with(control.ranks());
    until_limit_.stop_when([this] { return control_.stop_requested(); });
  }

  MarginalsResult run();

 private:
  void add(std::string_view method, std::size_t block_entries = 0);
  void add_small(std::string_view method);
  void add_larger_blocks();
  void add_mixture();
  void enter(std::size_t k, const std::function<void()>& then);
  const Contestant* same_as(const Contestant& one) const;
  void first_pilot(Contestant& one);
  void play_on(std::size_t next);
  void place(LiveChains& chains);
  void advance(Contestant& one, std::uint64_t sweeps);
  bool grow(Contestant& one);
  void look(Contestant& one);
  Standing look_at_all(const Contestant& one) const;
  void leave(Contestant& one, std::string note);
  void dismiss(Contestant& one, std::string note);
  Contestant* waiting();
  bool recall();
  bool came_further(const Contestant& one, const Contestant& other) const;
  void heats();
  void escalate();
  void finals();
  void finish(Contestant& winner);
  void count_joints(Contestant& winner, JointCounter& counter);

  std::vector<Contestant*> running();
  Contestant* leader();
  /// What the pilot of one that has not entered yet will cost, about.
  double pilot_work(const Contestant& one) const;
  /// To lay out so many chains.
  double layout_work(double chains) const {
    return layout_cost * chains * static_cast<double>(problem_.graph().unary.size());
  }
  /// Whether so much work would take more of the time that is left than pilots may.
  bool is_too_long(double work) const {
    return control_.has_time_limit() && work > most_heats_share[0] * 1e9 * control_.seconds_left();
  }
  bool hurries() const;
  /// How many neighbouring chains share a start.
  std::uint32_t sharing(const Contestant& one) const {
    return problem_.start().empty() ? chains_per_start(one.chains->chains()) : 1;
  }
  double budget() const { return work_budget; }
  bool heats_are_over() const {
    const double share = most_heats_share[escalations_ > 0 ? 1 : 0];
    return control_.should_stop() || control_.time_fraction() > share ||
           (!control_.has_time_limit() && work_ > share * budget());
  }
  bool is_over() const {
    return control_.should_stop() || (!control_.has_time_limit() && !by_sweeps_ && work_ >= budget());
  }
  void report(Progress progress) const {
    progress.phase = phase_;
    progress.fraction =
        control_.has_time_limit() ? control_.time_fraction() : std::min(1.0, work_ / budget());
    control_.report(progress);
  }

  const Problem& problem_;
  const RunControl& control_;
  RunControl stage_{control_};
  RunControl until_limit_{problem_.control()};  ///< the method itself is to end a little earlier
  SweepSize size_ = sweep_size(problem_.graph());
  Targets targets_;
  bool by_sweeps_;
  std::size_t escalations_ = 0;
  std::deque<Contestant> contestants_;
  std::vector<std::string_view> postponed_;  ///< until the first escalation
  std::vector<std::vector<Value>> starts_;
  double work_ = 0;       ///< counted, of all contestants
  double heat_work_ = 0;  ///< what each contestant of the last heat has done
  std::string phase_ = "pilot";
  bool left_out_ = false;  ///< a sampler, for want of time
  Contestant* winner_ = nullptr;
  MarginalsResult result_;
};

void Race::add(std::string_view method, std::size_t block_entries) {
  Contestant one;
  one.method = &method_named(method);
  one.name = method;
  if (block_entries > 0) one.name += fmt::format(" (tables of {})", block_entries);
  one.entry.method = one.name;
  // Whether it fits takes a while to find out on a large model.
  const bool too_long =
      problem_.graph().size() > large_model && is_too_long(pilot_work(one) + layout_work(64));
  if (too_long && !by_sweeps_ && !contestants_.empty()) {
    left_out_ = true;
    return;
  }
  const std::string reason = why_not(*one.method, problem_, Task::marginals);
  if (!reason.empty()) return;
  // Mixtures of large tables take seconds to fit.
  if (method.ends_with("primal-dual") && size_.entries > most_dual_entries) return;
  const Chains& chains = problem_.options().chains;
  one.options.seed = problem_.options().seed;
  one.options.chains = chains.count.value_or(method == "gibbs" && hurries() ? few_chains : 0);
  one.options.thin = chains.thin;
  one.options.burn_in = chains.burn_in.value_or(4);
  one.options.score_every = 8;
  one.options.tuning = tuning_sweeps;
  one.options.block_entries = block_entries;
  // Several contestants live at once.
  one.options.estimator_memory = std::size_t{1} << 28;
  contestants_.push_back(std::move(one));
}

// Or later, where its pilot is dear.
void Race::add_small(std::string_view method) {
  const std::size_t before = contestants_.size();
  add(method);
  if (before == 0 || contestants_.size() == before || pilot_work(contestants_.back()) <= small_pilot) return;
  if (by_sweeps_ && method != "tempering") return;  // nobody escalates then
  contestants_.pop_back();
  postponed_.push_back(method);
}

// To lay out the usual chains of a large model, and sweep them a few times, takes longer than to read it did: where not
// much more time than that is left, a few long chains have an answer sooner. Reading counts: the clock is the whole
// run's, which tells how busy the machine is.
bool Race::hurries() const {
  if (!control_.has_time_limit() || by_sweeps_) return false;
  const std::uint32_t usual = method_named("gibbs").usual_chains(problem_);
  if (chains_in_time(problem_, "gibbs", usual, control_) < usual) return true;
  if (usual <= few_chains || problem_.graph().size() <= large_model) return false;
  const double sweeps =
      static_cast<double>(least_sweeps) * sweep_cost("gibbs", problem_.graph().is_spin(), size_);
  return is_too_long(layout_work(usual) + usual * sweeps) ||
         control_.seconds_left() < 2.5 * problem_.control().seconds();
}

// Each contestant's kernel lives in the frames of its `enter`; the next contestant enters inside of it, and
// `then` runs when all are there.
void Race::enter(std::size_t k, const std::function<void()>& then) {
  if (k == contestants_.size() || winner_ != nullptr) return then();
  Contestant& one = contestants_[k];
  play_on(k);
  bool entered = false;
  const Contestant* best = leader();
  const bool late =
      k > 0 && (heats_are_over() || (best != nullptr && !by_sweeps_ && is_too_long(pilot_work(one))));
  const bool useless =
      !by_sweeps_ && best != nullptr && targets_.work_left(*best) <= pilot_odds * pilot_work(one);
  if (late)
    one.entry.note = "no time was left for its pilot";
  else if (useless)
    one.entry.note = fmt::format("not tried: a pilot takes longer than {} needs", best->name);
  try {
    if (!late && !useless) {
      const UseChains use = [&](LiveChains& chains) {
        entered = true;
        one.chains = &chains;
        one.sweep_work = chains.work_per_sweep();
        one.entry.chains = chains.chains();
        one.blocks = chains.blocks();
        one.same = same_as(one);
        if (one.same != nullptr)
          dismiss(one, fmt::format("draws the same blocks as {}", one.same->name));
        else
          first_pilot(one);
        enter(k + 1, then);
      };
      // Whoever enters first has an answer soon after, if anyone has.
      const RunControl& entering = work_ == 0 ? until_limit_ : stage_;
      one.facts = one.second == nullptr
                      ? one.method->enter(problem_, one.options, entering, use)
                      : enter_mixture(*one.method, *one.second, problem_, one.options, stage_, use);
    }
  } catch (const Error& error) {
    // After an interrupt the answer of those that have run is given.
    const bool refused = error.kind() == ErrorKind::misfit || error.kind() == ErrorKind::stopped ||
                         (error.kind() == ErrorKind::interrupted && work_ > 0);
    if (entered || !refused || (k + 1 == contestants_.size() && work_ == 0)) throw;
    one.entry.note = error.what();
  }
  if (!entered) enter(k + 1, then);
}

// While the leader needs less than the pilots of all that have not entered.
void Race::play_on(std::size_t next) {
  Contestant* best = leader();
  if (best == nullptr || by_sweeps_) return;
  double pilots = 0;
  for (std::size_t k = next; k < contestants_.size(); ++k) pilots += pilot_work(contestants_[k]);
  while (!targets_.are_met(*best) && !is_over() && targets_.work_left(*best) <= pilot_odds * pilots) {
    if (!grow(*best)) return;
    best = leader();
  }
}

// Of a million variables it takes a second or more; when the race is to end, the chains do not run any more.
void Race::place(LiveChains& chains) {
  const bool given = !problem_.start().empty();
  const std::uint32_t sharing = chains_per_start(chains.chains());
  const std::size_t needed = (chains.chains() + sharing - 1) / sharing;
  if (!given && starts_.size() < needed) starts_ = race_starts(problem_, needed);
  for (std::uint32_t c = 0; c < chains.chains() && !control_.should_stop(); ++c)
    chains.start_at(c, given ? problem_.start() : starts_[c / sharing]);
}

// Where a graph has no block between two sizes of tables.
const Contestant* Race::same_as(const Contestant& one) const {
  if (one.blocks == 0 || one.second != nullptr) return nullptr;
  for (const Contestant& other : contestants_)
    if (&other != &one && other.second == nullptr && other.blocks == one.blocks) return &other;
  return nullptr;
}

void Race::first_pilot(Contestant& one) {
  const double shortest = static_cast<double>(least_sweeps) * one.sweep_work;
  const bool is_first = work_ == 0;
  const bool timed = control_.has_time_limit();
  const double allowed =
      timed ? most_timed_pilot_share * 1e9 * control_.seconds_left() : most_pilot_share * budget();
  // What enters first is cut by the clock where need be.
  if (!is_first && (!timed || escalations_ > 0) && shortest > allowed)
    return dismiss(one, "a pilot would take too much of the work that is allowed");
  phase_ = "pilot: " + one.name;
  // From here on there will be an answer, if the time ends in the middle of this pilot: whoever waits for one is told.
  if (is_first && !control_.should_stop()) report({});
  place(*one.chains);
  const auto sweeps = std::max(
      least_sweeps,
      static_cast<std::uint64_t>(std::min(std::max(first_heat_work, heat_work_) / one.sweep_work, 1e9)));
  if (is_first && !by_sweeps_ && sweeps > first_look_sweeps) {
    advance(one, first_look_sweeps);
    look(one);
    if (targets_.are_met(one)) return;
  }
  advance(one, sweeps);
  look(one);
}

void Race::advance(Contestant& one, std::uint64_t sweeps) {
  const std::uint64_t before = one.chains->sweeps_done();
  if (by_sweeps_) {
    const Chains& chains = problem_.options().chains;
    sweeps = std::min(sweeps, chains.burn_in.value_or(*chains.sweeps / 3) + *chains.sweeps);
  }
  one.chains->run_to(sweeps, stage_);
  // A look sees whole segments, a result the open one too: what is decided by the one must hold in the other.
  const SegmentStore& store = one.chains->store();
  const std::uint64_t open = one.chains->draws() - store.draws();
  if (open > 0 && !by_sweeps_)
    one.chains->run_to(one.chains->sweeps_done() + (store.segment_length() - open) * one.options.thin,
                       stage_);
  if (one.chains->draws() < 4 && !stage_.stop_requested()) {
    // There must be something to show, however short the time.
    RunControl patient;
    patient.stop_when([this] { return control_.stop_requested(); });
    one.chains->run_to(one.options.burn_in + 4 * one.options.thin, patient);
  }
  const double done = static_cast<double>(one.chains->sweeps_done() - before) * one.sweep_work;
  work_ += done;
  one.entry.work += done;
  one.entry.sweeps = one.chains->sweeps_done();
  if (!problem_.options().chains.burn_in) {
    double burn_in = burn_in_share * static_cast<double>(one.chains->sweeps_done());
    if (one.standing.ess_per_sweep > 0)
      burn_in = std::min(burn_in, burn_in_times * one.chains->chains() / one.standing.ess_per_sweep);
    one.chains->discard_before(static_cast<std::uint64_t>(burn_in));
  }
}

// As far as it seems to need, twice its sweeps at most; false when nothing moved.
bool Race::grow(Contestant& one) {
  const std::uint64_t done = one.chains->sweeps_done();
  double growth = by_sweeps_ ? 2 : std::clamp(1.1 * targets_.work_factor(one), 1.25, 2.0);
  // Until there are enough draws to end, a look is of no use.
  const double enough =
      static_cast<double>(first_look_sweeps) / static_cast<double>(std::max<std::uint64_t>(1, done));
  if (!by_sweeps_ && targets_.work_factor(one) <= enough) growth = std::max(growth, enough);
  advance(one, done + std::max<std::uint64_t>(
                          8, static_cast<std::uint64_t>((growth - 1) * static_cast<double>(done))));
  if (one.chains->sweeps_done() == done) return false;
  look(one);
  return true;
}

Standing Race::look_at_all(const Contestant& one) const {
  return look_at(one.chains->store(), sharing(one));
}

void Race::look(Contestant& one) {
  one.standing = look_at(one.chains->store(), sharing(one), few_entries);
  if (targets_.are_met(one)) one.standing = look_at_all(one);
  one.entry.ess_per_work = one.score();
  one.entry.rhat_max = one.standing.diagnostics.rhat_max;
  one.entry.nested_rhat_max = one.standing.nested_rhat_max;
}

// The best of those who left waits; of the others no more is needed.
void Race::leave(Contestant& one, std::string note) {
  Contestant* other = waiting();
  if (by_sweeps_ || (other != nullptr && other->score() >= one.score())) return dismiss(one, std::move(note));
  if (other != nullptr) dismiss(*other, other->entry.note);
  one.waits = true;
  one.entry.note = std::move(note);
}

void Race::dismiss(Contestant& one, std::string note) {
  one.entry.note = std::move(note);
  // Whom the winner is held against.
  if (is_converged(one.standing.diagnostics)) one.standing = look_at_all(one);
  one.chains->release();
  one.chains = nullptr;
}

Contestant* Race::waiting() {
  for (Contestant& one : contestants_)
    if (one.chains != nullptr && one.waits) return &one;
  return nullptr;
}

// A short look may flatter: when the leader turns out to be worse than the one that waits, and this one would meet the
// targets sooner though it is behind, it is back.
bool Race::recall() {
  Contestant* other = waiting();
  const Contestant* best = leader();
  if (other == nullptr || best == nullptr || is_over() || targets_.are_met(*best) ||
      other->score() <= best->score() || targets_.work_left(*other) >= targets_.work_left(*best))
    return false;
  other->waits = false;
  other->entry.note.clear();
  return true;
}

// What is left of a run that ends is what it has, not how fast it was going.
bool Race::came_further(const Contestant& one, const Contestant& other) const {
  return !by_sweeps_ && !targets_.are_met(other) && targets_.work_factor(one) < targets_.work_factor(other);
}

std::vector<Contestant*> Race::running() {
  std::vector<Contestant*> list;
  for (Contestant& one : contestants_)
    if (one.chains != nullptr && !one.waits) list.push_back(&one);
  return list;
}

Contestant* Race::leader() {
  Contestant* best = nullptr;
  for (Contestant* one : running())
    if (best == nullptr || best->score() < one->score()) best = one;
  return best;
}

double Race::pilot_work(const Contestant& one) const {
  // Chains, or all replicas of all chains; tempering tunes its ladder first.
  const bool tempers = one.method->name == "tempering";
  const double chains = tempers ? 256 : one.method->usual_chains(problem_);
  const auto sweeps = static_cast<double>(least_sweeps + (tempers ? tuning_sweeps : 0));
  const std::string_view name = (one.second == nullptr ? one.method : one.second)->name;
  SweepSize size = size_;
  if (name.ends_with("primal-dual")) size.entries *= products_per_entry;
  const double sweep = sweep_cost(name, problem_.graph().is_spin(), size);
  // Larger tables: as those before them, and more.
  double larger = 0;
  for (const Contestant& other : contestants_)
    if (other.options.block_entries < one.options.block_entries && other.name.starts_with("blocked-gibbs"))
      larger = std::max(larger, tables_growth * other.sweep_work);
  return std::max({first_heat_work, heat_work_, sweeps * chains * sweep, sweeps * larger});
}

void Race::heats() {
  heat_work_ = std::max(heat_work_, first_heat_work);
  for (std::size_t heat = 0;; ++heat) {
    recall();
    for (Contestant* one : running())
      if (!by_sweeps_ && targets_.are_met(*one)) return;
    const Contestant* best = leader();
    if (best == nullptr) return;
    const double share = heat < std::size(staying_share) ? staying_share[heat] : 1;
    // Chains that are all stuck say nothing about which sampler is better.
    if (best->moves())
      for (Contestant* one : running())
        if (one != best && !(one->score() >= share * best->score()))
          leave(*one, fmt::format("left after heat {}: fewer effective samples per work", heat + 1));
    if (running().size() <= 1 || heats_are_over()) return;
    if (escalations_ == 0 && targets_.work_factor(*best) > out_of_sight) return;
    heat_work_ *= 2;
    double others = 0;
    for (const Contestant* one : running())
      if (one != best) others += std::max(0.0, heat_work_ - one->entry.work);
    if (!by_sweeps_ && targets_.work_left(*best) <= pilot_odds * others) return;
    bool moved = false;  // chains whose sweeps are all done stand still
    for (Contestant* one : running()) {
      if (heats_are_over()) break;
      phase_ = "pilot: " + one->name;
      const std::uint64_t before = one->chains->sweeps_done();
      advance(*one, static_cast<std::uint64_t>(std::min(heat_work_ / one->sweep_work, 1e9)));
      if (one->chains->sweeps_done() == before) continue;
      moved = true;
      look(*one);
    }
    if (!moved) return;
  }
}

void Race::add_larger_blocks() {
  // The tables that ran last: none of those at first, or those of the last escalation.
  const auto last = std::ranges::find_if(contestants_.rbegin(), contestants_.rend(), [](const auto& one) {
    return one.second == nullptr && one.same == nullptr && one.method->name == "blocked-gibbs";
  });
  if (last == contestants_.rend()) return;
  if (last->entry.work > 0 && leader()->moves() &&
      !(last->entry.ess_per_work >= worth_enlarging * leader()->score()))
    return;
  add("blocked-gibbs", larger_tables[escalations_]);
}

// The two of all that ran, whether they left or not, whose slow entries differ most.
void Race::add_mixture() {
  const Contestant* best = leader();
  const double alone = slowest(best->standing.rates) / best->sweep_work;
  double most = worth_mixing * (std::isfinite(alone) ? alone : 0);
  const Contestant *first = nullptr, *second = nullptr;
  for (const Contestant& a : contestants_)
    for (const Contestant& b : contestants_) {
      // Estimates are the first's: the one with more sweeps. Replicas are slow to hand over to.
      const bool can = a.entry.work > 0 && b.entry.work > 0 && a.method != b.method && !a.second &&
                       !b.second && a.sweep_work <= b.sweep_work && a.name != "tempering" &&
                       b.name != "tempering";
      if (!can) continue;
      const double promised = rate_in_turns(a.standing, a.sweep_work, b.standing, b.sweep_work);
      if (promised > most) most = promised, first = &a, second = &b;
    }
  if (first == nullptr) return;
  Contestant both;
  both.method = first->method;
  both.second = second->method;
  both.name = both.entry.method = fmt::format("{} and {}", first->name, second->name);
  both.options = first->options;
  both.options.block_entries = std::max(first->options.block_entries, second->options.block_entries);
  both.options.chains = std::max(first->entry.chains, second->entry.chains);
  if (std::ranges::none_of(contestants_, [&](const auto& one) { return one.name == both.name; }))
    contestants_.push_back(std::move(both));
}

// What costs more per sweep or has more to prepare enters while the others are far from their targets.
void Race::escalate() {
  const Contestant* best = leader();
  if (best == nullptr || by_sweeps_ || escalations_ == std::size(larger_tables) || heats_are_over() ||
      targets_.work_factor(*best) <= far)
    return finals();
  const std::size_t before = contestants_.size();
  for (Contestant& one : contestants_)
    if (escalations_ == 0 && one.name == "tempering" && one.entry.work == 0) {
      one.entry.method.clear();  // it has a second chance
      postponed_.emplace_back("tempering");
    }
  add_mixture();
  add_larger_blocks();
  for (std::string_view method : postponed_) add(method);
  postponed_.clear();
  std::ranges::stable_sort(contestants_.begin() + static_cast<std::ptrdiff_t>(before), contestants_.end(), {},
                           [this](const Contestant& one) { return pilot_work(one); });
  ++escalations_;
  heat_work_ = std::max(heat_work_, best->entry.work);
  enter(before, [&] {
    heats();  // those who are still there go on, whether anyone has entered or not
    escalate();
  });
}

void Race::finals() {
  Contestant* winner = nullptr;
  for (Contestant* one : running())
    if (winner == nullptr && !by_sweeps_ && targets_.are_met(*one)) winner = one;
  if (winner == nullptr) winner = leader();
  if (winner == nullptr) fail_stopped(control_, "sampling");
  winner_ = winner;
  for (Contestant* one : running())
    if (one != winner) leave(*one, "left after the heats: fewer effective samples per work");
  phase_ = "sampling: " + winner->name;
  // One look may be wrong about it; two in a row are not.
  for (bool was_behind = false; !is_over() && (by_sweeps_ || !targets_.are_met(*winner));) {
    if (!grow(*winner)) break;
    const Contestant* const other = waiting();
    const bool is_behind = other != nullptr && other->score() > winner->score();
    if (!std::exchange(was_behind, is_behind) || !recall()) continue;
    was_behind = false;
    Contestant* const before = winner;
    winner_ = winner = leader();
    leave(*before, "left at last: fewer effective samples per work than its pilots promised");
    phase_ = "sampling: " + winner->name;
  }
  Contestant* other = waiting();
  if (other != nullptr && came_further(*other, *winner)) {
    other->waits = false;
    other->entry.note.clear();
    winner->entry.note = fmt::format("left at the end: {} had come further", other->name);
    std::swap(winner, other);
    winner_ = winner;
  }
  if (other != nullptr) dismiss(*other, other->entry.note);
  finish(*winner);
}

void Race::count_joints(Contestant& winner, JointCounter& counter) {
  constexpr std::uint64_t draws = 256;
  const std::uint64_t gap = std::max<std::uint64_t>(1, winner.chains->sweeps_done() / (2 * draws));
  std::vector<Value> x(problem_.graph().size());
  for (std::uint64_t d = 0; d < draws && !(d > 0 && control_.should_stop()); ++d) {
    winner.chains->run_to(winner.chains->sweeps_done() + gap, stage_);
    for (std::uint32_t c = 0; c < winner.chains->chains(); ++c) {
      winner.chains->read(c, x);
      counter.count(c, x);
    }
  }
}

void Race::finish(Contestant& winner) {
  winner.standing = look_at_all(winner);
  std::optional<JointCounter> joints;
  const std::uint64_t before = winner.chains->sweeps_done();
  if (JointCounter::wanted(problem_)) count_joints(winner, joints.emplace(problem_, winner.chains->chains()));
  result_ = winner.chains->result();
  if (joints)
    joints->fill(result_, static_cast<double>(winner.chains->sweeps_done() - before) /
                              static_cast<double>(winner.chains->sweeps_done()));
  judge_winner(winner, contestants_, by_sweeps_ ? "more sweeps" : "more time", result_);
  winner.entry.chosen = true;
  winner.entry.sweeps = winner.chains->sweeps_done();
}

MarginalsResult Race::run() {
  for (std::string_view method : {"gibbs", "swendsen-wang", "blocked-gibbs"}) add(method);
  for (std::string_view method : {"tempering", "generalized-swendsen-wang", "primal-dual", "tree-primal-dual",
                                  "partial-swendsen-wang", "gwg"})
    add_small(method);
  if (contestants_.empty()) add("tempering");
  if (contestants_.empty()) throw Error(ErrorKind::misfit, "no sampler fits this model");
  enter(0, [&] {
    heats();
    escalate();
  });
  if (winner_ == nullptr) fail_stopped(control_, "sampling");
  // What the sampler says of itself came when its frames ended.
  result_.details = winner_->facts.details;
  for (std::string& warning : winner_->facts.warnings) result_.warnings.push_back(std::move(warning));
  // A ladder that no replica has climbed may hide a mode at its hot end.
  if (const Detail* trips = result_.details.find("round_trips"))
    if (const auto* count = std::get_if<std::int64_t>(&trips->value()); count != nullptr && *count == 0)
      result_.converged = false;
  result_.method = winner_->second == nullptr ? winner_->method->name : winner_->name;
  result_.because = why_it_won(*winner_, contestants_, left_out_);
  for (Contestant& one : contestants_)
    if (!one.entry.method.empty()) result_.race.push_back(std::move(one.entry));
  if (problem_.options().check) check_against_exact(problem_, result_, control_);
  return std::move(result_);
}

std::string why_not_race(const Problem& problem, Task) {
  if (!problem.options().checkpoint.file.empty() || problem.options().checkpoint.resume)
    return "a race keeps no checkpoint";
  if (!problem.options().state_values.empty()) return "a race estimates probabilities, not means of values";
  return why_not(method_named("blocked-gibbs"), problem, Task::marginals);
}

MarginalsResult marginals_by_race(const Problem& problem, const RunControl& control) {
  return Race(problem, control).run();
}

}  // namespace

Method race_method() {
  return {"race",
          "pilots of all samplers that fit; the one that learns most per work goes on until it has converged",
          "Karnin, Koren and Somekh 2013; Margossian et al. 2024",
          why_not_race,
          marginals_by_race,
          nullptr,
          nullptr,
          nullptr,
          "chains sweeps burn-in thin target-rhat target-mcse pairs joint check"};
}

}  // namespace drover
