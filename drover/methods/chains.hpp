// What all methods that run Markov chains share: how many chains and sweeps, and the run with its checkpoints.
// The way from a run to a result is in chain_results.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drover/core/checksum.hpp"
#include "drover/infer/support.hpp"
#include "drover/methods/chain_results.hpp"
#include "drover/methods/live_chains.hpp"
#include "drover/methods/method.hpp"
#include "drover/methods/sweep_cost.hpp"
#include "drover/run/chain_run.hpp"

namespace drover {

/// The options that every method with chains heeds, for its entry in the registry.
inline const std::string chain_option_names =
    "chains sweeps burn-in thin samples target-rhat target-mcse pairs joint check checkpoint "
    "checkpoint-every resume";

/// Sweeps of burn-in where none are asked for: the work of about 10^9 updates of a spin, between 100 and 1000
/// sweeps; fewer than 100, but at least 30, where an update costs more. `update_cost` is in updates of a
/// spin, by a rough count: it decides how long a default run of a large model takes, and nothing else.
std::uint64_t usual_burn_in(const Problem& problem, std::uint32_t chains, double update_cost = 1);

/// Sweeps, burn-in and thinning for the task. Defaults depend on the size of the work only: the usual
/// burn-in, then twice as many sweeps that count. Raises usage for options that contradict one another.
ChainOptions chain_options(const Problem& problem, Task task, std::uint32_t default_chains,
                           double update_cost = 1);

/// options.samples, or 1000.
std::uint64_t wanted_samples(const InferenceOptions& options);

/// Chains for a `sample` task when the user named only the number of draws: at most `most`, dividing it
/// evenly.
std::uint32_t chains_for_samples(std::uint64_t samples, std::uint32_t most);

/// States to start chains from: empty when the model is strictly positive and any state will do.
std::vector<std::vector<Value>> starting_states(const Problem& problem, std::uint32_t chains);

/// What must not change between two parts of a run, as one line.
std::string run_line(const Problem& problem, std::string_view method, Task task, const ChainOptions& options);
/// The same for what runs no chains; `settings` in words.
std::string run_line(const Problem& problem, std::string_view method, Task task, std::string_view settings);

/// Raises misfit when the sums and means of so many entries would exceed the memory limit.
void check_estimate_memory(const Problem& problem, std::size_t entries, std::uint32_t lanes,
                           const ChainOptions& options);
/// Raises usage when a resumed run is asked for another burn-in than it had.
void check_resumed_burn_in(const InferenceOptions& options, std::uint64_t burn_in);
/// What a sampler is given to run the chains of a kernel that it has made. What is done with them (marginals,
/// draws, a race) is compiled once, whatever the kernel.
class ChainTask {
 public:
  using SeeRun = std::function<void(const ChainRun&)>;

  virtual ~ChainTask() = default;
  /// Runs the chains, and gives the facts of the run back for the sampler to add to. `name` is what a
  /// checkpoint belongs to; `see` hears of the run that has ended, to ask for its totals. Where several ranks
  /// share the run, rank 0 has the result and the others nothing.
  template <Kernel K>
  RunFacts& run(std::string_view name, const K& kernel, const SeeRun& see = {}) {
    work_ = kernel_work(kernel);
    return go(name, std::make_unique<KernelStates<K>>(kernel), see);
  }
  /// To be called when the sampler knows better than the chains.
  virtual void not_converged() {}

 protected:
  virtual RunFacts& go(std::string_view name, std::unique_ptr<ChainStates> states, const SeeRun& see) = 0;
  const KernelWork& work() const { return work_; }

 private:
  template <class K>
  static KernelWork kernel_work(const K& kernel) {
    KernelWork work;
    if constexpr (requires { kernel.blocks(); }) {
      work.largest_block = kernel.blocks().max_entries;
      Checksum blocks;
      for (const auto& block : kernel.blocks().list) {
        work.entries += static_cast<double>(block.total_entries);
        blocks.add(block.order.data(), block.order.size() * sizeof(block.order[0]));
        blocks.add(&block.total_entries, sizeof(block.total_entries));
      }
      work.blocks = blocks.value();
      work.entries /= static_cast<double>(kernel.blocks().round_ends.size());
    }
    if constexpr (requires { kernel.products(); }) work.entries = kernel.products();
    if constexpr (requires { kernel.ladder(); }) work.replicas = static_cast<double>(kernel.ladder().rungs());
    return work;
  }

  KernelWork work_;
};

/// A sampler by chains: how to make its kernel, and nothing twice.
struct ChainSampler {
  std::uint32_t (*default_chains)(const Problem&);
  void (*run)(const Problem&, const ChainOptions&, const RunControl&, ChainTask&);
  double (*update_cost)(const Problem&) = nullptr;  ///< as in usual_burn_in(); null: 1
};

/// The usual number of chains, or a few where the time that is left hardly lets the usual ones of a large model be
/// laid out and swept some times: a few long chains then have an answer, many have none.
std::uint32_t chains_in_time(const Problem& problem, std::string_view method, std::uint32_t usual,
                             const RunControl& control);

MarginalsResult chain_marginals(const ChainSampler& sampler, const Problem& problem,
                                const RunControl& control);
SampleResult chain_sample(const ChainSampler& sampler, const Problem& problem, const RunControl& control,
                          DrawConsumer& consumer);
/// Makes the sampler's kernel and its chains, hands them to `use`, and returns what there is to say of them
/// when it comes back.
RunFacts enter_chains(const ChainSampler& sampler, const Problem& problem, const ChainOptions& options,
                      const RunControl& control, const UseChains& use);

/// The registry's entry for a sampler by chains; `options` are those it heeds besides the chains'.
template <const ChainSampler& sampler>
Method chain_method(std::string_view name, std::string_view summary, std::string_view source,
                    std::string (*why_not)(const Problem&, Task), const std::string& options = "") {
  Method method{name,
                summary,
                source,
                why_not,
                [](const Problem& problem, const RunControl& control) {
                  return chain_marginals(sampler, problem, control);
                },
                nullptr,
                nullptr,
                [](const Problem& problem, const RunControl& control, DrawConsumer& consumer) {
                  return chain_sample(sampler, problem, control, consumer);
                },
                chain_option_names + (options.empty() ? "" : " " + options)};
  method.enter = [](const Problem& problem, const ChainOptions& chains, const RunControl& control,
                    const UseChains& use) { return enter_chains(sampler, problem, chains, control, use); };
  method.usual_chains = sampler.default_chains;
  method.shared = {Task::marginals, Task::sample};
  return method;
}

}  // namespace drover
