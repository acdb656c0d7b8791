#include "drover/infer/gate_messages.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/log_math.hpp"
#include "drover/infer/semiring.hpp"

namespace drover {

namespace {

// The chain of counters. `one` is the value that counts; the last counter c has the log weight end[c]. Leaves
// the counter's distribution over all inputs in `counted` (cap + 1 numbers) for the child.
template <class S>
void count_messages(std::size_t inputs, std::size_t cap, std::size_t one, const double* end, const double* in,
                    double* out, double* counted, std::vector<double>& scratch) {
  const std::size_t states = cap + 1;
  scratch.resize((inputs + 2) * states);
  double* const forward = scratch.data();  // before input i, at i * states
  double* const backward = forward + (inputs + 1) * states;
  std::fill(forward, forward + states, log_zero);
  forward[0] = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    const double off = in[2 * i + 1 - one], on = in[2 * i + one];
    const double* const from = forward + i * states;
    double* const to = forward + (i + 1) * states;
    for (std::size_t c = 0; c < states; ++c) to[c] = from[c] + off;
    for (std::size_t c = 0; c < states; ++c) {
      const std::size_t next = std::min(c + 1, cap);
      to[next] = S::add(to[next], from[c] + on);
    }
  }
  std::copy(forward + inputs * states, forward + (inputs + 1) * states, counted);
  std::copy(end, end + states, backward);
  for (std::size_t i = inputs; i-- > 0;) {
    const double off = in[2 * i + 1 - one], on = in[2 * i + one];
    const double* const before = forward + i * states;
    double out_off = log_zero, out_on = log_zero;
    for (std::size_t c = 0; c < states; ++c) {
      const double after_on = backward[std::min(c + 1, cap)];
      out_off = S::add(out_off, before[c] + backward[c]);
      out_on = S::add(out_on, before[c] + after_on);
      backward[c] = S::add(backward[c] + off, after_on + on);  // c + 1 has not been touched yet
    }
    out[2 * i + 1 - one] = out_off;
    out[2 * i + one] = out_on;
  }
}

template <class S>
void or_messages(std::size_t inputs, std::size_t one, const double* in, double* out,
                 std::vector<double>& scratch) {
  const double* const child = in + 2 * inputs;
  const double end[2] = {child[1 - one], child[one]};
  double counted[2];
  count_messages<S>(inputs, 1, one, end, in, out, counted, scratch);
  out[2 * inputs + 1 - one] = counted[0];
  out[2 * inputs + one] = counted[1];
}

// Ones in low .. high, or, when that counter is shorter, zeros in n - high .. n - low.
template <class S>
void limit_messages(std::size_t inputs, std::size_t low, std::size_t high, const double* in, double* out,
                    FactorScratch& scratch) {
  const auto cap_of = [&](std::size_t least, std::size_t most) { return most >= inputs ? least : most + 1; };
  high = std::min(high, inputs);
  const bool count_zeros = cap_of(inputs - high, inputs - low) < cap_of(low, high);
  const std::size_t least = count_zeros ? inputs - high : low, most = count_zeros ? inputs - low : high;
  const std::size_t cap = cap_of(least, most);
  scratch.sums.resize(2 * (cap + 1));
  double* const end = scratch.sums.data();
  for (std::size_t c = 0; c <= cap; ++c) end[c] = c >= least && c <= most ? 0.0 : log_zero;
  count_messages<S>(inputs, cap, count_zeros ? 0 : 1, end, in, out, end + cap + 1, scratch.values);
}

// Sum-product of a noisy-OR: the chain has the states "nothing has switched the child on" and "something
// has".
void noisy_or_messages(const Gates& gates, std::size_t gate, const double* in, double* out,
                       std::vector<double>& scratch) {
  using S = SumOfExp;
  const auto log_off = gates.input_log_off(gate);
  const std::size_t inputs = log_off.size();
  const bool has_child = gates.has_child(gate);
  scratch.resize(2 * (inputs + 1));
  double* const forward = scratch.data();
  forward[0] = gates.log_leak_off[gate];
  forward[1] = log_one_minus_exp(forward[0]);
  for (std::size_t i = 0; i < inputs; ++i) {
    const double off = in[2 * i], on = in[2 * i + 1];
    const double* const from = forward + 2 * i;
    forward[2 * i + 2] = S::add(from[0] + off, from[0] + on + log_off[i]);
    forward[2 * i + 3] = S::add(from[1] + S::add(off, on), from[0] + on + log_one_minus_exp(log_off[i]));
  }
  double after[2] = {has_child ? in[2 * inputs] : log_zero, has_child ? in[2 * inputs + 1] : 0.0};
  if (has_child) std::copy(forward + 2 * inputs, forward + 2 * inputs + 2, out + 2 * inputs);
  for (std::size_t i = inputs; i-- > 0;) {
    const double off = in[2 * i], on = in[2 * i + 1];
    const double* const before = forward + 2 * i;
    const double switched = S::add(after[0] + log_off[i], after[1] + log_one_minus_exp(log_off[i]));
    out[2 * i] = S::add(before[0] + after[0], before[1] + after[1]);
    out[2 * i + 1] = S::add(before[0] + switched, before[1] + after[1]);
    after[0] = S::add(after[0] + off, switched + on);
    after[1] += S::add(off, on);
  }
}

template <class S>
void messages_by_states(const Gates& gates, std::size_t gate, double scale, const double* in, double* out) {
  const std::size_t arity = gates.scope(gate).size();
  assert(arity <= largest_noisy_or + 1);
  std::fill(out, out + 2 * arity, log_zero);
  std::vector<Value> x(arity);
  std::vector<double> left(arity + 1, 0.0);
  for (std::size_t state = 0; state < std::size_t{1} << arity; ++state) {
    for (std::size_t s = 0; s < arity; ++s) {
      x[s] = static_cast<Value>(state >> s & 1);
      left[s + 1] = left[s] + in[2 * s + x[s]];
    }
    const double value = gates.log_value(gate, x);
    if (value == log_zero) continue;
    double right = scale * value;
    for (std::size_t s = arity; s-- > 0;) {
      out[2 * s + x[s]] = S::add(out[2 * s + x[s]], left[s] + right);
      right += in[2 * s + x[s]];
    }
  }
}

template <class S>
void messages_of(const Gates& gates, std::size_t gate, double scale, const double* in, double* out,
                 FactorScratch& scratch) {
  const std::size_t inputs = gates.inputs(gate).size();
  switch (gates.kinds[gate]) {
    case GateKind::or_gate:
      return or_messages<S>(inputs, 1, in, out, scratch.values);
    case GateKind::and_gate:
      return or_messages<S>(inputs, 0, in, out, scratch.values);
    case GateKind::count:
      return limit_messages<S>(inputs, gates.low[gate], gates.high[gate], in, out, scratch);
    case GateKind::noisy_or:
    case GateKind::noisy_or_on:
      if (std::is_same_v<S, SumOfExp> && scale == 1)
        return noisy_or_messages(gates, gate, in, out, scratch.values);
      return messages_by_states<S>(gates, gate, scale, in, out);
  }
}

}  // namespace

bool has_large_noisy_or(const Graph& graph) {
  for (std::size_t g = 0; g < graph.gates.size(); ++g)
    if ((graph.gates.kinds[g] == GateKind::noisy_or || graph.gates.kinds[g] == GateKind::noisy_or_on) &&
        graph.gates.inputs(g).size() > largest_noisy_or)
      return true;
  return false;
}

void gate_messages(Semiring semiring, const Gates& gates, std::size_t gate, double scale, const double* in,
                   double* out, FactorScratch& scratch) {
  if (semiring == Semiring::sum)
    messages_of<SumOfExp>(gates, gate, scale, in, out, scratch);
  else
    messages_of<Maximum>(gates, gate, scale, in, out, scratch);
}

}  // namespace drover
