#include "drover/infer/lp_relaxation.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/infer/clp_library.hpp"

namespace drover {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// A linear program column by column, as CLP takes it.
struct Program {
  std::vector<ClpLibrary::BigIndex> start;
  std::vector<int> row;
  std::vector<double> value, lower, upper, objective;
  std::vector<double> row_lower, row_upper;
};

// Collects columns, rows and entries. Those of p get entries until the last factor has been seen, so that all
// are put into the order of their columns at the end.
class LpBuilder {
 public:
  LpBuilder(const Graph& graph, const RunControl& control)
      : graph_(graph), constant_(graph.log_constant), check_(control, "the linear program", "was written") {
    for (VariableId v = 0; v < graph.size(); ++v) add_variable(v);
    add_spin_pairs();
    Graph others = graph;
    others.spin_pairs = {};
    const Tables tables = all_tables(others);
    for (std::size_t f = 0; f < tables.size(); ++f) add_table(tables.scope(f), tables.values(f));
  }

  Program finish() {
    const std::size_t columns = program_.objective.size();
    std::vector<ClpLibrary::BigIndex>& start = program_.start;
    start.assign(columns + 1, 0);
    for (const Entry& entry : entries_) ++start[entry.column + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    program_.row.resize(entries_.size());
    program_.value.resize(entries_.size());
    std::vector<ClpLibrary::BigIndex> next(start.begin(), start.end() - 1);
    for (const Entry& entry : entries_) {
      check_.step();
      const auto at = static_cast<std::size_t>(next[entry.column]++);
      program_.row[at] = entry.row;
      program_.value[at] = entry.value;
    }
    return std::move(program_);
  }

  double constant() const { return constant_; }
  /// The column of p_v(k), k >= 1.
  std::size_t column_of(VariableId v, std::size_t k) const { return first_column_[v] + k - 1; }

 private:
  struct Entry {
    std::uint32_t column;
    int row;
    float value;  // 1 or -1
  };

  int add_row(double low, double high) {
    program_.row_lower.push_back(low);
    program_.row_upper.push_back(high);
    return static_cast<int>(program_.row_lower.size() - 1);
  }

  std::size_t add_column(double objective, double upper = 1) {
    check_.step();
    program_.lower.push_back(0);
    program_.upper.push_back(upper);
    program_.objective.push_back(objective);
    return program_.objective.size() - 1;
  }

  void add_entry(int row, std::size_t column, float value) {
    entries_.push_back({static_cast<std::uint32_t>(column), row, value});
  }

  void add_variable(VariableId v) {
    const auto unary = graph_.unary_of(v);
    first_column_.push_back(program_.objective.size());
    const bool zero_possible = unary[0] != log_zero;
    const double base = zero_possible ? unary[0] : 0.0;
    constant_ += base;
    // The states other than 0 have probability at most 1 together, exactly 1 when 0 is impossible.
    const bool needs_row = unary.size() > 2 || !zero_possible;
    const int r = needs_row ? add_row(zero_possible ? 0.0 : 1.0, 1.0) : -1;
    for (std::size_t k = 1; k < unary.size(); ++k) {
      const bool possible = unary[k] != log_zero;
      const std::size_t column = add_column(possible ? unary[k] - base : 0, possible ? 1 : 0);
      if (needs_row) add_entry(r, column, 1);
    }
  }

  // J s_i s_j = 4 J x_i x_j - 2 J x_i - 2 J x_j + J
  void add_spin_pairs() {
    const SpinPairs& pairs = graph_.spin_pairs;
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const double J = pairs.couplings[f];
      if (J == 0) continue;
      const std::size_t i = column_of(pairs.first[f], 1), j = column_of(pairs.second[f], 1);
      program_.objective[i] -= 2 * J;
      program_.objective[j] -= 2 * J;
      constant_ += J;
      const std::size_t q = add_column(4 * J);
      if (J > 0) {
        for (std::size_t end : {i, j}) {
          const int r = add_row(-infinite, 0);
          add_entry(r, q, 1);
          add_entry(r, end, -1);
        }
      } else {
        const int r = add_row(-infinite, 1);
        add_entry(r, q, -1);
        add_entry(r, i, 1);
        add_entry(r, j, 1);
      }
    }
  }

  void add_table(std::span<const VariableId> scope, std::span<const double> values) {
    const int all = add_row(1, 1);
    std::vector<int> first_row;  // of each variable, for k = 1
    for (VariableId v : scope) {
      first_row.push_back(static_cast<int>(program_.row_lower.size()));
      for (std::size_t k = 1; k < graph_.cardinalities[v]; ++k) add_entry(add_row(0, 0), column_of(v, k), -1);
    }
    std::vector<std::uint32_t> x(scope.size(), 0);
    for (double entry : values) {
      if (entry != log_zero) {
        const std::size_t q = add_column(entry);
        add_entry(all, q, 1);
        for (std::size_t s = 0; s < scope.size(); ++s)
          if (x[s] > 0) add_entry(first_row[s] + static_cast<int>(x[s]) - 1, q, 1);
      }
      for (std::size_t s = scope.size(); s-- > 0;) {
        if (++x[s] < graph_.cardinalities[scope[s]]) break;
        x[s] = 0;
      }
    }
  }

  const Graph& graph_;
  double constant_;
  StopCheck check_;
  Program program_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> first_column_;
};

// Ends CLP's simplex method soon after the control says so. CLP compares its iterations with their limit after
// every one, so that a limit of none, set from another thread, ends it; CLP's own program does the same when it is
// interrupted. CLP's limit of seconds would count processor time, which is late where others work too.
class SimplexWatch {
 public:
  SimplexWatch(const ClpLibrary& library, ClpLibrary::Model* clp, const RunControl& control)
      : thread_([&library, clp, &control](const std::stop_token& solved) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any wake;
          while (!solved.stop_requested()) {
            if (control.should_stop()) library.setMaximumIterations(clp, 0);
            wake.wait_for(lock, solved, std::chrono::milliseconds(20), [] { return false; });
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

double lp_columns(const Graph& graph) {
  double columns = static_cast<double>(graph.unary.size()) + static_cast<double>(graph.spin_pairs.size());
  for (VariableId v : graph.potts_pairs.first)
    columns += static_cast<double>(graph.cardinalities[v]) * graph.cardinalities[v];
  for (std::size_t f = 0; f < graph.tables.size(); ++f)
    columns += static_cast<double>(graph.tables.values(f).size());
  for (std::size_t g = 0; g < graph.gates.size(); ++g)
    columns += std::exp2(static_cast<double>(graph.gates.scope(g).size()));
  return columns;
}

LpResult solve_lp_relaxation(const Graph& graph, const RunControl& control) {
  LpBuilder builder(graph, control);
  const Program program = builder.finish();
  LpResult result;
  result.columns = program.objective.size();
  result.rows = program.row_lower.size();
  const ClpLibrary& library = clp_library();
  const std::unique_ptr<ClpLibrary::Model, decltype(library.deleteModel)> clp(library.newModel(),
                                                                              library.deleteModel);
  library.setLogLevel(clp.get(), 0);
  library.loadProblem(clp.get(), static_cast<int>(result.columns), static_cast<int>(result.rows),
                      program.start.data(), program.row.data(), program.value.data(), program.lower.data(),
                      program.upper.data(), program.objective.data(), program.row_lower.data(),
                      program.row_upper.data());
  library.setOptimizationDirection(clp.get(), -1);
  {
    const SimplexWatch watch(library, clp.get(), control);
    library.dual(clp.get(), 0);
  }
  const int status = library.status(clp.get());
  if (status == 1)
    throw Error(ErrorKind::bad_data, "every state has probability zero: the linear program has no solution");
  result.solved = status == 0;
  result.upper = result.solved ? builder.constant() + library.objectiveValue(clp.get()) : infinite;
  const double* const solution = library.primalColumnSolution(clp.get());
  result.integral = result.solved;
  result.state.resize(graph.size());
  for (VariableId v = 0; v < graph.size(); ++v) {
    double left = 1, most = -1;
    const auto consider = [&](double p, std::size_t k) {
      if (p > most) result.state[v] = static_cast<Value>(k);
      most = std::max(most, p);
    };
    for (std::size_t k = 1; k < graph.cardinalities[v]; ++k) left -= solution[builder.column_of(v, k)];
    consider(left, 0);
    for (std::size_t k = 1; k < graph.cardinalities[v]; ++k) consider(solution[builder.column_of(v, k)], k);
    if (most < 1 - 1e-6) result.integral = false;
  }
  result.log_score = log_score(graph, result.state);
  return result;
}

}  // namespace drover
