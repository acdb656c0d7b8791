// The states of a run's batches of chains with the kernel that moves them, whatever its type: all that a run
// (chain_run.hpp) asks of a sampler. A call is for one batch and one sweep or many, so that what it costs is
// lost in the sweep; and the run, its checkpoints and its results are compiled once and not for every kernel.
#pragma once

#include <cassert>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "drover/core/archive.hpp"
#include "drover/core/run_control.hpp"
#include "drover/sample/kernel.hpp"
#include "drover/sample/parted_kernel.hpp"
#include "drover/sample/value_sums.hpp"

namespace drover {

class ChainStates {
 public:
  /// What the kernel is, once for all.
  struct Shape {
    std::size_t size = 0;  ///< variables
    std::uint32_t lanes = 1;
    std::size_t entries = 0;                     ///< that a sweep adds to on this rank, ...
    std::size_t all_entries = 0;                 ///< ... and on all ranks
    std::span<const std::uint32_t> own_entries;  ///< of a spread kernel: which of all they are
    bool spread = false;                         ///< every chain lies on all ranks (SpreadKernel)
    bool whole_states = true;                    ///< read() gives all variables, on every rank
    bool sums_values = false;                    ///< SumsValues
    bool at_once = false;                        ///< several sweeps are faster together
  };

  virtual ~ChainStates() = default;
  const Shape& shape() const { return shape_; }

  virtual std::unique_ptr<ChainStates> copy() const = 0;
  /// The same kernel, without a batch.
  virtual std::unique_ptr<ChainStates> empty() const = 0;
  virtual std::size_t batches() const = 0;
  /// Adds a batch, with totals of zero. Kernels for which that takes long ask the control on the way.
  virtual void start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control) = 0;
  /// Has the batches of another's of the same kernel, from `first` on, instead of its own, as many as it has.
  virtual void take(ChainStates& whole, std::size_t first) = 0;

  /// Sweeps first to first + count - 1. False when the control ended the last in its midst, as it can where the kernel
  /// is a PartedKernel; the same call then goes on with it.
  virtual bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count,
                     const RunControl& control) = 0;
  virtual bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl& control,
                     ConditionalSums sums) = 0;
  virtual bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl& control,
                     ValueSums sums) = 0;
  virtual void read(std::size_t batch, std::uint32_t lane, std::span<Value> x) const = 0;
  virtual void write(std::size_t batch, std::uint32_t lane, std::span<const Value> x) = 0;
  virtual void log_scores(std::size_t batch, std::span<double> scores) const = 0;
  /// Brings the whole states of a spread kernel to rank 0.
  virtual void gather() = 0;

  /// As many as batches, unless those of other ranks came to them.
  virtual void resize_totals(std::size_t count) = 0;
  virtual void visit_states(SaveArchive& archive) = 0;
  virtual void visit_state(std::size_t batch, LoadArchive& archive) = 0;
  virtual void visit_totals(SaveArchive& archive) = 0;
  virtual void visit_totals(LoadArchive& archive) = 0;

 protected:
  explicit ChainStates(const Shape& shape) : shape_(shape) {}
  ChainStates(const ChainStates&) = default;
  ChainStates& operator=(const ChainStates&) = delete;

 private:
  Shape shape_;
};

template <Kernel K>
class KernelStates final : public ChainStates {
 public:
  /// Of a kernel that outlives it.
  explicit KernelStates(const K& kernel) : ChainStates(shape_of(kernel)), kernel_(kernel) {}

  std::span<const typename K::State> states() const { return states_; }
  std::span<typename K::State> states() { return states_; }
  /// What the sweeps of all batches told.
  TotalsOf<K> totals() const {
    TotalsOf<K> all;
    for (const TotalsOf<K>& one : totals_) all.add(one);
    return all;
  }

  std::unique_ptr<ChainStates> copy() const override { return std::make_unique<KernelStates>(*this); }
  std::unique_ptr<ChainStates> empty() const override { return std::make_unique<KernelStates>(kernel_); }
  std::size_t batches() const override { return states_.size(); }
  void start(std::uint64_t seed, std::uint32_t first_chain, const RunControl& control) override {
    if constexpr (requires { kernel_.start(seed, first_chain, control); })
      states_.push_back(kernel_.start(seed, first_chain, control));
    else
      states_.push_back(kernel_.start(seed, first_chain));
    totals_.emplace_back();
  }
  void take(ChainStates& whole, std::size_t first) override {
    auto& other = static_cast<KernelStates&>(whole);
    for (std::size_t b = 0; b < states_.size(); ++b) {
      states_[b] = std::move(other.states_[first + b]);
      totals_[b] = other.totals_[first + b];
    }
  }

  bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count,
             const RunControl& control) override {
    return sweep_all(batch, first, count, control);
  }
  bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl& control,
             ConditionalSums sums) override {
    return sweep_all(batch, first, count, control, sums);
  }
  bool sweep(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl&,
             ValueSums sums) override {
    assert(SumsValues<K>);
    if constexpr (SumsValues<K>)
      for (std::uint64_t s = first; s < first + count; ++s)
        sweep_and_tell(kernel_, totals_[batch], states_[batch], s, sums);
    return true;
  }
  void read(std::size_t batch, std::uint32_t lane, std::span<Value> x) const override {
    kernel_.read(states_[batch], lane, x);
  }
  void write(std::size_t batch, std::uint32_t lane, std::span<const Value> x) override {
    kernel_.write(states_[batch], lane, x);
  }
  void log_scores(std::size_t batch, std::span<double> scores) const override {
    kernel_.log_scores(states_[batch], scores);
  }
  void gather() override {
    if constexpr (SpreadKernel<K>)
      for (auto& state : states_) kernel_.gather(state);
  }

  void resize_totals(std::size_t count) override { totals_.resize(count); }
  void visit_states(SaveArchive& archive) override {
    for (auto& state : states_) state.visit(archive);
  }
  void visit_state(std::size_t batch, LoadArchive& archive) override {
    states_[batch].visit(archive);
    if constexpr (requires { kernel_.fits(states_[batch]); })
      if (!kernel_.fits(states_[batch]))
        throw Error(ErrorKind::bad_data,
                    "the checkpoint is of another version of drover: its states are laid out differently");
  }
  void visit_totals(SaveArchive& archive) override {
    for (TotalsOf<K>& totals : totals_) totals.visit(archive);
  }
  void visit_totals(LoadArchive& archive) override {
    for (TotalsOf<K>& totals : totals_) totals.visit(archive);
  }

 private:
  static constexpr bool at_once = requires(const K& kernel, typename K::State& state) {
    kernel.sweeps(state, std::uint64_t{0}, std::uint64_t{1});
  };

  template <class... Sums>
  bool sweep_all(std::size_t batch, std::uint64_t first, std::uint64_t count, const RunControl& control,
                 Sums... sums) {
    typename K::State& state = states_[batch];
    if constexpr (at_once) {
      kernel_.sweeps(state, first, count, sums...);
    } else if constexpr (PartedKernel<K>) {
      for (std::uint64_t s = first; s < first + count; ++s) {
        sweep_and_tell(kernel_, totals_[batch], state, s, sums..., control);
        if (kernel_.is_midway(state)) return false;
      }
    } else {
      for (std::uint64_t s = first; s < first + count; ++s)
        sweep_and_tell(kernel_, totals_[batch], state, s, sums...);
    }
    return true;
  }

  static Shape shape_of(const K& kernel) {
    Shape shape;
    shape.size = kernel.size();
    shape.lanes = kernel.lanes();
    shape.entries = shape.all_entries = kernel.entry_count();
    if constexpr (SpreadKernel<K>) {
      shape.spread = true;
      shape.all_entries = kernel.all_entries();
      shape.own_entries = kernel.own_entries();
    }
    if constexpr (requires { K::in_parts; }) shape.whole_states = false;
    shape.sums_values = SumsValues<K>;
    shape.at_once = at_once;
    return shape;
  }

  const K& kernel_;
  std::vector<typename K::State> states_;
  std::vector<TotalsOf<K>> totals_;  ///< per batch
};

}  // namespace drover
