#include "drover/sample/dual/tree_primal_dual.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "drover/compile/table_graph.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/sample/gibbs/gibbs_table_schedule.hpp"
#include "drover/sample/lane_random.hpp"

namespace drover {

namespace {

constexpr std::uint32_t L = TreePrimalDual::lane_count;
constexpr double high = 1e150, low = 1e-150;
// A belief in this range may move by so many nats and is a normal number still.
constexpr double most_nats = 350;

// The random numbers of a sweep: four sites of 16 lanes share a block of 64 words.
class SiteUniforms {
 public:
  SiteUniforms(std::uint64_t seed, std::uint32_t batch, std::uint64_t sweep)
      : random_(seed, Stream::sweep), batch_(batch), sweep_(sweep) {}
  void seek(std::size_t site) {
    if (site / 4 != block_) {
      block_ = site / 4;
      words_ = random_.words(batch_, sweep_, static_cast<std::uint32_t>(block_));
    }
    first_ = site % 4 * L;
  }
  double operator[](std::uint32_t lane) const { return (words_[first_ + lane] + 0.5) * 0x1p-32; }
  const std::uint32_t* words() const { return words_.data() + first_; }

 private:
  LaneRandom random_;
  std::uint32_t batch_;
  std::uint64_t sweep_;
  std::size_t block_ = ~std::size_t{0};
  std::size_t first_ = 0;
  LaneRandom::Words words_{};
};

// One sweep of 16 chains.
class Sweep {
 public:
  Sweep(const Graph& graph, const DualPlan& plan, const DualForest& forest, TreePrimalDual::State& state,
        std::uint64_t sweep)
      : graph_(graph),
        plan_(plan),
        forest_(forest),
        state_(state),
        uniforms_(state.seed, state.first_chain / L, sweep) {}

  void draw_duals() {
    for (VariableId v = 0; v < graph_.size(); ++v) forget_duals(v);
    for (std::size_t l = 0; l < plan_.links.size(); ++l)
      if (!forest_.has_link[l]) draw_link(l);
    for (std::size_t m = plan_.first_free_mixture; m < plan_.mixtures.size(); ++m) draw_mixture(m);
  }
  void draw_duals(const TreePrimalDual::Share& share) {
    for (VariableId v : share.touched) forget_duals(v);
    for (std::uint32_t l : share.links) draw_link(l);
    for (std::uint32_t m : share.mixtures) draw_mixture(m);
  }

  // Sum-product: every variable passes to its parent what its side of the forest says.
  void pass_up() { pass_up(forest_.order); }
  void pass_up(std::span<const VariableId> order) {
    for (std::size_t place = order.size(); place-- > 0;) {
      const VariableId v = order[place];
      normalise(belief(v), graph_.cardinalities[v]);
      if (forest_.parent_link[v] == DualForest::no_link) continue;
      const VariableId parent = forest_.parent[v];
      message(v, scratch_);
      double* above = belief(parent);
      for (std::size_t k = 0; k < std::size_t{graph_.cardinalities[parent]} * L; ++k) above[k] *= scratch_[k];
      rescale(parent);
    }
  }

  void draw_down() { draw_down(forest_.order); }
  void draw_down(std::span<const VariableId> order) {
    for (VariableId v : order) {
      const std::uint32_t states = graph_.cardinalities[v];
      const double* own = belief(v);
      double totals[L] = {};
      weights_.resize(std::size_t{states} * L);
      if (forest_.parent_link[v] == DualForest::no_link) {
        std::copy_n(own, std::size_t{states} * L, weights_.begin());
      } else {
        const PairFactor factor = pair_factor(v);
        const Value* above = values(forest_.parent[v]);
        for (std::uint32_t k = 0; k < states; ++k)
          for (std::uint32_t lane = 0; lane < L; ++lane)
            weights_[k * L + lane] = own[k * L + lane] * factor(k, above[lane]);
      }
      for (std::uint32_t k = 0; k < states; ++k)
        for (std::uint32_t lane = 0; lane < L; ++lane) totals[lane] += weights_[k * L + lane];
      uniforms_.seek(v);
      for (std::uint32_t lane = 0; lane < L; ++lane)
        state_.values[std::size_t{v} * L + lane] =
            static_cast<Value>(draw(weights_.data() + lane, states, L, totals[lane], uniforms_[lane]));
    }
  }

  // margin_v(x) = belief_v(x) sum_y T(x, y) margin_parent(y) / message_v(y)
  void add_margins(std::span<const std::size_t> offsets, float* sums) {
    add_margins(forest_.order, offsets, sums);
  }
  void add_margins(std::span<const VariableId> order, std::span<const std::size_t> offsets, float* sums) {
    state_.margins.resize(state_.beliefs.size());
    for (VariableId v : order) {
      const std::uint32_t states = graph_.cardinalities[v];
      double* margin = state_.margins.data() + graph_.unary_offsets[v] * L;
      std::copy_n(belief(v), std::size_t{states} * L, margin);
      if (forest_.parent_link[v] != DualForest::no_link) {
        const VariableId parent = forest_.parent[v];
        const std::uint32_t parent_states = graph_.cardinalities[parent];
        message(v, scratch_);
        const double* above = state_.margins.data() + graph_.unary_offsets[parent] * L;
        for (std::size_t y = 0; y < std::size_t{parent_states} * L; ++y)
          scratch_[y] = scratch_[y] > 0 ? above[y] / scratch_[y] : 0;
        const PairFactor factor = pair_factor(v);
        for (std::uint32_t k = 0; k < states; ++k) {
          double sum[L] = {};
          for (std::uint32_t y = 0; y < parent_states; ++y) {
            const double value = factor(k, y);
            for (std::uint32_t lane = 0; lane < L; ++lane) sum[lane] += value * scratch_[y * L + lane];
          }
          for (std::uint32_t lane = 0; lane < L; ++lane) margin[k * L + lane] *= sum[lane];
        }
      }
      double totals[L] = {};
      for (std::uint32_t k = 0; k < states; ++k)
        for (std::uint32_t lane = 0; lane < L; ++lane) totals[lane] += margin[k * L + lane];
      for (std::uint32_t k = 0; k < states; ++k)
        for (std::uint32_t lane = 0; lane < L; ++lane) margin[k * L + lane] /= totals[lane];
      float* entry = sums + offsets[v] * L;
      for (std::size_t k = states == 2 ? L : 0; k < std::size_t{states} * L; ++k)
        *entry++ += static_cast<float>(margin[k]);
    }
  }

 private:
  double* belief(VariableId v) { return state_.beliefs.data() + graph_.unary_offsets[v] * L; }
  const Value* values(VariableId v) const { return state_.values.data() + std::size_t{v} * L; }
  Value value(VariableId v, std::uint32_t lane) const { return values(v)[lane]; }

  // Draws an index of `count` weights, every `step` of these, which sum to `total`.
  static std::size_t draw(const double* weights, std::size_t count, std::size_t step, double total,
                          double u) {
    u *= total;
    std::size_t drawn = 0;
    while (drawn + 1 < count && (u -= weights[drawn * step]) >= 0) ++drawn;
    while (weights[drawn * step] == 0) --drawn;
    return drawn;
  }

  void rescale(VariableId v) {
    double largest[L] = {};
    const double* own = belief(v);
    for (std::uint32_t k = 0; k < graph_.cardinalities[v]; ++k)
      for (std::uint32_t lane = 0; lane < L; ++lane)
        largest[lane] = std::max(largest[lane], own[k * L + lane]);
    for (std::uint32_t lane = 0; lane < L; ++lane)
      if (!(largest[lane] < high && largest[lane] > low)) rescale(v, lane);
  }

  void rescale(VariableId v, std::uint32_t lane) {
    double* own = belief(v) + lane;
    const std::uint32_t states = graph_.cardinalities[v];
    double largest = 0;
    for (std::uint32_t k = 0; k < states; ++k) largest = std::max(largest, own[k * L]);
    if (largest < high && largest > low) return;
    for (std::uint32_t k = 0; k < states; ++k) own[k * L] /= largest;
  }

  static void normalise(double* own, std::uint32_t states) {
    double largest[L] = {};
    for (std::uint32_t k = 0; k < states; ++k)
      for (std::uint32_t lane = 0; lane < L; ++lane)
        largest[lane] = std::max(largest[lane], own[k * L + lane]);
    for (std::uint32_t k = 0; k < states; ++k)
      for (std::uint32_t lane = 0; lane < L; ++lane) own[k * L + lane] /= largest[lane];
  }

  void forget_duals(VariableId v) {
    for (std::size_t e = graph_.unary_offsets[v]; e < graph_.unary_offsets[v] + graph_.cardinalities[v]; ++e)
      std::fill_n(state_.beliefs.begin() + static_cast<std::ptrdiff_t>(e * L), L, plan_.unary[e]);
  }

  void draw_link(std::size_t l) {
    const DualLink& link = plan_.links[l];
    if (link.is_bond && link.factor > 1) return draw_bond(link, graph_.size() + l);
    gain(link.first, plan_.gains.data() + link.gains);
    gain(link.second, plan_.gains.data() + link.gains + graph_.cardinalities[link.first]);
    for (std::uint32_t m = link.mixture_begin; m < link.mixture_end; ++m) draw_mixture(m);
    draw_entries(link);
  }

  void gain(VariableId v, const double* gains) {
    double* own = belief(v);
    for (std::uint32_t k = 0; k < graph_.cardinalities[v]; ++k)
      for (std::uint32_t lane = 0; lane < L; ++lane) own[k * L + lane] *= gains[k];
    rescale(v);
  }

  void draw_bond(const DualLink& link, std::size_t site) {
    uniforms_.seek(site);
    const std::uint32_t states = graph_.cardinalities[link.first];
    const double gain = std::exp(link.law.gain);
    double* first = belief(link.first);
    double* second = belief(link.second);
    for (std::uint32_t lane = 0; lane < L; ++lane) {
      const auto y = static_cast<Value>(value(link.second, lane) ^ link.flip);
      const Value dual = draw_bond_dual(link.law, value(link.first, lane), y, states, uniforms_[lane]);
      double& one = first[dual * L + lane];
      double& other = second[(dual ^ link.flip) * L + lane];
      one *= gain;
      other *= gain;
      if (one > high) rescale(link.first, lane);
      if (other > high) rescale(link.second, lane);
    }
  }

  // A dual that is one changes the belief in one state of each variable.
  void draw_entries(const DualLink& link) {
    if (link.entry_begin == link.entry_end) return;
    double nats = 0;  // that beliefs may have moved by since they were rescaled
    for (std::uint32_t e = link.entry_begin; e < link.entry_end; ++e) {
      const EntryDual& entry = plan_.entries[e];
      nats += entry.nats;
      if (nats > most_nats) {
        // Exactly one at the most: the method bears entries of up to 650 nats, more than are left above what
        // rescale() leaves alone.
        normalise(belief(link.first), graph_.cardinalities[link.first]);
        normalise(belief(link.second), graph_.cardinalities[link.second]);
        nats = entry.nats;
      }
      uniforms_.seek(graph_.size() + plan_.links.size() + link.entry_site + e - link.entry_begin);
      draw_entry(entry, uniforms_.words(), values(link.first), values(link.second),
                 belief(link.first) + std::size_t{entry.first} * L,
                 belief(link.second) + std::size_t{entry.second} * L);
    }
    rescale(link.first);
    rescale(link.second);
  }

  static void draw_entry(const EntryDual& entry, const std::uint32_t* words, const Value* x, const Value* y,
                         double* first, double* second) {
    const double first_gain[2] = {1, entry.first_gain}, second_gain[2] = {1, entry.second_gain};
    for (std::uint32_t lane = 0; lane < L; ++lane) {
      const std::size_t place = 2 * std::size_t{x[lane] == entry.first} + (y[lane] == entry.second ? 1 : 0);
      const std::size_t drawn = words[lane] >= entry.least_word[place] ? 1 : 0;
      first[lane] *= first_gain[drawn];
      second[lane] *= second_gain[drawn];
    }
  }

  void draw_mixture(std::size_t m) {
    const PlacedMixture& mixture = plan_.mixtures[m];
    const std::uint32_t components = mixture.components;
    const std::size_t order = mixture.scope_end - mixture.scope_begin;
    const VariableId* scope = plan_.scopes.data() + mixture.scope_begin;
    const std::size_t* offsets = plan_.value_offsets.data() + mixture.scope_begin;
    const bool has_residual = mixture.residual != PlacedMixture::none;
    uniforms_.seek(graph_.size() + plan_.links.size() + mixture.site);
    weights_.resize(components + (has_residual ? 1 : 0));
    std::uint32_t drawn[L];
    bool is_residual = false;
    for (std::uint32_t lane = 0; lane < L; ++lane) {
      std::size_t index = 0;
      for (std::size_t j = 0; j < order; ++j) {
        const Value x = value(scope[j], lane);
        const double* row = plan_.values.data() + offsets[j] + std::size_t{x} * components;
        if (j == 0)
          std::copy_n(row, components, weights_.begin());
        else
          for (std::uint32_t r = 0; r < components; ++r) weights_[r] *= row[r];
        index = index * graph_.cardinalities[scope[j]] + x;
      }
      if (has_residual) weights_.back() = plan_.residuals[mixture.residual + index];
      double total = 0;
      for (double weight : weights_) total += weight;
      drawn[lane] =
          static_cast<std::uint32_t>(draw(weights_.data(), weights_.size(), 1, total, uniforms_[lane]));
      is_residual |= drawn[lane] == components;
    }
    for (std::size_t j = 0; j < order; ++j) {
      const std::uint32_t states = graph_.cardinalities[scope[j]];
      double* own = belief(scope[j]);
      const double* rows = plan_.values.data() + offsets[j];
      const Value* x = values(scope[j]);
      for (std::uint32_t k = 0; k < states; ++k, own += L, rows += components)
        if (is_residual)  // which leaves the variables where they are
          for (std::uint32_t lane = 0; lane < L; ++lane)
            own[lane] *= drawn[lane] < components ? rows[drawn[lane]] : k == x[lane] ? 1.0 : 0.0;
        else
          for (std::uint32_t lane = 0; lane < L; ++lane) own[lane] *= rows[drawn[lane]];
      rescale(scope[j]);
    }
  }

  // The factor between a variable, in state x, and its parent, in state y.
  struct PairFactor {
    const DualLink& link;
    const double* table;
    std::size_t own_step, parent_step;
    double operator()(std::uint32_t x, std::uint32_t y) const {
      if (link.is_bond) return x == (y ^ link.flip) ? link.factor : 1.0;
      return table[x * own_step + y * parent_step];
    }
  };

  PairFactor pair_factor(VariableId v) const {
    const DualLink& link = plan_.links[forest_.parent_link[v]];
    const std::size_t row = graph_.cardinalities[link.second];
    const double* table = plan_.tables.data() + link.table;
    return link.first == v ? PairFactor{link, table, row, 1} : PairFactor{link, table, 1, row};
  }

  // m(y) = sum_x T(x, y) belief_v(x), up to a constant.
  void message(VariableId v, std::vector<double>& out) {
    const DualLink& link = plan_.links[forest_.parent_link[v]];
    const std::uint32_t states = graph_.cardinalities[v];
    const std::uint32_t parent_states = graph_.cardinalities[forest_.parent[v]];
    const double* own = belief(v);
    out.assign(std::size_t{parent_states} * L, 0.0);
    if (link.is_bond) {  // sums over the states below and above y: a difference would lose small factors
      const double scale = 1 / std::max(1.0, link.factor), gain = link.factor * scale;
      double others[L] = {};
      for (std::uint32_t x = 0; x < states; ++x)
        for (std::uint32_t lane = 0; lane < L; ++lane) {
          out[(x ^ link.flip) * L + lane] = scale * others[lane] + gain * own[x * L + lane];
          others[lane] += own[x * L + lane];
        }
      std::fill_n(others, L, 0.0);
      for (std::uint32_t x = states; x-- > 0;)
        for (std::uint32_t lane = 0; lane < L; ++lane) {
          out[(x ^ link.flip) * L + lane] += scale * others[lane];
          others[lane] += own[x * L + lane];
        }
      return;
    }
    const PairFactor factor = pair_factor(v);
    for (std::uint32_t x = 0; x < states; ++x)
      for (std::uint32_t y = 0; y < parent_states; ++y) {
        const double value = factor(x, y);
        for (std::uint32_t lane = 0; lane < L; ++lane) out[y * L + lane] += value * own[x * L + lane];
      }
  }

  const Graph& graph_;
  const DualPlan& plan_;
  const DualForest& forest_;
  TreePrimalDual::State& state_;
  SiteUniforms uniforms_;
  std::vector<double> weights_;
  std::vector<double> scratch_;
};

// Kruskal with log weight + Gumbel noise: the strongest links are likely but not certain.
DualForest random_forest(const DualPlan& plan, std::size_t variables, std::uint64_t seed,
                         std::uint64_t sweep) {
  const LaneRandom random(seed, Stream::order);
  LaneRandom::Words words{};
  std::vector<double> weights(plan.links.size());
  for (std::size_t l = 0; l < weights.size(); ++l) {
    if (l % LaneRandom::width == 0)
      words = random.words(0, sweep, static_cast<std::uint32_t>(l / LaneRandom::width));
    const double u = (words[l % LaneRandom::width] + 0.5) * 0x1p-32;
    weights[l] = std::log(plan.links[l].weight + 1e-6) - std::log(-std::log(u));
  }
  return heaviest_forest(plan, weights, variables);
}

}  // namespace

TreePrimalDual::TreePrimalDual(const Graph& graph, ForestChoice choice,
                               std::vector<std::vector<Value>> starts)
    : graph_(&graph),
      choice_(choice),
      starts_(std::move(starts)),
      plan_(std::make_shared<const DualPlan>(make_dual_plan(graph))),
      conditional_offsets_(conditional_offsets(graph)) {
  check_starts(graph, starts_);
  std::vector<double> weights;
  if (choice != ForestChoice::none)
    for (const DualLink& link : plan_->links) weights.push_back(link.weight);
  forest_ = heaviest_forest(*plan_, weights, size());
}

std::size_t TreePrimalDual::forest_links() const {
  return static_cast<std::size_t>(std::count(forest_.has_link.begin(), forest_.has_link.end(), 1));
}

double TreePrimalDual::products() const {
  const auto mixture_products = [&](std::size_t m) {
    const PlacedMixture& mixture = plan_->mixtures[m];
    std::size_t products = std::size_t{mixture.scope_end - mixture.scope_begin} * mixture.components;
    for (std::size_t j = mixture.scope_begin; j < mixture.scope_end; ++j)
      products += graph_->cardinalities[plan_->scopes[j]];
    return products;
  };
  std::size_t products = 0;
  for (std::size_t l = 0; l < plan_->links.size(); ++l) {
    const DualLink& link = plan_->links[l];
    if (!forest_.has_link[l]) {
      products += 2 * (link.entry_end - link.entry_begin);
      for (std::size_t m = link.mixture_begin; m < link.mixture_end; ++m) products += mixture_products(m);
    } else if (!link.is_bond) {
      products += std::size_t{graph_->cardinalities[link.first]} * graph_->cardinalities[link.second];
    }
  }
  for (std::size_t m = plan_->first_free_mixture; m < plan_->mixtures.size(); ++m)
    products += mixture_products(m);
  return static_cast<double>(products);
}

TreePrimalDual::State TreePrimalDual::start(std::uint64_t seed, std::uint32_t first_chain,
                                            const RunControl& control) const {
  StopCheck check(control, "the chains", "were started");
  assert(first_chain % lanes() == 0);
  State state;
  state.seed = seed;
  state.first_chain = first_chain;
  state.values.resize(size() * L);
  std::vector<Value> x(size());
  for (std::uint32_t lane = 0; lane < L; ++lane) {
    draw_start(*graph_, starts_, seed, first_chain + lane, x);
    write(state, lane, x);
    check.step(x.size());
  }
  return state;
}

void TreePrimalDual::run(State& state, std::uint64_t sweep, float* sums) const {
  if (!state.plan)
    state.plan = state.inverse_temperature == 1
                     ? plan_
                     : std::make_shared<const DualPlan>(make_dual_plan(*graph_, state.inverse_temperature));
  // Another temperature may leave out links, so that the fixed forest is made anew.
  DualForest own;
  const bool fixed = choice_ != ForestChoice::redrawn && state.plan == plan_;
  if (choice_ == ForestChoice::redrawn) {
    own = random_forest(*state.plan, size(), state.seed, sweep);
  } else if (!fixed) {
    std::vector<double> weights;
    if (choice_ == ForestChoice::heaviest)
      for (const DualLink& link : state.plan->links) weights.push_back(link.weight);
    own = heaviest_forest(*state.plan, weights, size());
  }
  state.beliefs.resize(graph_->unary.size() * L);
  Sweep one(*graph_, *state.plan, fixed ? forest_ : own, state, sweep);
  one.draw_duals();
  one.pass_up();
  if (sums) one.add_margins(conditional_offsets_, sums);
  one.draw_down();
}

void TreePrimalDual::draw_duals(State& state, std::uint64_t sweep, const Share& share) const {
  assert(choice_ == ForestChoice::none && state.inverse_temperature == 1);
  state.beliefs.resize(graph_->unary.size() * L);
  Sweep(*graph_, *plan_, forest_, state, sweep).draw_duals(share);
}

void TreePrimalDual::draw_variables(State& state, std::uint64_t sweep, const Share& share,
                                    std::span<const VariableId> variables, float* sums) const {
  Sweep one(*graph_, *plan_, forest_, state, sweep);
  one.pass_up(variables);
  if (sums) one.add_margins(variables, share.conditional_offset, sums);
  one.draw_down(variables);
}

void TreePrimalDual::read(const State& state, std::uint32_t lane, std::span<Value> values) const {
  for (std::size_t v = 0; v < size(); ++v) values[v] = state.values[v * L + lane];
}

void TreePrimalDual::write(State& state, std::uint32_t lane, std::span<const Value> values) const {
  for (std::size_t v = 0; v < size(); ++v) state.values[v * L + lane] = values[v];
}

void TreePrimalDual::log_scores(const State& state, std::span<double> scores) const {
  std::vector<Value> x(size());
  for (std::uint32_t lane = 0; lane < L; ++lane) {
    read(state, lane, x);
    scores[lane] = log_score(*graph_, x);
  }
}

void TreePrimalDual::set_inverse_temperatures(State& state,
                                              std::span<const float> inverse_temperatures) const {
  assert(std::ranges::all_of(inverse_temperatures, [&](float b) { return b == inverse_temperatures[0]; }));
  state.inverse_temperature = inverse_temperatures[0];
  state.plan.reset();
}

}  // namespace drover
