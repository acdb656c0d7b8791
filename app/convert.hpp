// What the program says to 'convert' about itself.
#pragma once

#include "drover/task/parts.hpp"

namespace drover::app {

/// How models are divided into parts; otherwise by reach.
void set_usual_divide(Divide divide);

}  // namespace drover::app
