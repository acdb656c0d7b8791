// A run on a model in parts, on disk: what no rank has whole is saved part by part, so that any number of ranks can go
// on from it.
//
// FILE is a checkpoint as all are (drover/run/checkpoint.hpp) with what every rank knows of the run; beside it stands
// "FILE.0.part-00000" or "FILE.1.part-00000" for every part: the words of the units that it draws or reads, of every
// chain, and the estimates of its variables. Parts are written in turn under the one and the other number, and FILE,
// which says the number that counts, comes when all of them are on the disk: a run that is killed at any moment leaves a
// whole checkpoint.
#pragma once

#include <memory>
#include <string>

#include "drover/io/spin_parts.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/run/checkpoint.hpp"

namespace drover {

class PartsCheckpoint {
 public:
  /// Collective, as all here. `run_line` names the run; the fingerprint of the parts is added to it.
  PartsCheckpoint(const Checkpointing& options, const std::string& run_line, const LoadedParts& loaded,
                  const RunControl& control);

  bool wanted() const { return !options_.file.empty(); }
  /// On rank 0.
  bool is_due() const { return file_.is_due(); }
  void save(ChainRun& run);
  /// Raises cannot_read, bad_data.
  void load(ChainRun& run);

 private:
  std::string path_of(std::uint32_t part) const;
  template <class Stream>
  void visit_part(ChainRun& run, std::size_t index, Stream& stream) const;

  Checkpointing options_;
  const LoadedParts& loaded_;
  const RunControl& control_;
  Checkpoint file_;  ///< of rank 0
  std::uint32_t generation_ = 0;
};

}  // namespace drover
