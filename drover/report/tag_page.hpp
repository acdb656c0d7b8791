// Tagged text as one self-contained HTML page: entities coloured by type, paler where less sure.
#pragma once

#include <string>

#include "drover/task/tag.hpp"

namespace drover {

std::string page_of(const Tags& tags);

}  // namespace drover
