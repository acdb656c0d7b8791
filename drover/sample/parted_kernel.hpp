// Kernels whose sweeps take so long that a control may end them in their midst.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "drover/core/run_control.hpp"
#include "drover/sample/kernel.hpp"

namespace drover {

/// The State remembers where a sweep was ended, also in a checkpoint, and the next sweep of the same number goes on
/// from there.
template <class K>
concept PartedKernel = Kernel<K> &&
    requires(const K kernel, typename K::State state, const RunControl& control) {
  sweep_and_tell(kernel, std::declval<TotalsOf<K>&>(), state, std::uint64_t{0}, control);
  { kernel.is_midway(state) } -> std::same_as<bool>;
};

}  // namespace drover
