#include "drover/numeric/lbfgs.hpp"

#include <lbfgs.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <limits>
#include <memory>
#include <new>

namespace drover {

namespace {

struct Call {
  const ValueAndGradient& function;
  const LbfgsStop& stop;
  LbfgsSummary& summary;
  std::exception_ptr raised{};  // carried over the C frames in between
};

double evaluate(void* instance, const double* x, double* gradient, int n, double /*step*/) {
  Call& call = *static_cast<Call*>(instance);
  if (call.raised) return std::numeric_limits<double>::infinity();
  ++call.summary.evaluations;
  const auto size = static_cast<std::size_t>(n);
  try {
    return call.function({x, size}, {gradient, size});
  } catch (...) {
    call.raised = std::current_exception();
    std::fill_n(gradient, size, 0.0);
    return std::numeric_limits<double>::infinity();
  }
}

int progress(void* instance, const double* /*x*/, const double* /*gradient*/, double value, double /*x_norm*/,
             double gradient_norm, double /*step*/, int /*n*/, int iteration, int /*trials*/) {
  Call& call = *static_cast<Call*>(instance);
  call.summary.iterations = static_cast<std::size_t>(iteration);
  call.summary.gradient_norm = gradient_norm;
  call.summary.trace.push_back(value);
  if (call.raised) return LBFGSERR_CANCELED;
  try {
    return call.stop(call.summary.iterations, value) ? LBFGSERR_CANCELED : 0;
  } catch (...) {
    call.raised = std::current_exception();
    return LBFGSERR_CANCELED;
  }
}

const char* in_words(int code) {
  switch (code) {
    case LBFGS_CONVERGENCE:
    case LBFGS_ALREADY_MINIMIZED:
      return "the gradient is small";
    case LBFGS_STOP:
      return "the value no longer falls";
    case LBFGSERR_CANCELED:
      return "stopped";
    case LBFGSERR_MAXIMUMITERATION:
      return "the iterations are used up";
    default:
      return "no step along the search direction lowers the value";
  }
}

}  // namespace

ValueAndGradient with_kept_values(ValueAndGradient function, PartKeeper* parts, std::uint64_t first_part) {
  if (parts == nullptr) return function;
  return [function = std::move(function), parts, part = first_part](std::span<const double> x,
                                                                    std::span<double> gradient) mutable {
    double value = 0;
    std::vector<double> kept;
    recall_or_do(
        parts, part++,
        [&](auto& archive) {
          archive(value);
          archive(kept);
        },
        [&] {
          value = function(x, gradient);
          kept.assign(gradient.begin(), gradient.end());
          return true;
        });
    if (kept.size() != gradient.size())
      throw Error(ErrorKind::bad_data,
                  "the checkpoint is not that of this run: it has another number of weights");
    std::copy(kept.begin(), kept.end(), gradient.begin());
    return value;
  };
}

LbfgsSummary minimise(std::vector<double>& x, const ValueAndGradient& function, const LbfgsOptions& options,
                      const LbfgsStop& stop) {
  LbfgsSummary summary;
  if (x.empty()) {
    summary.converged = true;
    summary.ended = in_words(LBFGS_CONVERGENCE);
    summary.value = function(x, {});
    return summary;
  }
  lbfgs_parameter_t parameter;
  lbfgs_parameter_init(&parameter);
  parameter.m = static_cast<int>(options.memory);
  parameter.epsilon = options.gradient_tolerance;
  parameter.max_iterations = static_cast<int>(options.max_iterations);
  if (options.value_tolerance > 0) {
    parameter.past = 10;
    parameter.delta = options.value_tolerance;
  }
  if (options.l1 > 0) {
    assert(options.l1_begin < x.size());
    parameter.orthantwise_c = options.l1;
    parameter.orthantwise_start = static_cast<int>(options.l1_begin);
    parameter.orthantwise_end = static_cast<int>(x.size());
    parameter.linesearch = LBFGS_LINESEARCH_BACKTRACKING;  // the only one that OWL-QN allows
  }
  // The library may want its own alignment.
  const int n = static_cast<int>(x.size());
  const std::unique_ptr<double, void (*)(double*)> aligned(lbfgs_malloc(n), lbfgs_free);
  if (!aligned) throw std::bad_alloc();
  std::copy(x.begin(), x.end(), aligned.get());
  Call call{function, stop, summary};
  const int code = lbfgs(n, aligned.get(), &summary.value, evaluate, progress, &call, &parameter);
  if (call.raised) std::rethrow_exception(call.raised);
  std::copy_n(aligned.get(), x.size(), x.begin());
  summary.converged = code == LBFGS_CONVERGENCE || code == LBFGS_ALREADY_MINIMIZED || code == LBFGS_STOP;
  summary.ended = in_words(code);
  return summary;
}

}  // namespace drover
