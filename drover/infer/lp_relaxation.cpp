#include "drover/infer/lp_relaxation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

#include "drover/core/error.hpp"
#include "drover/infer/clp_library.hpp"

namespace drover {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// A linear program column by column, as CLP takes it.
struct Program {
  std::vector<ClpLibrary::BigIndex> start{0};
  std::vector<int> row;
  std::vector<double> value, lower, upper, objective;
  std::vector<double> row_lower, row_upper;
};

// Collects columns with their entries; those of p get entries until the last row is known.
class LpBuilder {
 public:
  explicit LpBuilder(const Graph& graph) : graph_(graph), constant_(graph.log_constant) {
    for (VariableId v = 0; v < graph.size(); ++v) add_variable(v);
    add_spin_pairs();
    Graph others = graph;
    others.spin_pairs = {};
    const Tables tables = all_tables(others);
    for (std::size_t f = 0; f < tables.size(); ++f) add_table(tables.scope(f), tables.values(f));
  }

  Program finish() {
    Program program;
    program.row_lower = std::move(row_lower_);
    program.row_upper = std::move(row_upper_);
    for (const Column& column : columns_) {
      for (const auto& [r, coefficient] : column.entries) {
        program.row.push_back(r);
        program.value.push_back(coefficient);
      }
      program.start.push_back(static_cast<ClpLibrary::BigIndex>(program.row.size()));
      program.lower.push_back(column.lower);
      program.upper.push_back(column.upper);
      program.objective.push_back(column.objective);
    }
    return program;
  }

  double constant() const { return constant_; }
  /// The column of p_v(k), k >= 1.
  std::size_t column_of(VariableId v, std::size_t k) const { return first_column_[v] + k - 1; }

 private:
  struct Column {
    double lower = 0, upper = 1, objective = 0;
    std::vector<std::pair<int, double>> entries;
  };

  int add_row(double low, double high) {
    row_lower_.push_back(low);
    row_upper_.push_back(high);
    return static_cast<int>(row_lower_.size() - 1);
  }

  void add_variable(VariableId v) {
    const auto unary = graph_.unary_of(v);
    first_column_.push_back(columns_.size());
    const bool zero_possible = unary[0] != log_zero;
    const double base = zero_possible ? unary[0] : 0.0;
    constant_ += base;
    // The states other than 0 have probability at most 1 together, exactly 1 when 0 is impossible.
    const bool needs_row = unary.size() > 2 || !zero_possible;
    const int r = needs_row ? add_row(zero_possible ? 0.0 : 1.0, 1.0) : -1;
    for (std::size_t k = 1; k < unary.size(); ++k) {
      Column column;
      if (unary[k] == log_zero)
        column.upper = 0;
      else
        column.objective = unary[k] - base;
      if (needs_row) column.entries.emplace_back(r, 1.0);
      columns_.push_back(std::move(column));
    }
  }

  // J s_i s_j = 4 J x_i x_j - 2 J x_i - 2 J x_j + J
  void add_spin_pairs() {
    const SpinPairs& pairs = graph_.spin_pairs;
    for (std::size_t f = 0; f < pairs.size(); ++f) {
      const double J = pairs.couplings[f];
      if (J == 0) continue;
      const std::size_t i = column_of(pairs.first[f], 1), j = column_of(pairs.second[f], 1);
      columns_[i].objective -= 2 * J;
      columns_[j].objective -= 2 * J;
      constant_ += J;
      Column q;
      q.objective = 4 * J;
      if (J > 0) {
        for (std::size_t end : {i, j}) {
          const int r = add_row(-infinite, 0);
          q.entries.emplace_back(r, 1.0);
          columns_[end].entries.emplace_back(r, -1.0);
        }
      } else {
        const int r = add_row(-infinite, 1);
        q.entries.emplace_back(r, -1.0);
        columns_[i].entries.emplace_back(r, 1.0);
        columns_[j].entries.emplace_back(r, 1.0);
      }
      columns_.push_back(std::move(q));
    }
  }

  void add_table(std::span<const VariableId> scope, std::span<const double> values) {
    const int all = add_row(1, 1);
    std::vector<int> first_row;  // of each variable, for k = 1
    for (VariableId v : scope) {
      first_row.push_back(static_cast<int>(row_lower_.size()));
      for (std::size_t k = 1; k < graph_.cardinalities[v]; ++k)
        columns_[column_of(v, k)].entries.emplace_back(add_row(0, 0), -1.0);
    }
    std::vector<std::uint32_t> x(scope.size(), 0);
    for (double entry : values) {
      if (entry != log_zero) {
        Column q;
        q.objective = entry;
        q.entries.emplace_back(all, 1.0);
        for (std::size_t s = 0; s < scope.size(); ++s)
          if (x[s] > 0) q.entries.emplace_back(first_row[s] + static_cast<int>(x[s]) - 1, 1.0);
        columns_.push_back(std::move(q));
      }
      for (std::size_t s = scope.size(); s-- > 0;) {
        if (++x[s] < graph_.cardinalities[scope[s]]) break;
        x[s] = 0;
      }
    }
  }

  const Graph& graph_;
  double constant_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<Column> columns_;
  std::vector<std::size_t> first_column_;
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
  LpBuilder builder(graph);
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
  // A slice goes on from the basis of the last one. They grow, so that starting again cannot go round for
  // ever.
  constexpr int unfinished = 3;
  int status = unfinished;
  constexpr double longest = 1e9;
  for (double slice = 5000; status == unfinished; slice = std::min(longest, 1.5 * slice)) {
    if (control.has_time_limit()) library.setMaximumSeconds(clp.get(), control.seconds_left());
    library.setMaximumIterations(clp.get(), static_cast<int>(slice));
    library.dual(clp.get(), 0);
    status = library.status(clp.get());
    if (control.should_stop()) break;
  }
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
