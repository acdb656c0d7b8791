#include "drover/infer/best_state_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "drover/core/random.hpp"
#include "drover/infer/branch_and_bound.hpp"
#include "drover/infer/iterated_modes.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/infer/sequential_reweighting.hpp"
#include "drover/infer/tabu_search.hpp"
#include "drover/infer/tree_neighbourhoods.hpp"

namespace drover {

namespace {

constexpr double exact_entries = 2e7;               // a junction tree of so many is solved at once
constexpr std::size_t searched_variables = 20'000;  // beyond, branch and bound is not tried
constexpr std::uint64_t dive_work = 5'000'000;
constexpr std::uint64_t dive_dead_ends = 50;
constexpr std::uint64_t bound_work = 60'000'000;
constexpr std::uint64_t first_turn = 10'000'000, longest_turn = 300'000'000;
constexpr std::size_t largest_region = 4000;
constexpr std::uint64_t first_changes = 20'000'000;  // a few hundredths of a second
constexpr std::size_t most_changes = 50'000;         // values of all variables
constexpr std::uint64_t cheaper_entries = 4;         // an entry costs a tabu search less than a propagation

}  // namespace

class BestStateSearch::Engine {
 public:
  Engine(const Graph& graph, std::uint64_t seed, std::size_t memory)
      : graph_(graph), memory_(memory), random_(seed, Stream::start, 1), modes_(graph) {}

  void run(std::uint64_t work, const RunControl& control) {
    work_end_ = work_ + work;
    if (!begun_) begin(control);
    while (!proven_ && work_ < work_end_ && !control.should_stop()) {
      switch (phase_) {
        case Phase::first_dives:
          dive(control);
          phase_ = Phase::bound;
          break;
        case Phase::bound:
          raise_bound(control);
          phase_ = can_search_ ? Phase::second_dives : Phase::turns;
          break;
        case Phase::second_dives:
          dive(control);
          phase_ = Phase::turns;
          break;
        case Phase::turns:
          take_turn(control);
          break;
      }
    }
  }

  bool offer(std::span<const Value> state, const char* who) {
    const double score = drover::log_score(graph_, state);
    if (!(score > log_score_)) return false;
    log_score_ = score;
    state_.assign(state.begin(), state.end());
    found_by_ = who;
    if (search_) search_->offer(state);
    check_bound("bound");
    return true;
  }

  const Graph& graph_;
  std::size_t memory_;
  bool proven_ = false;
  std::vector<Value> state_;
  double log_score_ = log_zero;
  double upper_ = infinite_cost;
  std::string found_by_, proven_by_;
  std::uint64_t work_ = 0;
  std::uint64_t nodes() const { return search_ ? search_->nodes() : 0; }
  double tolerance() const { return network_ ? network_->tolerance : 0; }

 private:
  enum class Phase { first_dives, bound, second_dives, turns };
  enum Way : std::size_t { search, around, trees, changes, ways };

  void begin(const RunControl& control) {
    begun_ = true;
    if (solve_exactly(control)) return;
    network_ = cost_network(graph_);
    order_.resize(graph_.size());
    std::iota(order_.begin(), order_.end(), 0);
    consistency_.emplace(*network_, order_);
    trees_.emplace(*network_);
    if (network_->unary.size() <= most_changes) tabu_.emplace(*network_);
    can_search_ = graph_.size() <= searched_variables;
    take_bound("climbing");
    if (!can_search_) phase_ = Phase::bound;
    if (!proven_ && tabu_) {
      std::vector<Value> x(graph_.size());
      for (VariableId v = 0; v < x.size(); ++v) x[v] = consistency_->supported_value(v);
      tabu_->start(x);
      change(first_changes / cheaper_entries, control);
    }
  }

  // Makes the costs consistent; their bound and the state that they support are taken, and a search begins
  // anew.
  void take_bound(const char* who) {
    if (!consistency_->propagate(infinite_cost)) {
      impossible_ = proven_ = true;
      return;
    }
    count_work();
    lower_cost(consistency_->lower());
    if (graph_.is_strictly_positive()) {
      std::vector<Value> x(graph_.size());
      for (VariableId v = 0; v < x.size(); ++v) x[v] = consistency_->supported_value(v);
      modes_.climb(x);
      offer(x, who);
    }
    if (!proven_ && can_search_) make_search();
  }

  bool solve_exactly(const RunControl& control) {
    OrderOptions options;
    options.tries = 8;
    options.work_budget = 20'000'000;
    options.control = &control;
    options.log2_limit = 24;
    ExactPlan plan;
    plan.order = find_elimination_order(graph_, options);
    if (!plan.order.exact || std::exp2(plan.order.log2_total_table) > exact_entries) return false;
    if (std::exp2(plan.order.log2_total_table) * 16 > static_cast<double>(memory_)) return false;
    ExactOptions exact;  // a moment's work, and no answer if it were stopped
    exact.memory_limit_bytes = memory_;
    JunctionTree tree(graph_, plan, exact);
    const ScoredState best = tree.map();
    offer(best.assignment, "junction tree");
    upper_ = log_score_;
    proven_ = true;
    proven_by_ = "junction tree";
    work_ += static_cast<std::uint64_t>(std::exp2(plan.order.log2_total_table));
    return true;
  }

  void make_search() {
    search_.emplace(*consistency_);
    if (!state_.empty()) search_->offer(state_);
  }

  void count_work() {
    const std::uint64_t now = consistency_->work();
    work_ += now - counted_;
    counted_ = now;
  }

  // A bound of all costs, from `who`.
  void lower_cost(double cost, const char* who = "bound") {
    upper_ = std::min(upper_, network_->log_score(cost) + network_->tolerance);
    check_bound(who);
  }
  void check_bound(const char* who) {
    if (proven_ || state_.empty() || upper_ - log_score_ > 1e-9 * (1 + std::abs(upper_)) + tolerance())
      return;
    proven_ = true;
    proven_by_ = who;
  }
  void take_state(const char* who) {
    if (!search_->found().empty()) offer(search_->found().front().state, who);
  }

  // Guessed limits, from close above the bound to above the best state.
  void dive(const RunControl& control) {
    const CostNetwork& network = *network_;
    double gap = 1e-3 * network.scale;
    for (int tries = 0; tries < 20 && !control.should_stop() && work_ < work_end_; ++tries, gap *= 4) {
      const double lower = consistency_->lower();
      const double best = search_->found().empty() ? infinite_cost : search_->found().front().cost;
      const double cap = tries == 19 ? infinite_cost : lower + gap;
      if (cap >= best) break;
      const bool complete = search_->dive(cap, dive_dead_ends, dive_work, control);
      count_work();
      take_state("dives");
      if (complete)
        lower_cost(std::min(cap, search_->found().empty() ? cap : search_->found().front().cost), "dives");
      if (proven_) return;
    }
  }

  void raise_bound(const RunControl& control) {
    ReweightingOptions options;
    options.work = bound_work;
    if (!state_.empty()) options.target = network_->cost(state_);
    const Reweighting run = reweight_sequentially(*consistency_, order_, options, control);
    lower_cost(run.lower);
    take_bound("bound");
  }

  void take_turn(const RunControl& control) {
    const Way way = static_cast<Way>(turn_++ % ways);
    if (way == search && ++round_ > 0) turn_work_ = std::min<std::uint64_t>(longest_turn, turn_work_ * 5 / 4);
    auto budget = static_cast<std::uint64_t>(static_cast<double>(turn_work_) * share_[way]);
    budget = std::min(budget, work_end_ - work_);
    const double before = log_score_;
    switch (way) {
      case search:
        if (!can_search_) return;
        search_->run(budget, control);
        count_work();
        take_state("search");
        if (search_->proven()) {
          proven_ = true;
          proven_by_ = "search";
          upper_ = log_score_;
          return;
        }
        lower_cost(search_->lower(), "search");
        break;
      case around:
        if (!can_search_ || state_.empty()) return;
        search_around(budget, control);
        break;
      case trees:
        if (state_.empty()) return;
        search_trees(budget, control);
        break;
      case changes:
        if (!tabu_) return;
        change(budget, control);
        break;
      case ways:
        break;
    }
    if (way != search)
      share_[way] = log_score_ > before ? std::min(2.0, share_[way] * 2) : std::max(0.25, share_[way] / 2);
  }

  void change(std::uint64_t budget, const RunControl& control) {
    // From the best state of all, when another way found it.
    if (!state_.empty() && network_->cost(state_) < tabu_->best_cost()) tabu_->start(state_);
    work_ += tabu_->run(cheaper_entries * budget, random_, control) / cheaper_entries;
    if (!tabu_->best().empty()) offer(tabu_->best(), "tabu search");
  }

  void search_around(std::uint64_t budget, const RunControl& control) {
    const std::uint64_t end = work_ + budget;
    std::vector<char> fixed(graph_.size());
    std::vector<VariableId> chosen;
    while (work_ < end && !control.should_stop() && !proven_) {
      // A random connected set is free.
      const std::size_t wanted = std::min<std::size_t>(graph_.size(), static_cast<std::size_t>(freed_));
      std::fill(fixed.begin(), fixed.end(), char{1});
      chosen.clear();
      while (chosen.size() < wanted) {
        VariableId v = random_.below(static_cast<std::uint32_t>(graph_.size()));
        if (!chosen.empty() && random_.below(8) != 0) {
          const VariableId from = chosen[random_.below(static_cast<std::uint32_t>(chosen.size()))];
          const auto edges = network_->edges_of(from);
          if (!edges.empty()) {
            const auto scope = network_->scope(
                network_->factor[edges[random_.below(static_cast<std::uint32_t>(edges.size()))]]);
            v = scope[random_.below(static_cast<std::uint32_t>(scope.size()))];
          }
        }
        if (fixed[v] == 0) continue;
        fixed[v] = 0;
        chosen.push_back(v);
      }
      const double before = search_->found().front().cost;
      const bool complete = search_->search_around(search_->found().front().state, fixed, 200,
                                                   std::max<std::uint64_t>(budget / 4, 100'000), control);
      count_work();
      work_ += graph_.size();
      if (search_->found().front().cost < before) {
        take_state("neighbourhoods");
      } else if (complete && wanted == graph_.size()) {
        proven_ = true;
        proven_by_ = "search";
        upper_ = log_score_;
      } else {
        freed_ = complete ? std::min(freed_ * 1.1, static_cast<double>(graph_.size()))
                          : std::max(4.0, freed_ * 0.9);
      }
    }
  }

  void search_trees(std::uint64_t budget, const RunControl& control) {
    const std::uint64_t end = work_ + budget;
    std::vector<Value> x = state_;
    while (work_ < end && !control.should_stop()) {
      const auto step = trees_->improve(x, random_, tree_table_, largest_region);
      // Planning costs about as much as so many entries per variable.
      work_ += step.work + 500 * std::min(graph_.size(), largest_region);
      if (step.gain > 0) idle_trees_ = 0;
      if (step.gain == 0 && ++idle_trees_ >= 20 && tree_table_ < 300'000) {
        tree_table_ *= 4;
        idle_trees_ = 0;
      }
    }
    offer(x, "tree neighbourhoods");
  }

  RandomSequence random_;
  IteratedModes modes_;
  bool begun_ = false, can_search_ = false;
  Phase phase_ = Phase::first_dives;
  std::optional<CostNetwork> network_;
  std::vector<VariableId> order_;
  std::optional<SoftConsistency> consistency_;
  std::optional<BranchAndBound> search_;
  std::optional<TreeNeighbourhoods> trees_;
  std::optional<TabuSearch> tabu_;
  std::uint64_t counted_ = 0, work_end_ = 0, turn_work_ = first_turn;
  std::size_t turn_ = 0, round_ = 0, idle_trees_ = 0;
  std::array<double, ways> share_{1, 1, 1, 1};
  double freed_ = 10, tree_table_ = 1024;

 public:
  bool impossible_ = false;
};

BestStateSearch::BestStateSearch(const Graph& graph, std::uint64_t seed, std::size_t memory_limit_bytes)
    : engine_(std::make_unique<Engine>(graph, seed, memory_limit_bytes)) {}
BestStateSearch::~BestStateSearch() = default;
BestStateSearch::BestStateSearch(BestStateSearch&&) noexcept = default;

void BestStateSearch::run(std::uint64_t work, const RunControl& control) {
  engine_->run(work, control);
}
bool BestStateSearch::offer(std::span<const Value> state) {
  return engine_->offer(state, "annealing");
}
bool BestStateSearch::proven() const {
  return engine_->proven_;
}
bool BestStateSearch::has_state() const {
  return !engine_->state_.empty();
}
const std::vector<Value>& BestStateSearch::state() const {
  return engine_->state_;
}
double BestStateSearch::log_score() const {
  return engine_->log_score_;
}
double BestStateSearch::upper() const {
  return engine_->upper_;
}
double BestStateSearch::tolerance() const {
  return engine_->tolerance();
}
std::uint64_t BestStateSearch::work() const {
  return engine_->work_;
}
std::uint64_t BestStateSearch::nodes() const {
  return engine_->nodes();
}
std::string BestStateSearch::found_by() const {
  return engine_->found_by_;
}
std::string BestStateSearch::proven_by() const {
  return engine_->proven_by_;
}

}  // namespace drover
