// Answers about a network too large for exact inference: a sampler runs behind it, and what it knows so far
// is told with standard errors that shrink as it goes on.
//
// Each set of findings has a sampler of its own, in a thread; two are kept (two tabs may ask different
// things), and the one that was asked least recently makes room. A sampler rests while nobody asks. The first
// quarter of a run counts as burn-in, however long it becomes. An error is never less than one over the
// effective sample size: of n draws none need have met an event of probability 1 / n, so a state that was
// never met is not impossible.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "drover/core/distributions.hpp"
#include "drover/core/run_control.hpp"
#include "drover/run/result.hpp"
#include "drover/serve/exact_network.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct NetworkEstimate {
  std::uint64_t version = 0;
  Distributions probabilities, mcse;  ///< of every variable of the model
  std::string method;
  Diagnostics diagnostics;
  Judgement judgement;
  std::uint64_t sweeps = 0;
  std::uint32_t chains = 0;
  double seconds = 0;
  std::string failure;  ///< why there is nothing more to come; empty while the sampler runs
  bool impossible = false;
};

class SampledNetwork {
 public:
  /// The model must outlive it.
  SampledNetwork(const Model& model, std::uint64_t seed, const RunControl& control);
  ~SampledNetwork();
  SampledNetwork(const SampledNetwork&) = delete;
  SampledNetwork& operator=(const SampledNetwork&) = delete;

  /// The newest estimate under these findings, when it is newer than `version`; waits at most so many seconds
  /// for one, then is null. An empty method is chosen.
  std::shared_ptr<const NetworkEstimate> marginals(std::span<const Finding> findings,
                                                   const std::string& method, std::uint64_t version,
                                                   double seconds);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
