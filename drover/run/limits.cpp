#include "drover/run/limits.hpp"

namespace drover {

void describe(OptionList& list, Limits& limits) {
  list.add("time", "SECONDS", "stop after this time with the result so far", limits.time, {1e-9, 1e9},
           "no limit");
  describe_threads(list, limits);
}

void describe_threads(OptionList& list, Limits& limits) {
  list.add("threads", "N", "threads to use; results do not depend on it", limits.threads, {1, 4096},
           "all cores");
}

}  // namespace drover
