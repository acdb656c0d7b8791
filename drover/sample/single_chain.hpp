// What kernels share whose chains run one at a time, each a value per variable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/graph.hpp"

namespace drover {

/// The part of a State that a checkpoint holds; what a kernel adds to it does not outlive a sweep.
struct SingleChainState {
  std::uint64_t seed = 0;
  std::uint32_t chain = 0;
  float inverse_temperature = 1;
  std::vector<Value> values;

  template <class Archive>
  void visit(Archive& archive) {
    archive(seed);
    archive(chain);
    archive(inverse_temperature);
    archive(values);
  }
};

class SingleChainKernel {
 public:
  std::size_t size() const { return graph_->size(); }
  std::uint32_t lanes() const { return 1; }

  void read(const SingleChainState& state, std::uint32_t, std::span<Value> values) const {
    std::ranges::copy(state.values, values.begin());
  }
  void write(SingleChainState& state, std::uint32_t, std::span<const Value> values) const {
    std::ranges::copy(values, state.values.begin());
  }
  void log_scores(const SingleChainState& state, std::span<double> scores) const {
    scores[0] = log_score(*graph_, state.values);
  }
  void set_inverse_temperatures(SingleChainState& state, std::span<const float> inverse_temperatures) const {
    state.inverse_temperature = inverse_temperatures[0];
  }

 protected:
  /// The graph must outlive the kernel.
  explicit SingleChainKernel(const Graph& graph) : graph_(&graph) {}

  const Graph* graph_;
};

}  // namespace drover
