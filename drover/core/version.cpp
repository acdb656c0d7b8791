#include "drover/core/version.hpp"

namespace drover {

const char* version() {
  return DROVER_VERSION;
}

}  // namespace drover
