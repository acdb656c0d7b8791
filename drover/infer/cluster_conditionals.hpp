// p(eliminated variables | separator) of every cluster, read straight from factors and upward messages; the
// way down the tree for draws (sum messages) and for a best state (max messages).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/infer/cluster_tree.hpp"

namespace drover {

class ClusterConditionals {
 public:
  ClusterConditionals(const ClusterTree& tree, const ClusterFactors& factors, const double* messages,
                      std::span<const std::size_t> message_offsets);

  /// Log weights of all joint states of the eliminated variables of cluster c; `x` (by place) holds the
  /// separator's values. Returns their number.
  std::size_t log_weights(std::size_t c, const Value* x, double* weights) const;
  /// Stores joint state `state` of the eliminated variables into x.
  void assign(std::size_t c, std::size_t state, Value* x) const;
  std::size_t max_states() const { return max_states_; }

 private:
  struct Source {
    const double* values;
    std::size_t axis_begin, axis_end;  // separator variables with their strides
    std::size_t state_begin;           // offset of every joint state of the eliminated variables
  };
  const ClusterTree& tree_;
  std::size_t max_states_ = 1;
  std::vector<std::size_t> source_offsets_{0};
  std::vector<Source> sources_;
  std::vector<std::uint32_t> axis_places_;
  std::vector<std::size_t> axis_strides_;
  std::vector<std::size_t> state_offsets_;
};

}  // namespace drover
