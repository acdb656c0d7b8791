// What a run may take: time and threads, as options.
#pragma once

#include <cstdint>
#include <optional>

#include "drover/core/option_list.hpp"

namespace drover {

struct Limits {
  std::optional<double> time{};  ///< seconds
  std::optional<std::uint32_t> threads{};
};

void describe(OptionList& list, Limits& limits);
/// Only the threads: for what runs to its end.
void describe_threads(OptionList& list, Limits& limits);

}  // namespace drover
