#include "drover/infer/branch_and_bound.hpp"

#include <algorithm>
#include <cmath>

namespace drover {

namespace {

constexpr std::uint64_t most_dead_ends = 10'000;
constexpr std::size_t most_open_decisions = std::size_t{1} << 26;
constexpr double least_gain = 1e-9;  // of a log score that is worth a search

}  // namespace

BranchAndBound::BranchAndBound(SoftConsistency& consistency, std::size_t wanted)
    : consistency_(consistency),
      wanted_(wanted),
      margin_(wanted > 1 ? 0 : std::max(1.0, std::floor(least_gain * consistency.network().scale))) {
  open_nodes_.push_back({consistency.lower(), number_++, {}});
}

double BranchAndBound::limit() const {
  if (found_.size() < wanted_) return cap_;
  return std::min(cap_, found_.back().cost - margin_);
}

bool BranchAndBound::offer(std::span<const Value> state) {
  const double cost = consistency_.network().cost(state);
  if (!(cost < infinite_cost) || (found_.size() == wanted_ && cost >= found_.back().cost)) return false;
  for (const Found& known : found_)
    if (known.cost == cost && std::equal(state.begin(), state.end(), known.state.begin())) return false;
  const auto place = std::upper_bound(found_.begin(), found_.end(), cost,
                                      [](double c, const Found& other) { return c < other.cost; });
  found_.insert(place, {{state.begin(), state.end()}, cost});
  if (found_.size() > wanted_) found_.pop_back();
  return true;
}

double BranchAndBound::lower() const {
  return open_nodes_.empty() ? infinite_cost : open_nodes_.front().lower;
}

void BranchAndBound::add_open(std::vector<Decision> path, double lower) {
  open_decisions_ += path.size();
  open_nodes_.push_back({lower, number_++, std::move(path)});
  std::push_heap(open_nodes_.begin(), open_nodes_.end(), [](const Node& a, const Node& b) {
    return a.lower != b.lower ? a.lower > b.lower : a.number > b.number;
  });
}

BranchAndBound::Node BranchAndBound::take_open() {
  std::pop_heap(open_nodes_.begin(), open_nodes_.end(), [](const Node& a, const Node& b) {
    return a.lower != b.lower ? a.lower > b.lower : a.number > b.number;
  });
  Node node = std::move(open_nodes_.back());
  open_nodes_.pop_back();
  open_decisions_ -= node.path.size();
  return node;
}

bool BranchAndBound::apply(const Decision& decision) {
  if (!consistency_.is_live(decision.variable, decision.value)) {
    if (decision.kind == Kind::is) return false;
  } else if (decision.kind == Kind::is) {
    consistency_.assign(decision.variable, decision.value);
  } else {
    if (consistency_.live_count(decision.variable) == 1) return false;
    consistency_.remove(decision.variable, decision.value);
  }
  path_.push_back(decision);
  ++nodes_;
  return consistency_.propagate(limit());
}

BranchAndBound::Decision BranchAndBound::choose() {
  const CostNetwork& network = consistency_.network();
  VariableId best = no_variable;
  if (last_conflict_ != no_variable && consistency_.live_count(last_conflict_) > 1) {
    best = last_conflict_;
  } else {
    double best_ratio = infinite_cost, best_unary = 0;
    for (VariableId v : consistency_.open()) {
      double weight = 0;
      for (std::uint32_t e : network.edges_of(v))
        if (!consistency_.is_done(network.factor[e])) weight += consistency_.weight(network.factor[e]);
      const double ratio = consistency_.live_count(v) / (weight + 1e-3);
      if (ratio > best_ratio) continue;
      double most = 0;
      for (Value k : consistency_.live(v)) most = std::max(most, consistency_.unary(v, k));
      if (ratio == best_ratio && (most < best_unary || (most == best_unary && v > best))) continue;
      best = v;
      best_ratio = ratio;
      best_unary = most;
    }
  }
  const auto live = consistency_.live(best);
  Value value = consistency_.supported_value(best);
  // In a dive a state better than any known is looked for: the best one is no guide.
  if (cap_ == infinite_cost && !found_.empty() && consistency_.is_live(best, found_.front().state[best])) {
    value = found_.front().state[best];
  } else if (!consistency_.is_live(best, value)) {
    value = live[0];
    for (Value k : live) {
      const double difference = consistency_.unary(best, k) - consistency_.unary(best, value);
      if (difference < 0 || (difference == 0 && k < value)) value = k;
    }
  }
  return {best, value, Kind::is};
}

void BranchAndBound::keep_state() {
  const CostNetwork& network = consistency_.network();
  std::vector<Value> state(network.size());
  for (VariableId v = 0; v < network.size(); ++v) state[v] = consistency_.live(v)[0];
  offer(state);
}

bool BranchAndBound::descend(std::uint64_t dead_ends, std::uint64_t work_end, const RunControl& control,
                             bool keep_open) {
  std::vector<Frame> frames;
  bool alive = true;
  std::uint64_t met = 0;
  const std::uint64_t first = nodes_;  // one decision at least, or a run in small pieces would never end
  for (;;) {
    if (alive) {
      if (consistency_.open().empty()) {
        keep_state();
        alive = false;
      } else if (nodes_ > first &&
                 (consistency_.work() >= work_end || ((nodes_ & 15) == 0 && control.should_stop()))) {
        if (keep_open) {
          add_open(path_, consistency_.lower());
          for (const Frame& frame : frames) {
            std::vector<Decision> path(path_.begin(),
                                       path_.begin() + static_cast<std::ptrdiff_t>(frame.path_size));
            path.push_back({frame.decision.variable, frame.decision.value, Kind::is_not});
            add_open(std::move(path), frame.lower);
          }
        }
        while (!frames.empty()) {
          consistency_.pop();
          frames.pop_back();
        }
        return false;
      } else {
        const Decision decision = choose();
        frames.push_back({path_.size(), consistency_.lower(), decision});
        consistency_.push();
        alive = apply(decision);
        if (!alive) last_conflict_ = decision.variable;
      }
      continue;
    }
    ++met;
    if (frames.empty()) return true;
    const Frame frame = frames.back();
    frames.pop_back();
    consistency_.pop();
    path_.resize(frame.path_size);
    if (frame.lower >= limit()) continue;
    if (met > dead_ends && open_decisions_ < most_open_decisions) {
      if (keep_open) {
        frames.push_back(frame);
        for (const Frame& left : frames) {
          std::vector<Decision> path(path_.begin(),
                                     path_.begin() + static_cast<std::ptrdiff_t>(left.path_size));
          path.push_back({left.decision.variable, left.decision.value, Kind::is_not});
          add_open(std::move(path), left.lower);
        }
        frames.pop_back();
      }
      while (!frames.empty()) {
        consistency_.pop();
        frames.pop_back();
      }
      return false;
    }
    alive = apply({frame.decision.variable, frame.decision.value, Kind::is_not});
  }
}

void BranchAndBound::run(std::uint64_t work, const RunControl& control) {
  const std::uint64_t end = consistency_.work() + work;
  while (!open_nodes_.empty() && consistency_.work() < end && !control.should_stop()) {
    if (open_nodes_.front().lower >= limit()) {
      open_nodes_.clear();
      open_decisions_ = 0;
      break;
    }
    const Node node = take_open();
    consistency_.push();
    path_.clear();
    bool alive = consistency_.propagate(limit());
    const std::uint64_t before = nodes_;
    for (std::size_t d = 0; alive && d < node.path.size(); ++d) alive = apply(node.path[d]);
    replayed_ += nodes_ - before;
    if (alive) descend(dead_ends_allowed_, end, control, true);
    consistency_.pop();
    const auto replayed = static_cast<double>(replayed_), all = static_cast<double>(nodes_);
    if (replayed > 0.1 * all && dead_ends_allowed_ < most_dead_ends) dead_ends_allowed_ *= 2;
    if (replayed < 0.05 * all && dead_ends_allowed_ > 1) dead_ends_allowed_ /= 2;
  }
  if (!open_nodes_.empty() && open_nodes_.front().lower >= limit()) {
    open_nodes_.clear();
    open_decisions_ = 0;
  }
}

bool BranchAndBound::dive(double cap, std::uint64_t dead_ends, std::uint64_t work,
                          const RunControl& control) {
  cap_ = cap;
  const std::vector<char> none(consistency_.network().size(), 0);
  const bool complete = search_around({}, none, dead_ends, work, control);
  cap_ = infinite_cost;
  return complete;
}

bool BranchAndBound::search_around(std::span<const Value> state, std::span<const char> fixed,
                                   std::uint64_t dead_ends, std::uint64_t work, const RunControl& control) {
  consistency_.push();
  path_.clear();
  bool alive = consistency_.propagate(limit());
  bool complete = true;
  for (VariableId v = 0; alive && v < fixed.size(); ++v) {
    if (fixed[v] == 0 || (consistency_.live_count(v) == 1 && consistency_.is_live(v, state[v]))) continue;
    alive = consistency_.is_live(v, state[v]);
    if (alive) consistency_.assign(v, state[v]);
  }
  if (alive) alive = consistency_.propagate(limit());
  if (alive) complete = descend(dead_ends, consistency_.work() + work, control, false);
  consistency_.pop();
  return complete;
}

}  // namespace drover
