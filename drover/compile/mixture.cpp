#include "drover/compile/mixture.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "drover/compile/dual.hpp"
#include "drover/core/log_math.hpp"
#include "drover/core/random.hpp"

namespace drover {

namespace {

using Cardinalities = std::span<const std::uint32_t>;

Mixture empty_mixture(Cardinalities cardinalities, std::uint32_t components) {
  Mixture mixture;
  mixture.components = components;
  std::uint32_t offset = 0;
  for (std::uint32_t states : cardinalities) {
    mixture.offsets.push_back(offset);
    offset += states * components;
  }
  mixture.values.assign(offset, 1.0);
  return mixture;
}

double& value_of(Mixture& mixture, std::size_t variable, std::uint32_t state, std::uint32_t component) {
  return mixture.values[mixture.offsets[variable] + state * mixture.components + component];
}

std::size_t index_of(Cardinalities cardinalities, std::span<const std::uint32_t> x) {
  std::size_t index = 0;
  for (std::size_t j = 0; j < x.size(); ++j) index = index * cardinalities[j] + x[j];
  return index;
}

// Calls body(index, x) for every entry of the table.
template <class Body>
void for_each_entry(Cardinalities cardinalities, const Body& body) {
  std::vector<std::uint32_t> x(cardinalities.size(), 0);
  for (std::size_t index = 0;; ++index) {
    body(index, std::span<const std::uint32_t>(x));
    std::size_t j = x.size();
    while (j > 0 && ++x[j - 1] == cardinalities[j - 1]) x[--j] = 0;
    if (j == 0) return;
  }
}

// 1 - [x = e], as the mean over cyclic orders of sum_t [first t match e, the next does not].
Mixture without_entry(Cardinalities cardinalities, std::span<const std::uint32_t> entry) {
  const auto order = static_cast<std::uint32_t>(cardinalities.size());
  Mixture mixture = empty_mixture(cardinalities, order * order);
  for (std::uint32_t first = 0; first < order; ++first)
    for (std::uint32_t matched = 0; matched < order; ++matched) {
      const std::uint32_t r = first * order + matched;
      for (std::uint32_t t = 0; t <= matched; ++t) {
        const std::uint32_t j = (first + t) % order;
        for (std::uint32_t k = 0; k < cardinalities[j]; ++k)
          value_of(mixture, j, k, r) = (k == entry[j]) == (t < matched) ? 1.0 : 0.0;
      }
      for (std::uint32_t k = 0; k < cardinalities[first]; ++k) value_of(mixture, first, k, r) /= order;
    }
  return mixture;
}

// The value that occurs most often, up to rounding.
double most_frequent(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double best = values[0];
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin;
    while (end < values.size() && values[end] - values[begin] <= 1e-12 * (1 + std::abs(values[begin]))) ++end;
    if (end - begin > most) {
      most = end - begin;
      best = values[begin];
    }
    begin = end;
  }
  return best;
}

bool is_one(double log_entry, double size) {
  return std::abs(log_entry) <= 1e-12 * (1 + size);
}

// Scales such that as many entries as can be found of l(i, j) - row(i) - column(j) are zero: from each of
// several starts rows and columns are set in turn to what most of their entries want. Zero entries of the
// table (log_zero) want nothing.
struct Scaling {
  std::vector<double> row, column;
  std::size_t ones = 0;
};

Scaling best_scaling(std::uint32_t rows, std::uint32_t columns, std::span<const double> table, double size) {
  Scaling best;
  for (std::uint32_t start = 0; start <= rows; ++start) {
    Scaling scaling;
    scaling.row.assign(rows, 0);
    scaling.column.assign(columns, 0);
    for (std::uint32_t j = 0; j < columns && start < rows; ++j)
      scaling.column[j] = table[start * columns + j] == log_zero ? 0 : table[start * columns + j];
    for (int round = 0; round < 4; ++round) {
      std::vector<double> wanted;
      for (std::uint32_t i = 0; i < rows; ++i) {
        wanted.clear();
        for (std::uint32_t j = 0; j < columns; ++j)
          if (table[i * columns + j] != log_zero)
            wanted.push_back(table[i * columns + j] - scaling.column[j]);
        if (!wanted.empty()) scaling.row[i] = most_frequent(wanted);
      }
      for (std::uint32_t j = 0; j < columns; ++j) {
        wanted.clear();
        for (std::uint32_t i = 0; i < rows; ++i)
          if (table[i * columns + j] != log_zero) wanted.push_back(table[i * columns + j] - scaling.row[i]);
        if (!wanted.empty()) scaling.column[j] = most_frequent(wanted);
      }
    }
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t j = 0; j < columns; ++j)
        if (table[i * columns + j] != log_zero)
          scaling.ones += is_one(table[i * columns + j] - scaling.row[i] - scaling.column[j], size) ? 1 : 0;
    if (start == 0 || scaling.ones > best.ones) best = scaling;
  }
  return best;
}

void add_pair(Cardinalities cardinalities, std::span<const double> table, FactorDual& dual) {
  const std::uint32_t rows = cardinalities[0], columns = cardinalities[1];
  double size = 0;
  for (double value : table)
    if (value != log_zero) size = std::max(size, std::abs(value));
  const Scaling scaling = best_scaling(rows, columns, table, size);
  dual.log_unary[0] = scaling.row;
  dual.log_unary[1] = scaling.column;
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j) {
      const double value = table[i * columns + j];
      const double entry = value - scaling.row[i] - scaling.column[j];
      if (value == log_zero || is_one(entry, size)) continue;
      const TableDual pair = dual_of_table(std::array{0.0, 0.0, 0.0, entry});
      dual.log_constant += pair.log_constant;
      dual.log_unary[0][i] += pair.alpha1;
      dual.log_unary[1][j] += pair.alpha2;
      Mixture mixture = empty_mixture(cardinalities, 2);
      mixture.entry = {i, j};
      for (std::uint32_t k = 0; k < rows; ++k)
        value_of(mixture, 0, k, 1) = std::exp(pair.q / 2 + (k == i ? pair.beta1 : 0));
      for (std::uint32_t k = 0; k < columns; ++k)
        value_of(mixture, 1, k, 1) = std::exp(pair.q / 2 + (k == j ? pair.beta2 : 0));
      dual.mixtures.push_back(std::move(mixture));
    }
}

// c + J [all equal] with J > 0.
bool add_all_equal(Cardinalities cardinalities, std::span<const double> table, FactorDual& dual) {
  const std::uint32_t states = cardinalities[0];
  for (std::uint32_t other : cardinalities)
    if (other != states) return false;
  const double equal = table[0], different = table[1];
  if (!(equal > different) || different == log_zero) return false;
  bool fits = true;
  for_each_entry(cardinalities, [&](std::size_t index, std::span<const std::uint32_t> x) {
    const bool all = std::all_of(x.begin(), x.end(), [&](std::uint32_t k) { return k == x[0]; });
    fits = fits && table[index] == (all ? equal : different);
  });
  if (!fits) return false;
  dual.log_constant += different;
  Mixture mixture = empty_mixture(cardinalities, states + 1);
  for (std::size_t j = 0; j < cardinalities.size(); ++j)
    for (std::uint32_t k = 0; k < states; ++k)
      for (std::uint32_t r = 0; r < states; ++r)
        value_of(mixture, j, k, r + 1) = k == r ? (j == 0 ? std::expm1(equal - different) : 1.0) : 0.0;
  dual.mixtures.push_back(std::move(mixture));
  return true;
}

// A binary variable y of the scope (the last) with t(x, 0) = c f(x), t(x, 1) = c (1 - f(x)),
// f = prod_i f_i(x_i), largest value of f below 1, each f_i at most 1 after scaling.
bool add_noisy_or(Cardinalities cardinalities, std::span<const double> table, FactorDual& dual) {
  const std::size_t causes = cardinalities.size() - 1;
  for (std::uint32_t states : cardinalities)
    if (states != 2) return false;
  const std::size_t half = table.size() / 2;
  if (table[0] == log_zero || table[1] == log_zero) return false;
  const double total = log_add(table[0], table[1]);
  // lambda_i from the entries with one cause; then everything is checked.
  const double log_start = table[0] - total;
  std::vector<double> log_lambda(causes);
  for (std::size_t i = 0; i < causes; ++i)
    log_lambda[i] = table[std::size_t{2} << (causes - 1 - i)] - table[0];
  for (std::size_t state = 0; state < half; ++state) {
    double log_f = log_start;
    for (std::size_t i = 0; i < causes; ++i)
      if (state >> (causes - 1 - i) & 1) log_f += log_lambda[i];
    if (!(std::abs(table[2 * state] - total - log_f) < 1e-10)) return false;
    if (!(std::abs(log_add(table[2 * state], table[2 * state + 1]) - total) < 1e-10)) return false;
  }
  for (double value : log_lambda)
    if (value > 0 || value == log_zero) return false;
  dual.log_constant += total;
  // Component 0: f(x) [y = 0] + (leak's share) f(x) / f(0) [y = 1]; component i: cause i is the first to act.
  Mixture mixture = empty_mixture(cardinalities, static_cast<std::uint32_t>(causes + 1));
  value_of(mixture, causes, 0, 0) = std::exp(log_start);
  value_of(mixture, causes, 1, 0) = -std::expm1(log_start);
  for (std::uint32_t i = 0; i < causes; ++i) {
    value_of(mixture, i, 1, 0) = std::exp(log_lambda[i]);
    const std::uint32_t r = i + 1;
    value_of(mixture, causes, 0, r) = 0;
    value_of(mixture, i, 0, r) = 0;
    value_of(mixture, i, 1, r) = -std::expm1(log_lambda[i]);
    for (std::uint32_t j = 0; j < i; ++j) value_of(mixture, j, 1, r) = std::exp(log_lambda[j]);
  }
  dual.mixtures.push_back(std::move(mixture));
  return true;
}

double mixture_value(const Mixture& mixture, std::span<const std::uint32_t> x) {
  double sum = 0;
  for (std::uint32_t r = 0; r < mixture.components; ++r) {
    double term = 1;
    for (std::size_t j = 0; j < x.size(); ++j)
      term *= mixture.values[mixture.offsets[j] + x[j] * mixture.components + r];
    sum += term;
  }
  return sum;
}

// One EM step for the divergence sum t log(t / m) - t + m; returns the divergence before it.
double improve(Cardinalities cardinalities, std::span<const double> table, Mixture& mixture) {
  const std::uint32_t components = mixture.components;
  std::vector<double> counts(mixture.values.size(), 0.0), terms(components), totals(components, 0.0);
  double divergence = 0;
  for_each_entry(cardinalities, [&](std::size_t index, std::span<const std::uint32_t> x) {
    double sum = 0;
    for (std::uint32_t r = 0; r < components; ++r) {
      terms[r] = 1;
      for (std::size_t j = 0; j < x.size(); ++j)
        terms[r] *= mixture.values[mixture.offsets[j] + x[j] * components + r];
      sum += terms[r];
    }
    divergence += table[index] * std::log(table[index] / sum) - table[index] + sum;
    for (std::uint32_t r = 0; r < components; ++r) {
      const double count = table[index] * terms[r] / sum;
      totals[r] += count;
      for (std::size_t j = 0; j < x.size(); ++j) counts[mixture.offsets[j] + x[j] * components + r] += count;
    }
  });
  // A_j(k, r) is the share of k among the counts of r; the first variable also carries the weight of r.
  for (std::size_t j = 0; j < cardinalities.size(); ++j)
    for (std::uint32_t k = 0; k < cardinalities[j]; ++k)
      for (std::uint32_t r = 0; r < components; ++r) {
        const std::size_t at = mixture.offsets[j] + k * components + r;
        const double share = totals[r] > 0 ? counts[at] / totals[r] : 0;
        mixture.values[at] = std::max(share, 1e-6) * (j == 0 ? totals[r] : 1.0);
      }
  return divergence;
}

// The largest number that the mixture can be multiplied with and stay below the table.
double room_below(Cardinalities cardinalities, std::span<const double> table, const Mixture& mixture) {
  double scale = std::numeric_limits<double>::infinity();
  for_each_entry(cardinalities, [&](std::size_t index, std::span<const std::uint32_t> x) {
    scale = std::min(scale, table[index] / mixture_value(mixture, x));
  });
  return scale;
}

struct Fit {
  Mixture mixture;
  double divergence = 0;
  double scale = 0;  ///< room_below(): one minus it is the share of the residual
};

// Of fits with 1, 2, 4, ... components the one that leaves the least residual; the table sums to one.
Fit fit(Cardinalities cardinalities, std::span<const double> table, const MixtureOptions& options) {
  constexpr int steps_between_checks = 25;
  constexpr double work = 4e6;  // bounds the time of a fit to some tens of milliseconds
  const std::size_t enough = table.size() / *std::max_element(cardinalities.begin(), cardinalities.end());
  Fit best;
  for (std::uint32_t components = 1; components <= options.most_components && components / 2 < enough;
       components *= 2) {
    Fit one;
    one.mixture = empty_mixture(cardinalities, components);
    RandomSequence random(components, Stream::generate);
    for (double& value : one.mixture.values) value = 0.5 + random.uniform();
    const double step_work =
        static_cast<double>(table.size()) * components * static_cast<double>(cardinalities.size());
    const int steps = static_cast<int>(std::clamp(work / step_work, 50.0, 1000.0));
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < steps; ++step) {
      one.divergence = improve(cardinalities, table, one.mixture);
      if (step % steps_between_checks != 0) continue;
      if (one.divergence < options.good_fit || before - one.divergence < 0.01 * one.divergence) break;
      before = one.divergence;
    }
    one.scale = std::min(1.0, room_below(cardinalities, table, one.mixture));
    if (one.scale > best.scale) best = std::move(one);
    if (best.scale > 1 - options.small_residual) break;
  }
  return best;
}

void add_fitted(Cardinalities cardinalities, std::vector<double> log_table, const MixtureOptions& options,
                FactorDual& dual) {
  // Zeros have mixtures of their own; here they may be anything, such as the mean of the others.
  double sum = 0;
  std::size_t positive = 0;
  for (double value : log_table)
    if (value != log_zero) {
      sum += value;
      ++positive;
    }
  for (double& value : log_table)
    if (value == log_zero) value = sum / static_cast<double>(positive);
  const double total = log_sum_exp(log_table);
  std::vector<double> table(log_table.size());
  for (std::size_t e = 0; e < table.size(); ++e) table[e] = std::exp(log_table[e] - total);
  dual.log_constant += total;
  dual.fitted = true;
  Fit best = fit(cardinalities, table, options);
  Mixture& mixture = best.mixture;
  dual.divergence = best.divergence;
  for (std::uint32_t k = 0; k < cardinalities[0]; ++k)
    for (std::uint32_t r = 0; r < mixture.components; ++r) value_of(mixture, 0, k, r) *= best.scale;
  mixture.residual.resize(table.size());
  for_each_entry(cardinalities, [&](std::size_t index, std::span<const std::uint32_t> x) {
    mixture.residual[index] = std::max(0.0, table[index] - mixture_value(mixture, x));
    dual.residual_share += mixture.residual[index];
  });
  dual.mixtures.push_back(std::move(mixture));
}

}  // namespace

FactorDual dual_of_factor(Cardinalities cardinalities, std::span<const double> log_values,
                          const MixtureOptions& options) {
  assert(cardinalities.size() >= 2);
  FactorDual dual;
  for (std::uint32_t states : cardinalities) dual.log_unary.emplace_back(states, 0.0);
  for_each_entry(cardinalities, [&](std::size_t index, std::span<const std::uint32_t> x) {
    if (log_values[index] == log_zero) dual.mixtures.push_back(without_entry(cardinalities, x));
  });
  if (cardinalities.size() == 2) {
    add_pair(cardinalities, log_values, dual);
  } else if (!dual.mixtures.empty() || (!add_all_equal(cardinalities, log_values, dual) &&
                                        !add_noisy_or(cardinalities, log_values, dual))) {
    add_fitted(cardinalities, {log_values.begin(), log_values.end()}, options, dual);
  }
  return dual;
}

double log_value(const FactorDual& dual, Cardinalities cardinalities, std::span<const std::uint32_t> x) {
  double total = dual.log_constant;
  for (std::size_t j = 0; j < x.size(); ++j) total += dual.log_unary[j][x[j]];
  for (const Mixture& mixture : dual.mixtures) {
    double value = mixture_value(mixture, x);
    if (!mixture.residual.empty()) value += mixture.residual[index_of(cardinalities, x)];
    total += std::log(value);
  }
  return total;
}

}  // namespace drover
