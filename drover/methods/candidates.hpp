// What `auto` means where a question has candidates of its own (drover/core/chooser.hpp).
#pragma once

#include <span>

#include "drover/core/chooser.hpp"
#include "drover/methods/method.hpp"

namespace drover {

/// The method the options name, or for "auto" the first of these that fits. Raises what choose_method() does.
Choice choose_method(const Problem& problem, Task task, std::span<const Candidate<const Method*>> candidates);

}  // namespace drover
