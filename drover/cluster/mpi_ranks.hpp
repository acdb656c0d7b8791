// Ranks over MPI: the processes that `mpirun -n N` or `srun` started, on one machine or many.
#pragma once

#include <memory>
#include <string>

#include "drover/core/ranks.hpp"

namespace drover {

/// MPI from its beginning to its end: to be made once, at the start of main().
class MpiSession {
 public:
  /// Raises misfit when the MPI library cannot serve a program with threads.
  MpiSession(int& argc, char**& argv);
  /// Ends MPI where end() came to its end; otherwise all ranks are ended.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  const Ranks& ranks() const { return *ranks_; }
  /// The ranks that share this machine's memory.
  std::uint32_t ranks_here() const;
  /// "rank 3 on node17"
  std::string name() const;

  /// Waits until every rank calls it. Without patience that is a second: a rank that failed alone would let
  /// the others wait for ever, and false is returned then.
  bool end(bool patient);
  /// Ends every rank at once.
  [[noreturn]] void abort(int exit_code);

 private:
  std::unique_ptr<Ranks> ranks_;
  bool ended_ = false;
};

}  // namespace drover
