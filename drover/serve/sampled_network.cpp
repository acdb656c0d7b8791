#include "drover/serve/sampled_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/methods/method.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/run/segment_diagnostics.hpp"
#include "drover/serve/live_questions.hpp"
#include "drover/serve/seconds_since.hpp"
#include "drover/task/inference.hpp"

namespace drover {

namespace {

using Clock = std::chrono::steady_clock;

/// Blocks where they fit, since single variables of a network often cannot move alone.
const Method& sampler_for(const Problem& problem, const std::string& wanted) {
  if (!wanted.empty()) return method_named(wanted);
  std::string reason;
  const auto fits = [&](const Method& method) {
    if (method.enter == nullptr) return false;
    reason = why_not(method, problem, Task::marginals);
    return reason.empty();
  };
  for (const char* name : {"blocked-gibbs", "gibbs"})
    if (fits(method_named(name))) return method_named(name);
  for (const Method& method : all_methods())
    if (fits(method)) return method;
  throw Error(ErrorKind::misfit, reason);
}

/// One set of findings and its sampler.
class Sampler {
 public:
  Sampler(const Model& model, std::span<const Finding> findings, std::string method, std::uint64_t seed,
          const RunControl& control)
      : model_(model),
        findings_(findings.begin(), findings.end()),
        wanted_(std::move(method)),
        seed_(seed),
        control_(control),
        thread_([this] { run(); }) {}
  ~Sampler() {
    {
      const std::lock_guard hold(mutex_);
      control_.request_stop();
      changed_.notify_all();
    }
    thread_.join();
  }

  bool is_of(std::span<const Finding> findings, const std::string& method) const {
    return method == wanted_ &&
           std::ranges::equal(findings_, findings, [](const Finding& a, const Finding& b) {
             return a.variable == b.variable && a.likelihood == b.likelihood;
           });
  }
  std::shared_ptr<const NetworkEstimate> wait(std::uint64_t version, double seconds) {
    std::unique_lock lock(mutex_);
    asked_ = Clock::now();
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return (newest_ && newest_->version > version) || control_.should_stop(); });
    asked_ = Clock::now();
    return newest_ && newest_->version > version ? newest_ : nullptr;
  }

 private:
  static constexpr double rest_after = 5;

  void run() {
    try {
      const Observations seen = observations_of(findings_);
      const Model model = with_likelihoods(model_, seen.likelihoods);
      InferenceOptions options;
      options.seed = seed_;
      const Problem problem(model, seen, options, control_);
      const Method& method = sampler_for(problem, wanted_);
      if (method.enter == nullptr) throw Error(ErrorKind::misfit, wanted_ + " has no chains to watch");
      const std::string reason = why_not(method, problem, Task::marginals);
      if (!reason.empty()) throw Error(ErrorKind::misfit, reason);
      if (problem.graph().size() == 0) return publish_fixed(problem.graph());
      ChainOptions chains;
      chains.chains = 0;
      chains.seed = seed_;
      chains.burn_in = 4;
      chains.estimator_memory = std::size_t{1} << 28;
      method.enter(problem, chains, control_, [&](LiveChains& live) { follow(live, problem, method); });
    } catch (const Error& error) {
      fail(error.what(), error.kind() == ErrorKind::bad_data);
    } catch (const std::exception& error) {
      fail(error.what(), false);
    }
  }

  void follow(LiveChains& live, const Problem& problem, const Method& method) {
    const Clock::time_point begun = Clock::now();
    double rested = 0, cost = 0;
    std::uint64_t step = 32;
    while (!control_.should_stop()) {
      const Clock::time_point start = Clock::now();
      live.run_to(live.sweeps_done() + step, control_);
      if (live.draws() < 8) continue;
      live.discard_before(live.sweeps_done() / 4);
      const double taken = seconds_since(start);
      publish(live, problem, method, seconds_since(begun) - rested);
      cost = seconds_since(start) - taken;
      // Some four answers a second at first, fewer as there is less to say; telling takes a tenth at most.
      const double pause = std::max({0.2, 10 * cost, 0.05 * seconds_since(begun)});
      step = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(step) * std::clamp(pause / taken, 0.1, 4.0)));
      rested += rest();
    }
  }

  double rest() {
    std::unique_lock lock(mutex_);
    const Clock::time_point start = Clock::now();
    changed_.wait(lock, [&] { return control_.should_stop() || seconds_since(asked_) < rest_after; });
    return seconds_since(start);
  }

  Distributions spread(const Graph& graph, const std::vector<std::vector<double>>& of_free,
                       double of_fixed) const {
    Distributions all;
    all.assign(model_.cardinalities, 0);
    for (VariableId v = 0; v < model_.variable_count(); ++v) {
      const VariableId free = graph.free_variable[v];
      if (free == no_variable)
        all[v][graph.clamped_value[v]] = of_fixed;
      else
        std::ranges::copy(of_free[free], all[v].begin());
    }
    return all;
  }

  void publish(const LiveChains& live, const Problem& problem, const Method& method, double seconds) {
    const SegmentStore& store = live.store();
    if (store.segments() < 2) return;
    const Graph& graph = problem.graph();
    auto estimate = std::make_shared<NetworkEstimate>();
    std::vector<std::vector<double>> p(graph.size()), error(graph.size());
    Diagnostics& worst = estimate->diagnostics;
    worst = {1, std::numeric_limits<double>::infinity(), 0};
    DiagnosisRoom room;
    std::size_t entry = 0;
    const auto look = [&](std::size_t e) {
      const EntryDiagnostics found = diagnose_entry(store, e, room);
      if (!std::isnan(found.rhat)) worst.rhat_max = std::max(worst.rhat_max, found.rhat);
      if (!std::isnan(found.ess)) worst.ess_min = std::min(worst.ess_min, found.ess);
      return found.mcse;
    };
    for (VariableId v = 0; v < graph.size(); ++v) {
      const std::size_t states = graph.cardinalities[v];
      if (states == 2) {
        const double one = std::clamp(store.mean(entry), 0.0, 1.0);
        p[v] = {1 - one, one};
        error[v].assign(2, look(entry));
        ++entry;
        continue;
      }
      for (std::size_t k = 0; k < states; ++k, ++entry) {
        p[v].push_back(std::clamp(store.mean(entry), 0.0, 1.0));
        error[v].push_back(look(entry));
      }
    }
    settle_exact_averages(store, worst);
    const double unseen = 1 / worst.ess_min;
    for (auto& errors : error)
      for (double& one : errors) {
        one = std::isfinite(one) ? std::hypot(one, unseen) : unseen;
        worst.mcse_max = std::max(worst.mcse_max, one);
      }
    estimate->probabilities = spread(graph, p, 1);
    estimate->mcse = spread(graph, error, 0);
    estimate->method = method.name;
    Samples so_far;
    so_far.draws = live.draws() * live.chains();
    so_far.chains = live.chains();
    so_far.diagnostics = worst;
    so_far.converged = is_converged(worst);
    estimate->judgement = judge(so_far);
    estimate->sweeps = live.sweeps_done();
    estimate->chains = live.chains();
    estimate->seconds = seconds;
    show(std::move(estimate));
  }

  void publish_fixed(const Graph& graph) {
    auto estimate = std::make_shared<NetworkEstimate>();
    estimate->probabilities = spread(graph, {}, 1);
    estimate->mcse = spread(graph, {}, 0);
    estimate->method = "nothing is left to sample";
    estimate->failure = "nothing is left to sample";
    show(std::move(estimate));
  }

  void fail(const std::string& why, bool impossible) {
    auto estimate = std::make_shared<NetworkEstimate>();
    estimate->failure = why;
    estimate->impossible = impossible;
    show(std::move(estimate));
  }

  void show(std::shared_ptr<NetworkEstimate> estimate) {
    const std::lock_guard hold(mutex_);
    estimate->version = (newest_ ? newest_->version : 0) + 1;
    newest_ = std::move(estimate);
    changed_.notify_all();
  }

  const Model& model_;
  const std::vector<Finding> findings_;
  const std::string wanted_;
  const std::uint64_t seed_;
  RunControl control_;
  std::mutex mutex_;  ///< what follows
  std::condition_variable changed_;
  std::shared_ptr<const NetworkEstimate> newest_;
  Clock::time_point asked_ = Clock::now();
  std::thread thread_;  ///< last: it begins when all else is there
};

}  // namespace

class SampledNetwork::Engine {
 public:
  Engine(const Model& model, std::uint64_t seed, const RunControl& control)
      : model_(model), seed_(seed), control_(control) {}

  std::shared_ptr<const NetworkEstimate> marginals(std::span<const Finding> findings,
                                                   const std::string& method, std::uint64_t version,
                                                   double seconds) {
    check_findings(model_, findings);
    std::shared_ptr<Sampler> sampler;
    std::vector<std::shared_ptr<Sampler>> gone;  // ended after the lock is free
    {
      const std::lock_guard hold(mutex_);
      const auto found =
          std::ranges::find_if(samplers_, [&](const auto& one) { return one->is_of(findings, method); });
      if (found != samplers_.end()) {
        sampler = *found;
        samplers_.erase(found);
      } else {
        sampler = std::make_shared<Sampler>(model_, findings, method, seed_, control_);
      }
      samplers_.push_front(sampler);
      while (samplers_.size() > most) {
        gone.push_back(samplers_.back());
        samplers_.pop_back();
      }
    }
    gone.clear();
    return sampler->wait(version, seconds);
  }

 private:
  static constexpr std::size_t most = 2;
  const Model& model_;
  const std::uint64_t seed_;
  const RunControl& control_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Sampler>> samplers_;  ///< the last one asked first
};

SampledNetwork::SampledNetwork(const Model& model, std::uint64_t seed, const RunControl& control)
    : engine_(std::make_unique<Engine>(model, seed, control)) {}
SampledNetwork::~SampledNetwork() = default;
std::shared_ptr<const NetworkEstimate> SampledNetwork::marginals(std::span<const Finding> findings,
                                                                 const std::string& method,
                                                                 std::uint64_t version, double seconds) {
  return engine_->marginals(findings, method, version, seconds);
}

}  // namespace drover
