// The boxes and arcs of a network, or of the neighbourhood of one of its variables, as the page draws them.
#pragma once

#include <optional>
#include <span>

#include "drover/core/json_writer.hpp"
#include "drover/draw/network.hpp"
#include "drover/model/model.hpp"

namespace drover {

/// Larger networks are shown by neighbourhoods of so many variables.
inline constexpr std::size_t whole_network = 500, neighbourhood = 120;

/// `centre` is heeded where the network is not shown as a whole; without it, the variable with most
/// neighbours.
JsonObject network_outline(const Model& model, std::span<const Arc> arcs, std::optional<VariableId> centre);

}  // namespace drover
