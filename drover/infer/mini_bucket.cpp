#include "drover/infer/mini_bucket.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace drover {

namespace {

// A function of some variables, named by their place in the order; the one eliminated first runs fastest.
struct Function {
  std::vector<std::uint32_t> places;  ///< falling
  std::vector<double> values;         ///< logs
};

class Elimination {
 public:
  Elimination(const Graph& graph, std::span<const VariableId> order, double log2_entries,
              const RunControl& control)
      : control_(control), log2_limit_(log2_entries), buckets_(order.size()) {
    std::vector<std::uint32_t> place(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) {
      place[order[p]] = static_cast<std::uint32_t>(p);
      states_.push_back(graph.cardinalities[order[p]]);
    }
    for (VariableId v = 0; v < graph.size(); ++v) {
      const auto unary = graph.unary_of(v);
      buckets_[place[v]].push_back({{place[v]}, {unary.begin(), unary.end()}});
    }
    const Tables tables = all_tables(graph);
    for (std::size_t f = 0; f < tables.size(); ++f) add_table(tables, f, place);
    result_.upper = graph.log_constant;
    result_.exact = true;
  }

  MiniBucketBound run() {
    for (std::size_t p = 0; p < buckets_.size(); ++p) {
      fail_if_stopped(control_, "the mini-bucket bound");
      eliminate(static_cast<std::uint32_t>(p));
    }
    return result_;
  }

 private:
  // Reorders the axes of a table of the graph.
  void add_table(const Tables& tables, std::size_t f, const std::vector<std::uint32_t>& place) {
    const auto scope = tables.scope(f);
    const auto values = tables.values(f);
    Function given{{}, {values.begin(), values.end()}};
    for (VariableId v : scope) given.places.push_back(place[v]);
    Function sorted{given.places, std::vector<double>(values.size(), 0.0)};
    std::ranges::sort(sorted.places, std::greater<>());
    add(given, sorted);
    const std::uint32_t first = sorted.places.back();
    buckets_[first].push_back(std::move(sorted));
  }

  double log2_size(std::span<const std::uint32_t> places) const {
    double size = 0;
    for (std::uint32_t p : places) size += std::log2(states_[p]);
    return size;
  }

  // to += from, whose variables are among to's.
  void add(const Function& from, Function& to) const {
    const std::size_t axes = to.places.size();
    std::vector<std::size_t> step(axes, 0);  // of from, per axis of to
    std::size_t stride = 1;
    for (std::size_t a = from.places.size(); a-- > 0;) {
      const auto at = std::ranges::find(to.places, from.places[a]) - to.places.begin();
      step[static_cast<std::size_t>(at)] = stride;
      stride *= states_[from.places[a]];
    }
    const std::uint32_t fastest = states_[to.places.back()];
    const std::size_t inner = step.back();
    std::vector<std::uint32_t> digit(axes, 0);
    std::size_t index = 0;
    for (std::size_t e = 0; e < to.values.size(); e += fastest) {
      for (std::uint32_t k = 0; k < fastest; ++k) to.values[e + k] += from.values[index + k * inner];
      for (std::size_t a = axes - 1; a-- > 0;) {
        index += step[a];
        if (++digit[a] < states_[to.places[a]]) break;
        index -= step[a] * states_[to.places[a]];
        digit[a] = 0;
      }
    }
  }

  // Groups whose joint tables stay within the limit: each function goes where it adds least.
  std::vector<std::vector<const Function*>> partition(const std::vector<Function>& functions) const {
    std::vector<const Function*> sorted;
    for (const Function& f : functions) sorted.push_back(&f);
    std::ranges::stable_sort(
        sorted, [](const Function* a, const Function* b) { return a->places.size() > b->places.size(); });
    std::vector<std::vector<const Function*>> groups;
    std::vector<std::vector<std::uint32_t>> scopes;
    for (const Function* f : sorted) {
      std::size_t best = groups.size();
      double least = 0;
      std::vector<std::uint32_t> best_scope;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        std::vector<std::uint32_t> joint;
        std::ranges::set_union(scopes[g], f->places, std::back_inserter(joint), std::greater<>());
        const double size = log2_size(joint), added = size - log2_size(scopes[g]);
        if (size > log2_limit_ + 1e-9 && joint.size() > scopes[g].size()) continue;
        if (best < groups.size() && added >= least) continue;
        best = g;
        least = added;
        best_scope = std::move(joint);
      }
      if (best == groups.size()) {
        groups.push_back({f});
        scopes.push_back(f->places);
      } else {
        groups[best].push_back(f);
        scopes[best] = std::move(best_scope);
      }
    }
    return groups;
  }

  Function product(const std::vector<const Function*>& group) {
    Function joint;
    for (const Function* f : group) {
      std::vector<std::uint32_t> places;
      std::ranges::set_union(joint.places, f->places, std::back_inserter(places), std::greater<>());
      joint.places = std::move(places);
    }
    std::size_t entries = 1;
    for (std::uint32_t p : joint.places) entries *= states_[p];
    joint.values.assign(entries, 0.0);
    for (const Function* f : group) add(*f, joint);
    result_.entries += static_cast<double>(entries);
    return joint;
  }

  // log of the sum over all but v of f^power, for every value of v.
  std::vector<double> moments(const Function& f, std::uint32_t states, double power) const {
    std::vector<double> largest(states, log_zero), sum(states, 0.0);
    for (std::size_t e = 0; e < f.values.size(); ++e)
      largest[e % states] = std::max(largest[e % states], f.values[e]);
    for (std::size_t e = 0; e < f.values.size(); ++e)
      if (f.values[e] > log_zero) sum[e % states] += std::exp(power * (f.values[e] - largest[e % states]));
    for (std::uint32_t k = 0; k < states; ++k)
      sum[k] = largest[k] == log_zero ? log_zero : power * largest[k] + std::log(sum[k]);
    return sum;
  }

  void match(std::vector<Function>& groups, std::uint32_t states) const {
    const auto count = static_cast<double>(groups.size());
    std::vector<std::vector<double>> moment;
    std::vector<double> mean(states, 0.0);
    for (const Function& f : groups) {
      moment.push_back(moments(f, states, count));
      for (std::uint32_t k = 0; k < states; ++k) mean[k] += moment.back()[k] / count;
    }
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (std::size_t e = 0; e < groups[g].values.size(); ++e) {
        const std::size_t k = e % states;
        groups[g].values[e] =
            mean[k] == log_zero ? log_zero : groups[g].values[e] + (mean[k] - moment[g][k]) / count;
      }
  }

  void eliminate(std::uint32_t place) {
    const std::uint32_t states = states_[place];
    std::vector<Function> joint;
    for (const auto& group : partition(buckets_[place])) joint.push_back(product(group));
    buckets_[place].clear();
    buckets_[place].shrink_to_fit();
    if (joint.size() > 1) {
      match(joint, states);
      result_.exact = false;
      ++result_.splits;
    }
    const auto power = static_cast<double>(joint.size());
    for (Function& f : joint) {
      Function message{{f.places.begin(), f.places.end() - 1}, {}};
      message.values.reserve(f.values.size() / states);
      for (std::size_t e = 0; e < f.values.size(); e += states) {
        const double largest = *std::max_element(f.values.begin() + static_cast<std::ptrdiff_t>(e),
                                                 f.values.begin() + static_cast<std::ptrdiff_t>(e + states));
        double sum = 0;
        if (largest > log_zero)
          for (std::uint32_t k = 0; k < states; ++k) sum += std::exp(power * (f.values[e + k] - largest));
        message.values.push_back(largest == log_zero ? log_zero : largest + std::log(sum) / power);
      }
      if (message.places.empty())
        result_.upper += message.values[0];
      else
        buckets_[message.places.back()].push_back(std::move(message));
    }
  }

  const RunControl& control_;
  double log2_limit_;
  std::vector<std::uint32_t> states_;  ///< per place
  std::vector<std::vector<Function>> buckets_;
  MiniBucketBound result_;
};

}  // namespace

MiniBucketBound mini_bucket_bound(const Graph& graph, std::span<const VariableId> order, double log2_entries,
                                  const RunControl& control) {
  return Elimination(graph, order, log2_entries, control).run();
}

}  // namespace drover
