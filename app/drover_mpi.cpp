// The program `drover-mpi`: the commands of `drover`, shared by the processes that mpirun or srun started.
//
//   mpirun -n 4 drover-mpi marginals grid.uai
//
// Only rank 0 prints and writes. An error that all ranks meet is said once; a rank that fails alone says so
// with its name, and ends the others.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "app/command.hpp"
#include "app/convert.hpp"
#include "app/program.hpp"
#include "app/progress.hpp"
#include "drover/cluster/metis.hpp"
#include "drover/cluster/mpi_ranks.hpp"

namespace {

// Where the launcher gave this rank cores of its own, these; else the machine's, shared with the other ranks
// on it.
std::uint32_t cores_of_rank(std::uint32_t ranks_here) {
  const auto all = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    const auto own = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
    if (own > 0 && own < all) return own;
  }
  return std::max(1U, all / ranks_here);
}

// mpirun stands between the ranks and the terminal: whether there is one, its own stderr says.
bool launcher_has_terminal() {
  const std::string name = fmt::format("/proc/{}/fd/2", getppid());
  const int descriptor = open(name.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_terminal = isatty(descriptor) != 0;
  close(descriptor);
  return is_terminal;
}

}  // namespace

int main(int argc, char** argv) {
  drover::MpiSession session(argc, argv);
  drover::app::run_control().share_with(session.ranks());
  drover::app::set_usual_threads(cores_of_rank(session.ranks_here()));
  drover::app::set_usual_divide(drover::metis_parts);
  const bool is_first = session.ranks().is_first();
  drover::app::set_forwarded_to_terminal(is_first && launcher_has_terminal());
  const drover::app::Outcome outcome = drover::app::run_command(argc, argv);
  // What is said is settled: mpirun signals the others as soon as one of them has gone with an error.
  drover::app::expect_result();
  const bool failed = !outcome.error.empty();
  if (failed && is_first) drover::app::print_error(outcome.error);
  if (!session.end(!failed)) {
    if (!is_first) drover::app::print_error(session.name() + ": " + outcome.error);
    session.abort(outcome.exit_code);
  }
  return outcome.exit_code;
}
