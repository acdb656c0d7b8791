// Herding with the exact maximum by a junction tree: the features are log-factors, the weights their values,
// a most probable state is the maximum of <w, phi(s)>.
//
// Assumes that variables that share features form a graph of small width (chains, trees, narrow grids). The
// elimination order is found once; tables are filled with the new weights before every maximisation.
#include <bit>
#include <limits>
#include <map>

#include "drover/compile/graph.hpp"
#include "drover/herd/engine.hpp"
#include "drover/infer/junction_tree.hpp"

namespace drover {

namespace {

/// One table per set of variables that has features, and where each feature's weight goes.
struct FactorLayout {
  Model model;
  std::vector<std::size_t> entries;  ///< of feature f: where in model.tables.log_values
  std::vector<std::size_t> sizes;    ///< with spins: of its table, which begins there; else none

  explicit FactorLayout(const FeatureSet& set) : entries(set.size()) {
    const bool spins = set.coding == FeatureCoding::spins;
    model.cardinalities = set.cardinalities;
    std::map<std::vector<VariableId>, std::size_t> table_of;
    for (std::size_t f = 0; f < set.size(); ++f) {
      std::vector<VariableId> scope;
      std::size_t states = 1, entry = 0;
      for (std::uint32_t member : set.features[f].members()) {
        const auto [variable, value] = set.indicators[member];
        scope.push_back(variable);
        states *= set.cardinalities[variable];
        entry = entry * set.cardinalities[variable] + value;
      }
      const auto [at, is_new] = table_of.try_emplace(scope, model.tables.size());
      if (is_new) model.tables.add(scope, std::vector<double>(states, 0.0));
      entries[f] = model.tables.table_offsets[at->second] + (spins ? 0 : entry);
      if (spins) sizes.push_back(states);
    }
  }

  template <class Weight>
  void fill(Weight weight) {
    std::fill(model.tables.log_values.begin(), model.tables.log_values.end(), 0.0);
    for (std::size_t f = 0; f < entries.size(); ++f) {
      if (sizes.empty()) {
        model.tables.log_values[entries[f]] += weight(f);
        continue;
      }
      // The last entry has all spins up; a bit that is 0 turns one down.
      const double w = weight(f);
      for (std::size_t e = 0; e < sizes[f]; ++e)
        model.tables.log_values[entries[f] + e] += std::popcount(e ^ (sizes[f] - 1)) % 2 == 0 ? w : -w;
    }
  }
};

/// A plan for tables that are never simpler than they look.
ExactPlan plan_for(FactorLayout& layout) {
  // Weights that no recognition can reduce, so that every pair of variables that ever interacts does so here.
  layout.fill([](std::size_t f) { return 1.0 + 0.618 * static_cast<double>(f % 97); });
  return plan_exact(compile(layout.model), {.order_tries = 20});
}

class TreeEngine : public HerdEngine {
 public:
  TreeEngine(const Moments& moments, std::span<const double> start_weights)
      : set_(moments.set),
        mu_(moments.values),
        start_(start_weights.begin(), start_weights.end()),
        count_(set_.size(), 0.0),
        layout_(set_),
        plan_(plan_for(layout_)) {
    start_.resize(set_.size(), 0.0);
    state_.assign(set_.variables(), 0);
  }

  void step() override {
    const double t = samples_;
    layout_.fill([&](std::size_t f) { return start_[f] + (t * mu_[f] - count_[f]); });
    const Graph graph = compile(layout_.model);
    state_ = whole_assignment(graph, JunctionTree(graph, plan_).map().assignment);
    for (std::size_t f = 0; f < set_.size(); ++f) count_[f] += set_.value(set_.features[f], state_);
    samples_ += 1;
  }
  std::span<const Value> state() const override { return state_; }
  void counts(std::span<double> out) const override { std::copy(count_.begin(), count_.end(), out.begin()); }
  void save(SaveArchive& archive) override { visit(archive); }
  void load(LoadArchive& archive) override { visit(archive); }

 private:
  template <class Archive>
  void visit(Archive& archive) {
    archive(count_);
    archive(state_);
    archive(samples_);
  }

  const FeatureSet& set_;
  std::span<const double> mu_;
  std::vector<double> start_;
  std::vector<double> count_;
  FactorLayout layout_;
  ExactPlan plan_;
  std::vector<Value> state_;
  double samples_ = 0;
};

}  // namespace

double tree_operations(const FeatureSet& set) {
  FactorLayout layout(set);
  const ExactPlan plan = plan_for(layout);
  constexpr std::size_t memory = std::size_t{1} << 28;
  return plan.fits(memory) ? plan.predicted_operations : std::numeric_limits<double>::infinity();
}

std::unique_ptr<HerdEngine> make_tree_engine(const Moments& moments, std::span<const double> start_weights) {
  return std::make_unique<TreeEngine>(moments, start_weights);
}

}  // namespace drover
