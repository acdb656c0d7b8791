// What this program was made of and what it runs on, for reports of faults: drover --version --json.
#pragma once

#include "drover/core/json_writer.hpp"

namespace drover::app {

JsonObject build_facts();

}  // namespace drover::app
