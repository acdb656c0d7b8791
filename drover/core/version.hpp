#pragma once

namespace drover {

/// The version of the library, as in CMakeLists.txt.
const char* version();

}  // namespace drover
