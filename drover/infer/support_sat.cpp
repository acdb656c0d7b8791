#include "drover/infer/support_sat.hpp"

#include <algorithm>
#include <cadical.hpp>

namespace drover {

namespace {

constexpr int satisfiable = 10, unsatisfiable = 20;
constexpr int core_conflicts = 200000;    // effort to find a first core
constexpr int trim_conflicts = 2000;      // effort per attempt to leave a factor out
constexpr std::size_t trim_at_most = 64;  // factors of a core that is worth trimming

}  // namespace

struct SupportEncoding {
  SupportEncoding(const Graph& g, const SupportSearch& s) : graph(g), search(s), literals(g.unary.size(), 0) {
    solver.set("quiet", 1);
    solver.set("lucky", 0);  // would answer with the same few states whatever the preferred values
    solver.set("walk", 0);
    for (VariableId v = 0; v < graph.size(); ++v) add_variable(v);
  }

  void add_variable(VariableId v) {
    const std::size_t base = graph.unary_offsets[v];
    const std::uint32_t count = search.live_count(v);
    if (count == 1) return;
    int only = 0;
    for (std::size_t k = 0; k < graph.cardinalities[v]; ++k) {
      if (!search.is_live(v, k)) continue;
      if (count == 2) {
        literals[base + k] = only == 0 ? (only = ++last_literal) : -only;
      } else {
        literals[base + k] = ++last_literal;
        solver.add(literals[base + k]);
      }
    }
    if (count > 2) solver.add(0);
  }

  // Adds clauses against all zeros of a factor among the live values; each starts with `guard` unless 0.
  void block_zeros(std::size_t factor, int guard) {
    const auto scope = graph.tables.scope(factor);
    const auto table = graph.tables.values(factor);
    std::vector<std::size_t> strides(scope.size());
    std::size_t stride = 1;
    for (std::size_t a = scope.size(); a-- > 0;) {
      strides[a] = stride;
      stride *= graph.cardinalities[scope[a]];
    }
    std::vector<char> covered(table.size(), 0);
    std::vector<Value> values(scope.size());
    std::vector<char> fixed(scope.size());
    // Visits the live entries that agree with `values` where fixed; stops at the first refusal.
    const auto for_cube = [&](auto&& self, std::size_t a, std::size_t index, auto&& visit) -> bool {
      if (a == scope.size()) return visit(index);
      if (fixed[a]) return self(self, a + 1, index + strides[a] * values[a], visit);
      for (std::size_t k = 0; k < graph.cardinalities[scope[a]]; ++k)
        if (search.is_live(scope[a], k) && !self(self, a + 1, index + strides[a] * k, visit)) return false;
      return true;
    };
    for (std::size_t e = 0; e < table.size(); ++e) {
      if (table[e] != log_zero || covered[e]) continue;
      bool live = true;
      for (std::size_t a = 0; a < scope.size(); ++a) {
        values[a] = static_cast<Value>(e / strides[a] % graph.cardinalities[scope[a]]);
        live = live && search.is_live(scope[a], values[a]);
        fixed[a] = 1;
      }
      if (!live) continue;
      for (std::size_t a = 0; a < scope.size(); ++a) {
        fixed[a] = 0;
        fixed[a] = !for_cube(for_cube, 0, 0, [&](std::size_t index) { return table[index] == log_zero; });
      }
      for_cube(for_cube, 0, 0, [&](std::size_t index) {
        covered[index] = 1;
        return true;
      });
      if (guard != 0) solver.add(guard);
      for (std::size_t a = 0; a < scope.size(); ++a) {
        const int literal = literals[graph.unary_offsets[scope[a]] + values[a]];
        if (fixed[a] && literal != 0) solver.add(-literal);
      }
      solver.add(0);
    }
  }

  const Graph& graph;
  const SupportSearch& search;
  std::vector<int> literals;  // of (variable, value), laid out as graph.unary; 0 where the value is certain
  int last_literal = 0;
  CaDiCaL::Solver solver;
};

SupportSolver::SupportSolver(const Graph& graph, const SupportSearch& search)
    : encoding_(std::make_unique<SupportEncoding>(graph, search)) {
  for (std::size_t factor : search.hard_factors()) encoding_->block_zeros(factor, 0);
}

SupportSolver::~SupportSolver() = default;

bool SupportSolver::solve(std::uint64_t seed, std::uint32_t number, std::span<Value> x) {
  SupportEncoding& e = *encoding_;
  RandomSequence random(seed, Stream::start, number);
  for (VariableId v = 0; v < e.graph.size(); ++v) {
    if (e.search.live_count(v) == 1) continue;
    std::uint32_t preferred = random.below(e.search.live_count(v));
    for (std::size_t k = 0; k < e.graph.cardinalities[v]; ++k) {
      if (!e.search.is_live(v, k)) continue;
      const int literal = e.literals[e.graph.unary_offsets[v] + k];
      e.solver.phase(preferred-- == 0 ? literal : -literal);
    }
  }
  if (e.solver.solve() != satisfiable) return false;
  for (VariableId v = 0; v < e.graph.size(); ++v) {
    std::size_t k = 0;
    const std::size_t base = e.graph.unary_offsets[v];
    while (!e.search.is_live(v, k) || (e.literals[base + k] != 0 && e.solver.val(e.literals[base + k]) < 0))
      ++k;
    x[v] = static_cast<Value>(k);
  }
  return true;
}

// Every factor's clauses get a guard that an assumption switches on; the assumptions that failed are a core.
// Then each factor is left out in turn, for good when the rest still contradict each other.
std::vector<std::size_t> contradicting_factors(const Graph& graph) {
  const SupportSearch unary_only(graph);
  SupportEncoding encoding(graph, unary_only);
  const std::vector<std::size_t>& factors = unary_only.hard_factors();
  const int first_guard = encoding.last_literal + 1;
  std::vector<std::size_t> core(factors.size());
  for (std::size_t h = 0; h < factors.size(); ++h) {
    core[h] = h;
    encoding.block_zeros(factors[h], -(first_guard + static_cast<int>(h)));
  }
  CaDiCaL::Solver& solver = encoding.solver;
  // Shrinks the core to the factors that failed, all of them but one; false when they do not contradict.
  const auto shrink = [&](std::size_t without, int conflicts) {
    solver.limit("conflicts", conflicts);
    for (std::size_t h : core)
      if (h != without) solver.assume(first_guard + static_cast<int>(h));
    if (solver.solve() != unsatisfiable) return false;
    std::erase_if(core, [&](std::size_t h) {
      return h == without || !solver.failed(first_guard + static_cast<int>(h));
    });
    return true;
  };
  if (!shrink(factors.size(), core_conflicts)) return {};
  if (core.size() <= trim_at_most) {
    const std::vector<std::size_t> first_core = core;
    for (std::size_t h : first_core)
      if (std::find(core.begin(), core.end(), h) != core.end()) shrink(h, trim_conflicts);
  }
  for (std::size_t& h : core) h = factors[h];
  return core;
}

}  // namespace drover
