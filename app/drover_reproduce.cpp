// The program `drover-reproduce`: the papers' experiments. `drover reproduce` starts it.
#include <string>
#include <vector>

#include "app/program.hpp"

int main(int argc, char** argv) {
  std::string command = "reproduce";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, command.data());
  return drover::app::run_program(argc + 1, arguments.data());
}
