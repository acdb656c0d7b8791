#include "drover/infer/cluster_conditionals.hpp"

#include <algorithm>

namespace drover {

ClusterConditionals::ClusterConditionals(const ClusterTree& tree, const ClusterFactors& factors,
                                         const double* messages, std::span<const std::size_t> message_offsets)
    : tree_(tree) {
  std::vector<std::size_t> strides;
  std::vector<std::uint32_t> digits;
  for (std::size_t c = 0; c < tree.size(); ++c) {
    const auto eliminated = tree.eliminated(c);
    const std::size_t states = table_size(tree.cardinalities, eliminated);
    max_states_ = std::max(max_states_, states);
    const auto add = [&](const Operand& operand) {
      Source source{operand.values, axis_places_.size(), 0, state_offsets_.size()};
      strides.assign(eliminated.size(), 0);
      std::size_t stride = 1;
      for (std::size_t k = operand.scope.size(); k-- > 0;) {
        const std::uint32_t place = operand.scope[k];
        const auto at = std::find(eliminated.begin(), eliminated.end(), place);
        if (at != eliminated.end()) {
          strides[static_cast<std::size_t>(at - eliminated.begin())] = stride;
        } else {
          axis_places_.push_back(place);
          axis_strides_.push_back(stride);
        }
        stride *= tree.cardinalities[place];
      }
      source.axis_end = axis_places_.size();
      digits.assign(eliminated.size(), 0);
      std::size_t offset = 0;
      for (std::size_t s = 0; s < states; ++s) {
        state_offsets_.push_back(offset);
        for (std::size_t a = digits.size(); a-- > 0;) {
          offset += strides[a];
          if (++digits[a] < tree.cardinalities[eliminated[a]]) break;
          offset -= strides[a] * digits[a];
          digits[a] = 0;
        }
      }
      sources_.push_back(source);
    };
    for (std::size_t g = factors.group_offsets[c]; g < factors.group_offsets[c + 1]; ++g)
      add(factors.operand(g));
    for (std::uint32_t child : tree.children(c))
      add({tree.separator(child), messages + message_offsets[child]});
    source_offsets_.push_back(sources_.size());
  }
}

std::size_t ClusterConditionals::log_weights(std::size_t c, const Value* x, double* weights) const {
  const std::size_t states = table_size(tree_.cardinalities, tree_.eliminated(c));
  std::fill(weights, weights + states, 0.0);
  for (std::size_t k = source_offsets_[c]; k < source_offsets_[c + 1]; ++k) {
    const Source& source = sources_[k];
    const double* values = source.values;
    for (std::size_t a = source.axis_begin; a < source.axis_end; ++a)
      values += axis_strides_[a] * x[axis_places_[a]];
    const std::size_t* offsets = state_offsets_.data() + source.state_begin;
    for (std::size_t s = 0; s < states; ++s) weights[s] += values[offsets[s]];
  }
  return states;
}

void ClusterConditionals::assign(std::size_t c, std::size_t state, Value* x) const {
  const auto eliminated = tree_.eliminated(c);
  for (std::size_t a = eliminated.size(); a-- > 0;) {
    x[eliminated[a]] = static_cast<Value>(state % tree_.cardinalities[eliminated[a]]);
    state /= tree_.cardinalities[eliminated[a]];
  }
}

}  // namespace drover
