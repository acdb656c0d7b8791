#include "drover/machine/pseudo_likelihood.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "drover/machine/pseudo_likelihood.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "drover/core/parallel.hpp"

#ifndef DROVER_PSEUDO_LIKELIHOOD_ROWS
#define DROVER_PSEUDO_LIKELIHOOD_ROWS
namespace drover {

/// One row of the data, and where its derivatives go.
struct PseudoRow {
  std::size_t stride;  ///< variables, filled up to whole vectors
  std::span<const std::uint32_t> ones;
  double weight;
  const double *biases, *weights;  ///< weights as a full symmetric matrix with a zero diagonal
  double *fields, *states;         ///< room for one row; states are all zero between calls
  double *bias_gradient, *weight_gradient;
};

}  // namespace drover
#endif

HWY_BEFORE_NAMESPACE();
namespace drover {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<double, 8>;

/// to += factor * from
HWY_INLINE void add_row(std::size_t stride, double factor, const double* HWY_RESTRICT from,
                        double* HWY_RESTRICT to) {
  const Tag d;
  const auto times = hn::Set(d, factor);
  for (std::size_t i = 0; i < stride; i += hn::Lanes(d))
    hn::StoreU(hn::MulAdd(times, hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i);
}

/// Returns the weighted sum of -log p(x_i | others) and adds its derivatives; those of w_ij to place (i, j)
/// and to place (j, i), one part each.
double pseudo_row(const PseudoRow& row) {
  const Tag d;
  std::copy_n(row.biases, row.stride, row.fields);
  for (std::uint32_t j : row.ones) {
    row.states[j] = 1;
    add_row(row.stride, 1, row.weights + j * row.stride, row.fields);
  }
  const auto one = hn::Set(d, 1.0), zero = hn::Zero(d);
  auto sum = zero;
  for (std::size_t i = 0; i < row.stride; i += hn::Lanes(d)) {
    const auto field = hn::LoadU(d, row.fields + i), x = hn::LoadU(d, row.states + i);
    const auto tail = hn::Exp(d, hn::Neg(hn::Abs(field)));
    const auto probability = hn::Div(hn::IfThenElse(hn::Ge(field, zero), one, tail), hn::Add(one, tail));
    sum = hn::Add(sum, hn::NegMulAdd(x, field, hn::Add(hn::Max(field, zero), hn::Log1p(d, tail))));
    hn::StoreU(hn::Sub(probability, x), d, row.fields + i);  // the derivative
  }
  add_row(row.stride, row.weight, row.fields, row.bias_gradient);
  for (std::uint32_t j : row.ones) {
    row.states[j] = 0;
    add_row(row.stride, row.weight, row.fields, row.weight_gradient + j * row.stride);
  }
  return row.weight * hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace drover
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace drover {

HWY_EXPORT(pseudo_row);

namespace {

constexpr std::size_t vector_width = 8;
constexpr double never = -700;  // the field of what fills up the last vector: p = 0

struct Sums {
  double value = 0;
  std::vector<double> biases, weights;
};

}  // namespace

double BoltzmannMachine::field(std::size_t i, std::span<const Value> x) const {
  double field = biases[i];
  for (std::size_t j = 0; j < size(); ++j)
    if (j != i && x[j] == 1) field += weights[pair(i, j)];
  return field;
}

Model BoltzmannMachine::model() const {
  // x_i x_j = (1 + s_i + s_j + s_i s_j) / 4, and s_i / 4 is x_i / 2 up to a constant.
  Model model;
  model.cardinalities.assign(size(), 2);
  std::vector<double> fields = biases;
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = i + 1; j < size(); ++j) {
      const double weight = weights[pair(i, j)];
      if (weight == 0) continue;
      model.spin_pairs.add(static_cast<VariableId>(i), static_cast<VariableId>(j), weight / 4);
      model.log_constant -= weight / 4;
      fields[i] += weight / 2;
      fields[j] += weight / 2;
    }
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const double values[2] = {0, fields[i]};
    model.unaries.add(static_cast<VariableId>(i), values);
  }
  return model;
}

PseudoLikelihood::PseudoLikelihood(std::span<const Value> rows, std::size_t variables,
                                   std::span<const double> row_weights, double l2)
    : variables_(variables), stride_((variables + vector_width - 1) / vector_width * vector_width), l2_(l2) {
  const std::size_t count = rows.size() / variables;
  assert(count > 0 && count * variables == rows.size());
  assert(row_weights.empty() || row_weights.size() == count);
  row_weights_.assign(row_weights.begin(), row_weights.end());
  if (row_weights.empty()) row_weights_.assign(count, 1.0);
  for (std::size_t r = 0; r < count; ++r) {
    total_weight_ += row_weights_[r];
    for (std::size_t v = 0; v < variables; ++v)
      if (rows[r * variables + v] == 1) ones_.push_back(static_cast<std::uint32_t>(v));
    row_offsets_.push_back(ones_.size());
  }
}

double PseudoLikelihood::value_and_gradient(std::span<const double> parameters, std::span<double> gradient,
                                            const RunControl& control) const {
  const std::size_t n = variables_;
  std::vector<double> biases(stride_, never), weights(n * stride_, 0.0);
  std::copy_n(parameters.begin(), n, biases.begin());
  for (std::size_t i = 0, p = n; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j, ++p)
      weights[i * stride_ + j] = weights[j * stride_ + i] = parameters[p];

  const auto add_rows = [&](const IndexRange& range, Sums& sums) {
    if (sums.biases.empty()) {
      sums.biases.assign(stride_, 0.0);
      sums.weights.assign(n * stride_, 0.0);
    }
    std::vector<double> fields(stride_), states(stride_, 0.0);
    for (std::size_t r = range.begin(); r < range.end(); ++r) {
      if (r % 64 == 0 && control.should_stop()) break;
      const std::span<const std::uint32_t> ones(ones_.data() + row_offsets_[r],
                                                row_offsets_[r + 1] - row_offsets_[r]);
      sums.value += HWY_DYNAMIC_DISPATCH(pseudo_row)({stride_, ones, row_weights_[r], biases.data(),
                                                      weights.data(), fields.data(), states.data(),
                                                      sums.biases.data(), sums.weights.data()});
    }
  };
  const auto join = [](Sums& a, const Sums& b) {
    a.value += b.value;
    for (std::size_t i = 0; i < a.biases.size(); ++i) a.biases[i] += b.biases[i];
    for (std::size_t i = 0; i < a.weights.size(); ++i) a.weights[i] += b.weights[i];
  };
  // The splits depend on the number of rows only, so the sums have the same bits for any number of threads.
  const std::size_t rows = row_weights_.size(), grain = std::max<std::size_t>(2048, rows / 16);
  const Sums sums = parallel_collect<Sums>(IndexRange(0, rows, grain), add_rows, join);

  const double share = 1 / total_weight_;
  double value = sums.value;
  for (std::size_t i = 0; i < n; ++i) gradient[i] = share * sums.biases[i];
  for (std::size_t i = 0, p = n; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j, ++p) {
      value += l2_ / 2 * parameters[p] * parameters[p];
      gradient[p] =
          share * (sums.weights[i * stride_ + j] + sums.weights[j * stride_ + i] + l2_ * parameters[p]);
    }
  }
  return share * value;
}

namespace {

struct Stopped {};

}  // namespace

PseudoLikelihoodFit fit_pseudo_likelihood(std::span<const Value> rows, std::size_t variables,
                                          const PseudoLikelihoodOptions& options, const RunControl& control) {
  const PseudoLikelihood objective(rows, variables, {}, options.l2);
  std::vector<double> parameters(objective.parameters(), 0.0), last = parameters;
  PseudoLikelihoodFit fit;
  LbfgsSummary so_far;
  const ValueAndGradient function = with_kept_values(
      [&](std::span<const double> x, std::span<double> gradient) {
        const double value = objective.value_and_gradient(x, gradient, control);
        if (control.should_stop()) throw Stopped{};
        return value;
      },
      options.parts);
  try {
    fit.summary = minimise(
        parameters,
        [&](std::span<const double> x, std::span<double> gradient) {
          const double value = function(x, gradient);
          last.assign(x.begin(), x.end());
          return value;
        },
        options.minimiser,
        [&](std::size_t iteration, double value) {
          so_far.iterations = iteration;
          so_far.value = value;
          so_far.trace.push_back(value);
          control.report(
              {"learning",
               static_cast<double>(iteration) / static_cast<double>(options.minimiser.max_iterations),
               iteration, 0, 0});
          return false;
        });
  } catch (const Stopped&) {
    parameters = std::move(last);
    fit.summary = std::move(so_far);
    fit.summary.ended = "stopped";
    fit.stopped = true;
  }
  const auto middle = parameters.begin() + static_cast<std::ptrdiff_t>(variables);
  fit.machine.biases.assign(parameters.begin(), middle);
  fit.machine.weights.assign(middle, parameters.end());
  return fit;
}

}  // namespace drover
#endif
