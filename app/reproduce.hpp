// drover reproduce: its options. What it does is in app/reproduce.cpp, in the program that has the
// experiments; the command itself starts that program (app/start_reproduce.cpp).
#pragma once

#include <cstdint>
#include <string>

#include "app/command.hpp"

namespace drover::app {

struct Reproduce {
  std::string experiment;
  std::string data;
  bool quick = false;
  std::uint64_t seed = 1;
  Limits limits;
  Output output;
};

int run_reproduce(const Reproduce& reproduce);

}  // namespace drover::app
