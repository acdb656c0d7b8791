#include "drover/model/gates.hpp"

#include <algorithm>
#include <cassert>

#include "drover/core/log_math.hpp"

namespace drover {

void Gates::add(GateKind kind, std::span<const VariableId> inputs, const VariableId* child,
                std::span<const double> input_log_off, double log_leak, std::uint32_t low_count,
                std::uint32_t high_count) {
  kinds.push_back(kind);
  scopes.insert(scopes.end(), inputs.begin(), inputs.end());
  log_off.insert(log_off.end(), input_log_off.begin(), input_log_off.end());
  if (child) scopes.push_back(*child);
  log_off.resize(scopes.size(), 0.0);
  scope_offsets.push_back(scopes.size());
  log_leak_off.push_back(log_leak);
  low.push_back(low_count);
  high.push_back(high_count);
}

void Gates::add_or(std::span<const VariableId> inputs, VariableId child) {
  add(GateKind::or_gate, inputs, &child, {}, 0, 0, 0);
}

void Gates::add_and(std::span<const VariableId> inputs, VariableId child) {
  add(GateKind::and_gate, inputs, &child, {}, 0, 0, 0);
}

void Gates::add_noisy_or(std::span<const VariableId> inputs, VariableId child,
                         std::span<const double> input_log_off, double log_leak) {
  assert(input_log_off.size() == inputs.size());
  add(GateKind::noisy_or, inputs, &child, input_log_off, log_leak, 0, 0);
}

void Gates::add_noisy_or_on(std::span<const VariableId> inputs, std::span<const double> input_log_off,
                            double log_leak) {
  assert(input_log_off.size() == inputs.size());
  add(GateKind::noisy_or_on, inputs, nullptr, input_log_off, log_leak, 0, 0);
}

void Gates::add_count(std::span<const VariableId> scope, std::uint32_t low_count, std::uint32_t high_count) {
  add(GateKind::count, scope, nullptr, {}, 0, low_count, high_count);
}

void Gates::add_copy(const Gates& others, std::size_t gate) {
  const std::size_t begin = others.scope_offsets[gate], end = others.scope_offsets[gate + 1];
  const auto part = [&](const auto& from, auto& to) {
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
              from.begin() + static_cast<std::ptrdiff_t>(end));
  };
  part(others.scopes, scopes);
  part(others.log_off, log_off);
  scope_offsets.push_back(scopes.size());
  kinds.push_back(others.kinds[gate]);
  log_leak_off.push_back(others.log_leak_off[gate]);
  low.push_back(others.low[gate]);
  high.push_back(others.high[gate]);
}

double Gates::log_value(std::size_t gate, std::span<const Value> values) const {
  const std::size_t count = inputs(gate).size();
  std::size_t ones = 0;
  double off = log_leak_off[gate];
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] == 1) {
      ++ones;
      off += log_off[scope_offsets[gate] + i];
    }
  const auto allowed = [](bool holds) { return holds ? 0.0 : log_zero; };
  switch (kinds[gate]) {
    case GateKind::or_gate:
      return allowed((values[count] == 1) == (ones > 0));
    case GateKind::and_gate:
      return allowed((values[count] == 1) == (ones == count));
    case GateKind::noisy_or:
      return values[count] == 1 ? log_one_minus_exp(off) : off;
    case GateKind::noisy_or_on:
      return log_one_minus_exp(off);
    case GateKind::count:
      return allowed(ones >= low[gate] && ones <= high[gate]);
  }
  return 0;
}

std::vector<double> Gates::table(std::size_t gate) const {
  const std::size_t arity = scope(gate).size();
  std::vector<Value> values(arity);
  std::vector<double> result(std::size_t{1} << arity);
  for (std::size_t e = 0; e < result.size(); ++e) {
    for (std::size_t k = 0; k < arity; ++k) values[k] = static_cast<Value>(e >> (arity - 1 - k) & 1);
    result[e] = log_value(gate, values);
  }
  return result;
}

const char* gate_name(GateKind kind) {
  constexpr const char* names[] = {"OR", "AND", "NOISY-OR", "NOISY-OR-ON", "BETWEEN"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace drover
