#include "drover/serve/network_outline.hpp"

#include <algorithm>

namespace drover {

namespace {

std::vector<std::vector<VariableId>> neighbours(std::span<const Arc> arcs, std::size_t size) {
  std::vector<std::vector<VariableId>> near(size);
  for (const Arc& arc : arcs) {
    near[arc.from].push_back(arc.to);
    near[arc.to].push_back(arc.from);
  }
  return near;
}

/// The variables nearest to one of them along arcs, at most so many, in order.
std::vector<VariableId> around(VariableId centre, const std::vector<std::vector<VariableId>>& near) {
  std::vector<VariableId> met{centre};
  std::vector<char> seen(near.size());
  seen[centre] = 1;
  for (std::size_t next = 0; next < met.size() && met.size() < neighbourhood; ++next)
    for (VariableId v : near[met[next]])
      if (!seen[v] && met.size() < neighbourhood) {
        seen[v] = 1;
        met.push_back(v);
      }
  std::ranges::sort(met);
  return met;
}

std::vector<VariableId> shown_variables(std::size_t size, std::span<const Arc> arcs,
                                        std::optional<VariableId> centre) {
  if (size <= whole_network) {
    std::vector<VariableId> all(size);
    for (VariableId v = 0; v < size; ++v) all[v] = v;
    return all;
  }
  const auto near = neighbours(arcs, size);
  if (!centre)
    centre = static_cast<VariableId>(
        std::ranges::max_element(near, {}, [](const auto& list) { return list.size(); }) - near.begin());
  return around(*centre, near);
}

}  // namespace

JsonObject network_outline(const Model& model, std::span<const Arc> arcs, std::optional<VariableId> centre) {
  const std::vector<VariableId> shown = shown_variables(model.variable_count(), arcs, centre);
  std::vector<NodeSize> boxes;
  std::vector<Arc> inside;
  std::vector<std::size_t> outside(shown.size(), 0);  // arcs that lead out of the picture
  for (VariableId v : shown) boxes.push_back(box_size(model.cardinalities[v]));
  const auto place = [&](VariableId v) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(shown, v) - shown.begin());
  };
  for (const Arc& arc : arcs) {
    const bool from = std::ranges::binary_search(shown, arc.from),
               to = std::ranges::binary_search(shown, arc.to);
    if (from && to)
      inside.push_back({place(arc.from), place(arc.to)});
    else if (from || to)
      ++outside[place(from ? arc.from : arc.to)];
  }
  const LayeredLayout layout = layered_layout(boxes, inside);
  std::vector<std::string> nodes, lines;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    JsonObject node;
    node.add("id", shown[i]);
    node.add("name", model.variable_name(shown[i]));
    std::vector<std::string> states;
    for (std::uint32_t k = 0; k < model.cardinalities[shown[i]]; ++k)
      states.push_back(model.state_name(shown[i], static_cast<Value>(k)));
    node.add("states", states);
    node.add("x", layout.corners[i].x);
    node.add("y", layout.corners[i].y);
    node.add("height", boxes[i].height);
    node.add("outside", outside[i]);
    nodes.push_back(node.line());
  }
  for (std::size_t a = 0; a < inside.size(); ++a) {
    JsonObject line;
    line.add("from", shown[inside[a].from]);
    line.add("to", shown[inside[a].to]);
    line.add("d", arc_curve(layout.paths[a]));
    lines.push_back(line.line());
  }
  const BoxShape box;
  JsonObject size;
  size.add("width", box.width);
  size.add("head", box.head);
  size.add("row", box.row);
  size.add("bar_begin", box.bar_begin);
  size.add("bar_end", box.bar_end);
  size.add("inset", box.inset);
  size.add("max_rows", network_max_rows);
  JsonObject object;
  object.add("directed", model.kind == ModelKind::bayes);
  object.add("whole", shown.size() == model.variable_count());
  object.add("width", layout.width);
  object.add("height", layout.height);
  object.add("shape", size);
  object.add_raw("nodes", json_list(nodes));
  object.add_raw("arcs", json_list(lines));
  return object;
}

}  // namespace drover
