// Herding: moments in, pseudo-samples out, no model fitted.
//
// Source: Welling, Herding dynamical weights to learn, ICML 2009.
//
//   s_t = argmax_s <w_{t-1}, phi(s)>,   w_t = w_{t-1} + mu - phi(s_t)
//
// Deterministic: no random numbers, no exponentials. For every feature and every T
//   | mean of phi(s_t), t <= T  -  mu |  =  | w_T - w_0 | / T,
// so the moments of the pseudo-samples converge as 1/T while the weights stay bounded. They do when the
// moments are those of some distribution and the maximum is good enough (local_search.hpp); they grow
// linearly when no distribution has these moments. growth() tells.
//
// The maximum is found by enumeration (few states), by a junction tree (sparse features) or by coordinate
// ascent from the previous state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/keeper.hpp"
#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/herd/engine.hpp"
#include "drover/herd/features.hpp"

namespace drover {

enum class HerdSearch { automatic, enumerate, tree, local };

template <>
struct ChoiceNames<HerdSearch> {
  static constexpr std::array names = {std::pair{HerdSearch::automatic, std::string_view("auto")},
                                       std::pair{HerdSearch::enumerate, std::string_view("enumerate")},
                                       std::pair{HerdSearch::tree, std::string_view("tree")},
                                       std::pair{HerdSearch::local, std::string_view("local")}};
};

struct HerdingOptions {
  HerdSearch search = HerdSearch::automatic;
  bool adaptive = true;                 ///< local search looks harder when the weights would grow
  std::vector<double> start_weights{};  ///< w_0, one per feature; empty: zeros
};

class Herding {
 public:
  /// Raises misfit when the search asked for cannot be done. The moments must outlive this object.
  explicit Herding(const Moments& moments, HerdingOptions options = {});

  /// The next pseudo-sample.
  std::span<const Value> step() {
    engine_->step();
    ++samples_;
    return engine_->state();
  }
  std::span<const Value> state() const { return engine_->state(); }
  std::uint64_t samples() const { return samples_; }
  const Moments& moments() const { return moments_; }
  HerdSearch search() const { return search_; }  ///< never automatic
  bool is_exact() const { return search_ != HerdSearch::local; }
  SearchFacts facts() const { return engine_->facts(); }

  void save(SaveArchive& archive) {
    archive(samples_);
    engine_->save(archive);
  }
  void load(LoadArchive& archive) {
    archive(samples_);
    engine_->load(archive);
  }

  std::vector<double> counts() const;          ///< how often each feature held
  std::vector<double> weights() const;         ///< w_T
  std::vector<double> weight_changes() const;  ///< w_T - w_0 = T mu - n

 private:
  const Moments& moments_;
  std::vector<double> start_weights_;
  HerdSearch search_;
  std::unique_ptr<HerdEngine> engine_;
  std::uint64_t samples_ = 0;
};

/// The probability of all of these together is asked for.
using HerdQuery = std::vector<Indicator>;

struct HerdSummary {
  std::uint64_t samples = 0;
  double moment_error_max = 0;  ///< largest |mean phi - mu|
  std::size_t worst_feature = 0;
  double weight_norm = 0;                  ///< |w_T|
  double weight_norm_half = 0;             ///< |w| at half the run
  std::vector<double> count_distribution;  ///< P(k ones), k = 0 .. n; empty unless all variables are binary
  std::vector<double> query_probabilities;
  /// How the run went: after 1, 2, 4, ... samples, at its middle and at its end.
  struct Mark {
    std::uint64_t samples;
    double weight_norm;
    double moment_error_max;
  };
  std::vector<Mark> marks;
  /// Linear growth: the weights of these features grow with every sample, the fastest first. Empty when |w|
  /// stays bounded.
  struct Growth {
    std::size_t feature;
    double rate;  ///< of w_f per sample; positive: the moment is higher than can be reached
  };
  std::vector<Growth> growing;
  SearchFacts facts;
};

/// Runs `samples` steps, or fewer when the control ends the run. `take` sees every pseudo-sample. The keeper
/// is saved to on the way and at the end; a run that goes on from it hands `take` only what is new.
HerdSummary run_herding(
    Herding& herding, std::uint64_t samples, std::span<const HerdQuery> queries,
    const std::function<void(std::span<const Value>)>& take = [](std::span<const Value>) {},
    const RunControl& control = no_control(), StateKeeper* keeper = nullptr);

}  // namespace drover
