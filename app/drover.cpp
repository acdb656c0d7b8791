// The program `drover`.
#include "app/program.hpp"

int main(int argc, char** argv) {
  return drover::app::run_program(argc, argv);
}
