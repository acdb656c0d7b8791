#include "drover/serve/live_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/run/segment_diagnostics.hpp"
#include "drover/serve/kept_draws.hpp"
#include "drover/serve/race_watch.hpp"
#include "drover/serve/seconds_since.hpp"
#include "drover/task/draw_file_sink.hpp"

namespace drover {

namespace {

using Clock = std::chrono::steady_clock;

/// Points (x, y_1 .. y_m); when it is full every second one goes, and from then on only every second one is
/// kept.
class Curve {
 public:
  explicit Curve(std::size_t series) : series_(series) {}
  void add(double x, std::vector<double> y) {
    if (count_++ % every_ != 0) return;
    x_.push_back(x);
    for (std::size_t s = 0; s < series_.size(); ++s) series_[s].push_back(y[s]);
    if (x_.size() < LiveRun::trace_points) return;
    every_ *= 2;
    const auto halve = [](std::vector<double>& values) {
      for (std::size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
      values.resize((values.size() + 1) / 2);
    };
    halve(x_);
    for (auto& values : series_) halve(values);
  }
  std::string json() const {
    std::vector<std::string> columns{json_array(x_)};
    for (const auto& values : series_) columns.push_back(json_array(values));
    return json_list(columns);
  }
  Trace trace() const { return {x_, series_}; }

 private:
  std::vector<double> x_;
  std::vector<std::vector<double>> series_;
  std::uint64_t count_ = 0, every_ = 1;
};

}  // namespace

class LiveRun::Engine : public DrawSink {
 public:
  explicit Engine(const Model& model) : model_(model) {}
  ~Engine() override { stop(); }

  void start(const InferenceOptions& options) {
    stop();
    const std::lock_guard hold(starting_);
    {
      const std::lock_guard change(mutex_);
      control_ = std::make_unique<RunControl>();
      paused_ = false;
      running_ = true;
      phase_ = "starting";
      error_.clear();
      draws_ = 0;
      sweeps_ = 0;
      updates_ = 0;
      state_.clear();
      store_.reset();
      trace_ = Curve(0);
      convergence_ = Curve(2);
      kept_ = KeptDraws();
      race_ = RaceWatch();
      facts_ = {};
      race_answer_.reset();
      judgement_.reset();
      diagnostics_ = {};
      method_ = options.method;
      chains_ = 0;
      begun_ = Clock::now();
      waited_ = 0;
      options_ = options;
    }
    publish();
    thread_ = std::thread([this] { run(); });
  }

  void stop() {
    const std::lock_guard hold(starting_);
    if (!thread_.joinable()) return;
    {
      const std::lock_guard change(mutex_);
      control_->request_stop();
      paused_ = false;
      changed_.notify_all();
    }
    thread_.join();
  }
  void pause(bool paused) {
    const std::lock_guard change(mutex_);
    paused_ = paused && running_;
    changed_.notify_all();
  }

  HttpEvent wait(std::uint64_t version, double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return version_ > version; });
    if (version_ <= version) return {};
    return {version_, snapshot_};
  }
  std::vector<Value> state() {
    const std::lock_guard hold(mutex_);
    return state_;
  }
  std::uint64_t draws() {
    const std::lock_guard hold(mutex_);
    return draws_;
  }
  std::variant<std::monostate, Samples, Marginals> answer() {
    const std::lock_guard hold(mutex_);
    if (race_answer_) return *race_answer_;
    if (draws_ == 0) return {};
    Samples samples;
    static_cast<ModelAnswer&>(samples) = facts_;
    samples.provenance.seconds = running_ ? seconds_since(begun_) - waited_ : ended_;
    samples.sweeps = sweeps_;
    samples.updates = updates_;
    samples.draws = draws_ * chains_;
    samples.diagnostics = diagnostics_;
    samples.converged = is_converged(diagnostics_);
    samples.scores = trace_.trace();
    return samples;
  }
  std::string draws_file(const std::string& extension) {
    const std::lock_guard hold(mutex_);
    if (kept_.draws() == 0) throw Error(ErrorKind::usage, "there are no draws yet");
    DrawFileHeader header;
    for (VariableId v = 0; v < model_.variable_count(); ++v)
      header.variable_names.push_back(model_.variable_name(v));
    header.max_cardinality = facts_.max_cardinality;
    for (std::size_t e = 0; e < facts_.evidence.size(); ++e) {
      header.evidence_names.push_back(model_.variable_name(facts_.evidence.variables[e]));
      header.evidence_values.push_back(facts_.evidence.values[e]);
    }
    header.state_names = named_states(Names::of(model_));
    header.metadata = draws_metadata(facts_.provenance, Names::of(model_), kept_.every());
    return kept_.file(extension, std::move(header));
  }

  void begin(const ModelAnswer& answer) override {
    const std::lock_guard hold(mutex_);
    chains_ = answer.chains;
    method_ = answer.provenance.method;
    facts_ = answer;
    kept_ = KeptDraws(model_.variable_count(), chains_, answer.max_cardinality);
    const std::size_t step =
        std::max<std::size_t>(1, (model_.variable_count() + most_tracked - 1) / most_tracked);
    tracked_.clear();
    entries_ = 0;
    for (VariableId v = 0; v < model_.variable_count(); v += static_cast<VariableId>(step)) {
      if (std::ranges::binary_search(answer.fixed, v)) continue;
      tracked_.push_back({v, entries_});
      entries_ += model_.cardinalities[v] == 2 ? 1 : model_.cardinalities[v];
    }
    store_.emplace(entries_, chains_, std::size_t{64} << 20);
    sums_.assign(1, LaneSums(entries_ * chains_, 0.0F));
    open_ = 0;
    trace_ = Curve(std::min<std::size_t>(chains_, traced_chains));
    scores_.assign(std::min<std::size_t>(chains_, traced_chains), 0);
  }

  void take(std::uint32_t chain, std::span<const Value> x, double log_score) override {
    for (const Tracked& one : tracked_) {
      const Value value = x[one.variable];
      if (model_.cardinalities[one.variable] == 2)
        sums_[0][one.entry * chains_ + chain] += value;
      else
        sums_[0][(one.entry + value) * chains_ + chain] += 1;
    }
    if (chain < scores_.size()) scores_[chain] = log_score;
    const bool last = chain + 1 == chains_;
    if (chain == 0 && (last || state_due_)) {
      const std::lock_guard hold(mutex_);
      state_.assign(x.begin(), x.end());
    }
    std::unique_lock lock(mutex_, std::defer_lock);
    if (last || kept_.keeps_next()) lock.lock();
    kept_.take(chain, x, log_score);
    if (!last) return;
    ++draws_;
    state_due_ = false;
    trace_.add(static_cast<double>(draws_), scores_);
    if (++open_ == std::min<std::uint64_t>(store_->segment_length(), 512)) absorb();
    if (seconds_since(shown_) >= std::max(0.1, 20 * cost_)) {
      state_due_ = true;
      lock.unlock();
      publish();
      lock.lock();
    }
    hold_while_paused(lock);
  }

 private:
  void hold_while_paused(std::unique_lock<std::mutex>& lock) {
    if (!paused_) return;
    const Clock::time_point start = Clock::now();
    held_ = true;
    publish_locked();
    changed_.wait(lock, [&] { return !paused_ || control_->should_stop(); });
    held_ = false;
    waited_ += seconds_since(start);
  }

  struct Tracked {
    VariableId variable;
    std::size_t entry;
  };

  void absorb() {
    segment_draws_ += open_;
    if (segment_draws_ >= store_->segment_length()) {
      store_->close_segment(sums_, chains_, open_);
      segment_draws_ = 0;
    } else {
      store_->absorb(sums_, chains_, open_);
    }
    open_ = 0;
  }

  void run() {
    {
      const std::lock_guard hold(mutex_);
      segment_draws_ = 0;
      control_->watch([this](const Progress& progress) {
        std::unique_lock lock(mutex_);
        phase_ = progress.phase;
        sweeps_ = progress.sweeps;
        updates_ = progress.updates;
        if (options_.method == "race") race_.hear(progress, seconds_since(begun_) - waited_);
        if (seconds_since(shown_) >= 0.25 && draws_ == 0) publish_locked();
        hold_while_paused(lock);
      });
    }
    try {
      if (options_.method == "race")
        settle(marginals(model_, options_, *control_));
      else
        sample(model_, options_, *this, *control_);
      const std::lock_guard hold(mutex_);
      phase_ = control_->stop_requested() ? "stopped" : "done";
    } catch (const std::exception& error) {
      const std::lock_guard hold(mutex_);
      phase_ = control_->stop_requested() ? "stopped" : "failed";
      if (phase_ == "failed") error_ = error.what();
    }
    const std::lock_guard hold(mutex_);
    running_ = false;
    ended_ = seconds_since(begun_) - waited_;
    publish_locked();
  }

  /// The race is over.
  void settle(Marginals answer) {
    const std::lock_guard hold(mutex_);
    race_.settle(answer.race);
    method_ = answer.provenance.method;
    chains_ = answer.chains;
    sweeps_ = answer.sweeps + answer.burn_in;
    updates_ = answer.updates;
    diagnostics_ = answer.diagnostics;
    judgement_ = judge(answer);
    const std::size_t curves = std::min<std::size_t>(answer.scores.series.size(), traced_chains);
    trace_ = Curve(curves);
    for (std::size_t i = 0; i < answer.scores.sweep.size(); ++i) {
      std::vector<double> row;
      for (std::size_t c = 0; c < curves; ++c) row.push_back(answer.scores.series[c][i]);
      trace_.add(answer.scores.sweep[i], row);
    }
    slowest_.clear();
    for (VariableId v = 0; v < answer.variables; ++v) {
      if (!(answer.ess[v] > 0)) continue;
      slowest_.push_back({v, answer.ess[v], answer.rhat[v], 0, *std::ranges::max_element(answer.mcse[v])});
    }
    race_answer_ = std::move(answer);
  }

  void publish() {
    const std::lock_guard hold(mutex_);
    publish_locked();
  }

  void publish_locked() {
    const Clock::time_point start = Clock::now();
    const double seconds = running_ ? seconds_since(begun_) - waited_ : ended_;
    JsonObject object;
    object.add("phase", held_ ? std::string("paused") : phase_);  // a pause begins with the next draw
    object.add("running", running_);
    object.add("error", error_);
    object.add("method", method_);
    object.add("chains", chains_);
    object.add("seed", options_.seed);
    object.add("sweeps", sweeps_);
    object.add("draws", draws_);
    object.add("updates", updates_);
    object.add("seconds", seconds);
    object.add("updates_per_nanosecond", seconds > 0 ? updates_ / seconds / 1e9 : 0);
    std::vector<std::string> evidence;
    for (std::size_t e = 0; e < options_.evidence.size(); ++e)
      evidence.push_back(json_array(
          std::vector<std::uint32_t>{options_.evidence.variables[e], options_.evidence.values[e]}));
    object.add_raw("evidence", json_list(evidence));
    object.add("kept_draws", kept_.draws());
    object.add_raw("race", race_.json());
    object.add_raw("trace", trace_.json());
    if (store_ && store_->segments() >= 4) diagnose();
    if (judgement_) {
      object.add("rhat_max", diagnostics_.rhat_max);
      object.add("ess_min", diagnostics_.ess_min);
      object.add("mcse_max", diagnostics_.mcse_max);
      object.add("tracked", race_answer_ ? race_answer_->variables : tracked_.size());
      object.add_raw("slowest", slowest_json());
      add_judgement(*judgement_, object);
    }
    object.add_raw("convergence", convergence_.json());
    snapshot_ = object.line();
    // Larger than any version before, of other runs too.
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(start.time_since_epoch()).count();
    version_ = std::max(version_ + 1, static_cast<std::uint64_t>(now));
    changed_.notify_all();
    shown_ = Clock::now();
    cost_ = seconds_since(start);
  }

  struct Slow {
    VariableId variable;
    double ess, rhat, mean, mcse;
  };

  /// R-hat and effective sample size of the tracked variables, the slowest of them, and what to make of it.
  void diagnose() {
    Samples answer;
    answer.draws = draws_ * chains_;
    answer.chains = chains_;
    DiagnosisRoom room;
    Diagnostics& worst = answer.diagnostics;
    worst = {1, std::numeric_limits<double>::infinity(), 0};
    slowest_.clear();
    for (const Tracked& one : tracked_) {
      const std::size_t count =
          model_.cardinalities[one.variable] == 2 ? 1 : model_.cardinalities[one.variable];
      Slow slow{one.variable, std::numeric_limits<double>::infinity(), 1, store_->mean(one.entry), 0};
      for (std::size_t e = one.entry; e < one.entry + count; ++e) {
        const EntryDiagnostics entry = diagnose_entry(*store_, e, room);
        if (std::isnan(entry.ess)) continue;
        slow.ess = std::min(slow.ess, entry.ess);
        slow.rhat = std::max(slow.rhat, entry.rhat);
        slow.mcse = std::max(slow.mcse, entry.mcse);
      }
      worst.rhat_max = std::max(worst.rhat_max, slow.rhat);
      worst.ess_min = std::min(worst.ess_min, slow.ess);
      worst.mcse_max = std::max(worst.mcse_max, slow.mcse);
      slowest_.push_back(slow);
    }
    answer.converged = is_converged(worst);
    diagnostics_ = worst;
    judgement_ = judge(answer);
    convergence_.add(static_cast<double>(draws_), {worst.rhat_max, worst.ess_min});
  }

  std::string slowest_json() {
    const std::size_t shown = std::min<std::size_t>(slowest_.size(), 12);
    std::partial_sort(slowest_.begin(), slowest_.begin() + static_cast<std::ptrdiff_t>(shown), slowest_.end(),
                      [](const Slow& a, const Slow& b) { return a.ess < b.ess; });
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < shown; ++i) {
      JsonObject row;
      row.add("name", model_.variable_name(slowest_[i].variable));
      row.add("ess", slowest_[i].ess);
      row.add("rhat", slowest_[i].rhat);
      row.add("mcse", slowest_[i].mcse);
      rows.push_back(row.line());
    }
    return json_list(rows);
  }

  const Model& model_;
  std::mutex starting_;  ///< start() and stop() one after the other
  std::thread thread_;
  std::unique_ptr<RunControl> control_;
  InferenceOptions options_;

  std::mutex mutex_;  ///< what follows
  std::condition_variable changed_;
  bool paused_ = false, held_ = false, running_ = false;
  std::string phase_ = "idle", error_, method_;
  std::uint64_t draws_ = 0, sweeps_ = 0, version_ = 0;
  double updates_ = 0, waited_ = 0, ended_ = 0, cost_ = 0;
  std::string snapshot_;
  std::vector<Value> state_;
  Clock::time_point begun_ = Clock::now(), shown_ = Clock::now();
  Curve trace_{0}, convergence_{2};
  KeptDraws kept_;
  RaceWatch race_;
  ModelAnswer facts_;  ///< what is known since the run began
  std::optional<Marginals> race_answer_;
  std::optional<Judgement> judgement_;
  Diagnostics diagnostics_;
  std::vector<Slow> slowest_;

  // Of the thread of the run alone.
  std::vector<Tracked> tracked_;
  std::size_t entries_ = 0;
  std::uint32_t chains_ = 0;
  std::optional<SegmentStore> store_;
  std::vector<LaneSums> sums_;
  std::vector<double> scores_;
  std::uint64_t open_ = 0, segment_draws_ = 0;
  bool state_due_ = true;
};

LiveRun::LiveRun(const Model& model) : engine_(std::make_unique<Engine>(model)) {}
LiveRun::~LiveRun() = default;
void LiveRun::start(const InferenceOptions& options) {
  engine_->start(options);
}
void LiveRun::pause() {
  engine_->pause(true);
}
void LiveRun::go_on() {
  engine_->pause(false);
}
void LiveRun::stop() {
  engine_->stop();
}
HttpEvent LiveRun::wait(std::uint64_t version, double seconds) {
  return engine_->wait(version, seconds);
}
std::vector<Value> LiveRun::state() {
  return engine_->state();
}
std::uint64_t LiveRun::draws() {
  return engine_->draws();
}
std::variant<std::monostate, Samples, Marginals> LiveRun::answer() {
  return engine_->answer();
}
std::string LiveRun::draws_file(const std::string& extension) {
  return engine_->draws_file(extension);
}

}  // namespace drover
