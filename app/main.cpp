#include <cstdio>

#include "drover/core/version.hpp"

int main() {
  std::printf("drover %s\n", drover::version());
}
