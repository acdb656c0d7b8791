#include "drover/task/conflict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"
#include "drover/infer/support.hpp"

namespace drover {

namespace {

constexpr double most_trials = 20000;
constexpr double most_work = 2e8;  // factors looked at in all trials together: seconds

class Search {
 public:
  Search(const Stated& stated, const RunControl& control) : stated_(stated), control_(control) {
    const Observations& observed = stated.observed();
    for (std::size_t e = 0; e < observed.size(); ++e)
      parts_.emplace_back().add(observed.variables[e], observed.values[e]);
    for (std::size_t l = 0; l < observed.likelihoods.size(); ++l)
      parts_.emplace_back().likelihoods.add(observed.likelihoods.variables[l],
                                            observed.likelihoods.values(l));
    const auto size =
        static_cast<double>(stated.model().factor_count() + stated.model().variable_count() + 1);
    most_trials_ = static_cast<std::size_t>(std::min(most_trials, most_work / size));
  }

  Conflict run() {
    Conflict conflict;
    std::vector<std::size_t> all(parts_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!possible({}) || possible(all)) return conflict;
    std::vector<std::size_t> kept = needed({}, false, all);
    std::ranges::sort(kept);
    conflict.smallest = true;
    for (std::size_t size = 1; size < kept.size() && conflict.smallest; ++size) {
      std::vector<std::size_t> chosen;
      if (find_impossible(size, 0, chosen, conflict.smallest)) {
        kept = chosen;
        break;
      }
    }
    for (std::size_t k : kept) conflict.observations.add(parts_[k]);
    return conflict;
  }

 private:
  // Of `parts`, those that make an impossible set with `given`, none of which can be left out; `given` grew
  // since it was last known to be possible when `changed`.
  std::vector<std::size_t> needed(const std::vector<std::size_t>& given, bool changed,
                                  const std::vector<std::size_t>& parts) const {
    if (changed && !possible(given)) return {};
    if (parts.size() == 1) return parts;
    const auto middle = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
    const std::vector<std::size_t> first(parts.begin(), middle), second(middle, parts.end());
    const auto joined = [&](const std::vector<std::size_t>& more) {
      std::vector<std::size_t> both = given;
      both.insert(both.end(), more.begin(), more.end());
      return both;
    };
    std::vector<std::size_t> result = needed(joined(first), true, second);
    const std::vector<std::size_t> others = needed(joined(result), !result.empty(), first);
    result.insert(result.end(), others.begin(), others.end());
    return result;
  }

  // Completes `chosen` to an impossible set of `size` parts; `complete` turns false when trials run out.
  bool find_impossible(std::size_t size, std::size_t from, std::vector<std::size_t>& chosen, bool& complete) {
    if (chosen.size() == size) {
      if (++trials_ > most_trials_) complete = false;
      return complete && !possible(chosen);
    }
    for (std::size_t k = from; k < parts_.size() && complete; ++k) {
      chosen.push_back(k);
      if (find_impossible(size, k + 1, chosen, complete)) return true;
      chosen.pop_back();
    }
    return false;
  }

  bool possible(const std::vector<std::size_t>& parts) const {
    fail_if_stopped(control_, "naming what is impossible");
    Observations evidence = stated_.set();
    for (std::size_t k : parts) evidence.add(parts_[k]);
    try {
      const Graph graph =
          compile(with_likelihoods(stated_.without_likelihoods(), evidence.likelihoods), fixed_by(evidence));
      find_supported_state(graph.gates.size() > 0 && can_expand_gates(graph) ? expand_gates(graph) : graph,
                           1);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_data) throw;
      return false;
    }
  }

  const Stated& stated_;
  const RunControl& control_;
  std::vector<Observations> parts_;
  std::size_t trials_ = 0, most_trials_ = 0;
};

}  // namespace

Conflict find_conflict(const Stated& stated, const RunControl& control) {
  return Search(stated, control).run();
}

std::string conflict_text(const Conflict& conflict, const Names& names) {
  const Observations& observed = conflict.observations;
  if (observed.empty()) return "";
  std::string list;
  for (std::size_t e = 0; e < observed.size(); ++e)
    list += fmt::format("{}{}={}", list.empty() ? "" : ", ", names.variable(observed.variables[e]),
                        names.state(observed.variables[e], observed.values[e]));
  for (std::size_t l = 0; l < observed.likelihoods.size(); ++l) {
    list += fmt::format("{}{}=", list.empty() ? "" : ", ", names.variable(observed.likelihoods.variables[l]));
    const auto values = observed.likelihoods.values(l);
    for (std::size_t k = 0; k < values.size(); ++k)
      list += fmt::format("{}{:g}", k > 0 ? ":" : "", std::exp(values[k]));
  }
  const std::size_t size = observed.size() + observed.likelihoods.size();
  if (size == 1) return fmt::format("the evidence is impossible: {} has probability 0", list);
  return fmt::format("the evidence is impossible: {} cannot hold together ({})", list,
                     conflict.smallest ? "no smaller set of the observations is impossible"
                                       : "without any one of them the others can");
}

void fail_if_conflict(const Stated& stated, const Names& names, const RunControl& control) {
  if (stated.observed().empty()) return;
  std::string text;
  try {
    text = conflict_text(find_conflict(stated, control), names);
  } catch (const Error& error) {  // no time to say more than that it is impossible
    if (error.kind() != ErrorKind::stopped && error.kind() != ErrorKind::interrupted) throw;
  }
  if (!text.empty()) throw Error(ErrorKind::bad_data, text);
}

}  // namespace drover
