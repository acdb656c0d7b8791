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

constexpr std::size_t most_trials = 20000;

class Search {
 public:
  Search(const Stated& stated, const RunControl& control) : stated_(stated), control_(control) {
    const Observations& observed = stated.observed();
    for (std::size_t e = 0; e < observed.size(); ++e)
      parts_.emplace_back().add(observed.variables[e], observed.values[e]);
    for (std::size_t l = 0; l < observed.likelihoods.size(); ++l)
      parts_.emplace_back().likelihoods.add(observed.likelihoods.variables[l],
                                            observed.likelihoods.values(l));
  }

  Conflict run() {
    Conflict conflict;
    std::vector<std::size_t> all(parts_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!possible({}) || possible(all)) return conflict;
    std::vector<std::size_t> kept = all;
    for (std::size_t part : all) {
      std::vector<std::size_t> fewer;
      std::ranges::copy_if(kept, std::back_inserter(fewer), [&](std::size_t k) { return k != part; });
      if (!possible(fewer)) kept = std::move(fewer);
    }
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
  // Completes `chosen` to an impossible set of `size` parts; `complete` turns false when trials run out.
  bool find_impossible(std::size_t size, std::size_t from, std::vector<std::size_t>& chosen, bool& complete) {
    if (chosen.size() == size) {
      if (++trials_ > most_trials || control_.should_stop()) complete = false;
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
  std::size_t trials_ = 0;
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
  const std::string text = conflict_text(find_conflict(stated, control), names);
  if (!text.empty()) throw Error(ErrorKind::bad_data, text);
}

}  // namespace drover
