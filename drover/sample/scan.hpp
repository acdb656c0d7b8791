// The order in which a sweep visits the variables.
#pragma once

namespace drover {

enum class Scan {
  fixed,   ///< every variable once, always in the same order
  random,  ///< every variable once, in a fresh random order each sweep (the same for all chains)
};

}  // namespace drover
