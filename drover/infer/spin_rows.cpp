#include "drover/infer/spin_rows.hpp"

#include <algorithm>
#include <numeric>

#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/infer/spin_diagonals.hpp"
#include "drover/infer/spin_kernels.hpp"
#include "drover/infer/spin_residual.hpp"

namespace drover {

namespace {

constexpr std::size_t messages_at_once = 2048;  // of a kernel call: what it reads stays in the first cache
constexpr std::size_t messages_of_a_task = 16384;
constexpr std::size_t messages_a_look = 64 * messages_of_a_task;  // between two questions whether to go on

// How many rows send about so many messages.
std::size_t rows_with(const SpinRows& rows, std::size_t messages) {
  return std::max<std::size_t>(1, messages * rows.rows() / std::max<std::size_t>(1, rows.message.size()));
}

// The flat arrays of SpinRows, for the loop below.
struct RowView {
  const std::size_t* offsets[2];
  const std::uint32_t* reverse;
  const double *own, *appearance;
};

// What the rows from r on read for their messages of one group, until `end` or until `most` messages are
// there (but at least one row). Moves r behind the last row; returns the number of messages.
template <bool weighted>
std::size_t gather(const RowView& view, int group, std::size_t& r, std::size_t end, std::size_t most,
                   const double* from, double* incoming) {
  const std::size_t* const offsets = view.offsets[group];
  const std::size_t first = offsets[r];
  std::size_t e = first;
  do {
    double belief = view.own[r];
    for (const std::size_t* every : view.offsets)
      for (std::size_t k = every[r]; k < every[r + 1]; ++k)
        belief += weighted ? view.appearance[k] * from[view.reverse[k]] : from[view.reverse[k]];
    for (++r; e < offsets[r]; ++e) *incoming++ = belief - from[view.reverse[e]];
  } while (r < end && offsets[r + 1] - first <= most);
  return e - first;
}

// Sends group `group` of the rows begin .. end; reads messages in `from`, writes to `to` (which may be `from`
// where no row is a neighbour of another). Returns the largest change.
double send_rows(const SpinRows& rows, int group, std::size_t begin, std::size_t end, double damping,
                 const double* from, double* to, std::vector<double>& incoming) {
  const RowView view = {{rows.offsets[0].data(), rows.offsets[1].data()},
                        rows.reverse.data(),
                        rows.own.data(),
                        rows.appearance.data()};
  double change = 0;
  for (std::size_t r = begin; r < end;) {
    const std::size_t first = rows.offsets[group][r];
    incoming.resize(std::max({incoming.size(), messages_at_once, rows.offsets[group][r + 1] - first}));
    const std::size_t sent = rows.appearance.empty()
                                 ? gather<false>(view, group, r, end, messages_at_once, from, incoming.data())
                                 : gather<true>(view, group, r, end, messages_at_once, from, incoming.data());
    change = std::max(change, send_spin_messages(rows.semiring, incoming.data(), rows.weights, first, sent,
                                                 damping, from + first, to + first));
  }
  return change;
}

// The same by threads when there are many.
double send_many_rows(const SpinRows& rows, int group, std::size_t begin, std::size_t end, double damping,
                      const double* from, double* to, std::vector<double>& incoming) {
  const std::size_t grain = rows_with(rows, messages_of_a_task);
  if (end - begin <= grain) return send_rows(rows, group, begin, end, damping, from, to, incoming);
  return parallel_max(IndexRange(begin, end, grain), 0.0, [&](const IndexRange& range) {
    std::vector<double> own;
    return send_rows(rows, group, range.begin(), range.end(), damping, from, to, own);
  });
}

class SpinFlooding : public SpinEngine {
 public:
  explicit SpinFlooding(const SpinProblem& problem) : rows_(spin_rows(problem, {})), next_(rows_.message) {}

  double iterate(double damping, double /*tolerance*/, const GoOn& go_on) override {
    const std::size_t step = rows_with(rows_, messages_a_look);
    double change = 0;
    for (std::size_t begin = 0; begin < rows_.rows(); begin += step) {
      const std::size_t end = std::min(rows_.rows(), begin + step);
      if (begin > 0 && go_on && !go_on()) {  // the rest stays as it is
        const auto rest = static_cast<std::ptrdiff_t>(rows_.offsets[0][begin]);
        std::copy(rows_.message.begin() + rest, rows_.message.end(), next_.begin() + rest);
        break;
      }
      change = std::max(change, send_many_rows(rows_, 0, begin, end, damping, rows_.message.data(),
                                               next_.data(), incoming_));
    }
    std::swap(rows_.message, next_);
    return change;
  }
  SpinPairMessages messages() const override { return rows_.pair_messages(); }
  std::vector<double> log_odds() const override { return rows_.log_odds(); }

 private:
  SpinRows rows_;
  std::vector<double> next_, incoming_;
};

class SpinSequential : public SpinEngine {
 public:
  SpinSequential(const SpinProblem& problem, std::span<const VariableId> order)
      : rows_(spin_rows(problem, order)) {}

  double iterate(double damping, double /*tolerance*/, const GoOn& go_on) override {
    double change = 0;
    std::size_t since = 0;
    const auto send = [&](int group, std::size_t level) {
      const std::size_t begin = rows_.levels[level], end = rows_.levels[level + 1];
      since += rows_.offsets[group][end] - rows_.offsets[group][begin] + end - begin;
      if (since > messages_a_look && go_on) {
        since = 0;
        if (!go_on()) return false;
      }
      change = std::max(change, send_many_rows(rows_, group, begin, end, damping, rows_.message.data(),
                                               rows_.message.data(), incoming_));
      return true;
    };
    const std::size_t levels = rows_.levels.size() - 1;
    for (std::size_t l = levels; l-- > 0;)
      if (!send(1, l)) return change;
    for (std::size_t l = 0; l < levels; ++l)
      if (!send(0, l)) return change;
    return change;
  }
  SpinPairMessages messages() const override { return rows_.pair_messages(); }
  std::vector<double> log_odds() const override { return rows_.log_odds(); }

 private:
  SpinRows rows_;
  std::vector<double> incoming_;
};

// Of every variable: one more than the highest level among its neighbours before it in the order.
std::vector<std::uint32_t> levels_of(const SpinProblem& problem, std::span<const VariableId> order,
                                     StopCheck& check) {
  const std::size_t n = problem.variables();
  std::vector<std::size_t> begins(n + 1, 0);
  for (std::size_t p = 0; p < problem.pairs(); ++p) {
    check.step();
    ++begins[problem.first[p] + 1];
    ++begins[problem.second[p] + 1];
  }
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<VariableId> neighbours(begins[n]);
  std::vector<std::size_t> next(begins.begin(), begins.end() - 1);
  for (std::size_t p = 0; p < problem.pairs(); ++p) {
    check.step();
    neighbours[next[problem.first[p]]++] = problem.second[p];
    neighbours[next[problem.second[p]]++] = problem.first[p];
  }
  std::vector<std::uint32_t> level(n, 0);  // 0: not reached yet
  for (VariableId v : order) {
    check.step();
    std::uint32_t highest = 0;
    for (std::size_t k = begins[v]; k < begins[v + 1]; ++k) highest = std::max(highest, level[neighbours[k]]);
    level[v] = highest + 1;
  }
  return level;
}

}  // namespace

double SpinRows::belief(std::size_t row, const double* messages) const {
  double sum = own[row];
  for (const std::vector<std::size_t>& group : offsets) {
    if (appearance.empty()) {
      for (std::size_t e = group[row]; e < group[row + 1]; ++e) sum += messages[reverse[e]];
    } else {
      for (std::size_t e = group[row]; e < group[row + 1]; ++e) sum += appearance[e] * messages[reverse[e]];
    }
  }
  return sum;
}

SpinPairMessages SpinRows::pair_messages() const {
  SpinPairMessages result;
  for (std::uint32_t e : to_second) {
    result.to_second.push_back(message[e] * log_of_two);
    result.to_first.push_back(message[reverse[e]] * log_of_two);
  }
  return result;
}

std::vector<double> SpinRows::log_odds() const {
  std::vector<double> result(row_of.size());
  for (std::size_t v = 0; v < result.size(); ++v) result[v] = belief(row_of[v], message.data()) * log_of_two;
  return result;
}

SpinRows spin_rows(const SpinProblem& problem, std::span<const VariableId> order) {
  const std::size_t n = problem.variables();
  StopCheck check(*problem.control, "message passing", "began");
  SpinRows rows;
  rows.semiring = problem.semiring;
  rows.row_of.resize(n);
  std::iota(rows.row_of.begin(), rows.row_of.end(), 0U);
  if (!order.empty()) {
    const std::vector<std::uint32_t> level = levels_of(problem, order, check);
    rows.levels.assign(*std::max_element(level.begin(), level.end()) + std::size_t{1}, 0);
    for (std::uint32_t l : level) ++rows.levels[l];
    std::partial_sum(rows.levels.begin(), rows.levels.end(), rows.levels.begin());
    std::vector<std::size_t> next = rows.levels;
    for (VariableId v : order) rows.row_of[v] = static_cast<VariableId>(next[level[v] - 1]++);
  }
  const auto group_of = [&](VariableId from, VariableId to) {
    return !order.empty() && rows.row_of[to] < rows.row_of[from];
  };
  for (std::vector<std::size_t>& offsets : rows.offsets) offsets.assign(n + 1, 0);
  for (std::size_t p = 0; p < problem.pairs(); ++p) {
    check.step();
    const VariableId i = problem.first[p], j = problem.second[p];
    ++rows.offsets[group_of(i, j)][rows.row_of[i] + 1];
    ++rows.offsets[group_of(j, i)][rows.row_of[j] + 1];
  }
  std::size_t total = 0;
  std::vector<std::size_t> next[2];
  for (int group : {0, 1}) {
    rows.offsets[group][0] = total;
    std::partial_sum(rows.offsets[group].begin(), rows.offsets[group].end(), rows.offsets[group].begin());
    total = rows.offsets[group][n];
    next[group] = rows.offsets[group];
  }
  rows.reverse.resize(total);
  rows.weights = SpinWeights(total);
  rows.message.assign(total, 0.0);
  rows.appearance.resize(problem.appearance.empty() ? 0 : total);
  rows.to_second.resize(problem.pairs());
  for (std::size_t p = 0; p < problem.pairs(); ++p) {
    check.step();
    const VariableId i = problem.first[p], j = problem.second[p];
    const std::size_t forward = next[group_of(i, j)][rows.row_of[i]]++;
    const std::size_t backward = next[group_of(j, i)][rows.row_of[j]]++;
    rows.to_second[p] = rows.reverse[backward] = static_cast<std::uint32_t>(forward);
    rows.reverse[forward] = static_cast<std::uint32_t>(backward);
    rows.weights.set(forward, 2 * problem.coupling[p]);
    rows.weights.set(backward, 2 * problem.coupling[p]);
    if (!problem.appearance.empty())
      rows.appearance[forward] = rows.appearance[backward] = problem.appearance[p];
    if (problem.to_first.empty()) continue;
    rows.message[forward] = problem.to_second[p] / log_of_two;
    rows.message[backward] = problem.to_first[p] / log_of_two;
  }
  rows.own.resize(n);
  for (std::size_t v = 0; v < n; ++v) rows.own[rows.row_of[v]] = problem.log_odds[v] / log_of_two;
  return rows;
}

std::unique_ptr<SpinEngine> spin_flooding(const SpinProblem& problem) {
  return std::make_unique<SpinFlooding>(problem);
}

std::unique_ptr<SpinEngine> spin_sequential(const SpinProblem& problem, std::span<const VariableId> order) {
  return std::make_unique<SpinSequential>(problem, order);
}

std::unique_ptr<SpinEngine> spin_engine(const SpinProblem& problem, MessageSchedule schedule,
                                        std::span<const VariableId> order) {
  if (schedule == MessageSchedule::sequential) return spin_sequential(problem, order);
  if (schedule == MessageSchedule::residual) return spin_residual(problem);
  if (std::unique_ptr<SpinEngine> diagonals = spin_diagonals(problem)) return diagonals;
  return spin_flooding(problem);
}

}  // namespace drover
