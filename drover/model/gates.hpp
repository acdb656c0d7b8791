// Factors over many binary variables that have a rule instead of a table, so that their size is that of their
// scope:
//
//   or_gate     child = x_1 or x_2 or ...       log factor 0 where it holds, minus infinity elsewhere
//   and_gate    child = x_1 and x_2 and ...     likewise
//   noisy_or    P(child = 0 | x) = q_0 product over inputs with x_i = 1 of q_i; the log factor is the log of
//               that or of one minus that
//   noisy_or_on the same with a child that is known to be 1 (what evidence leaves of it)
//   count       low <= x_1 + x_2 + ... <= high: at most k, exactly k, at least k
//
// A scope lists the inputs, then the child (or_gate, and_gate, noisy_or).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/types.hpp"

namespace drover {

enum class GateKind : std::uint8_t { or_gate, and_gate, noisy_or, noisy_or_on, count };

struct Gates {
  std::vector<GateKind> kinds;
  std::vector<std::size_t> scope_offsets{0};
  std::vector<VariableId> scopes;
  std::vector<double> log_off;       ///< per place of a scope: log q_i of a noisy input, else 0
  std::vector<double> log_leak_off;  ///< per gate: log q_0 of a noisy one, else 0
  std::vector<std::uint32_t> low;    ///< per gate: of a count, else 0
  std::vector<std::uint32_t> high;

  std::size_t size() const { return kinds.size(); }
  bool has_child(std::size_t gate) const {
    return kinds[gate] != GateKind::noisy_or_on && kinds[gate] != GateKind::count;
  }
  std::span<const VariableId> scope(std::size_t gate) const {
    return {scopes.data() + scope_offsets[gate], scope_offsets[gate + 1] - scope_offsets[gate]};
  }
  std::span<const VariableId> inputs(std::size_t gate) const {
    return scope(gate).first(scope(gate).size() - (has_child(gate) ? 1 : 0));
  }
  VariableId child(std::size_t gate) const { return scope(gate).back(); }
  std::span<const double> input_log_off(std::size_t gate) const {
    return {log_off.data() + scope_offsets[gate], inputs(gate).size()};
  }

  void add_or(std::span<const VariableId> inputs, VariableId child);
  void add_and(std::span<const VariableId> inputs, VariableId child);
  void add_noisy_or(std::span<const VariableId> inputs, VariableId child,
                    std::span<const double> input_log_off, double log_leak);
  void add_noisy_or_on(std::span<const VariableId> inputs, std::span<const double> input_log_off,
                       double log_leak);
  void add_count(std::span<const VariableId> scope, std::uint32_t low_count, std::uint32_t high_count);
  /// A gate of others as it is.
  void add_copy(const Gates& others, std::size_t gate);

  /// The log factor at the values of its scope, in order.
  double log_value(std::size_t gate, std::span<const Value> values) const;
  /// The gate as a table, last variable fastest; 2^(scope size) entries.
  std::vector<double> table(std::size_t gate) const;

 private:
  void add(GateKind kind, std::span<const VariableId> inputs, const VariableId* child,
           std::span<const double> input_log_off, double log_leak, std::uint32_t low_count,
           std::uint32_t high_count);
};

/// "OR", "AND", "NOISY-OR", "NOISY-OR-ON", "BETWEEN": as files write them.
const char* gate_name(GateKind kind);

}  // namespace drover
