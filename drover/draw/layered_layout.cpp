#include "drover/draw/layered_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "drover/draw/layer_order.hpp"
#include "drover/draw/layer_positions.hpp"

namespace drover {

namespace {

using Nodes = std::vector<std::uint32_t>;

/// Turns round the arcs that close a cycle; leaves out arcs from a node to itself. Returns which were turned.
std::vector<char> break_cycles(std::size_t size, std::vector<Arc>& arcs) {
  std::vector<Nodes> leaving(size);
  for (std::uint32_t a = 0; a < arcs.size(); ++a) leaving[arcs[a].from].push_back(a);
  enum : char { fresh, open, done };
  std::vector<char> state(size, fresh), turned(arcs.size());
  std::vector<std::size_t> next(size);
  Nodes stack;
  for (std::uint32_t start = 0; start < size; ++start) {
    if (state[start] != fresh) continue;
    stack.push_back(start);
    state[start] = open;
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      if (next[v] == leaving[v].size()) {
        state[v] = done;
        stack.pop_back();
        continue;
      }
      const std::uint32_t a = leaving[v][next[v]++];
      if (state[arcs[a].to] == open) {
        turned[a] = 1;
      } else if (state[arcs[a].to] == fresh) {
        state[arcs[a].to] = open;
        stack.push_back(arcs[a].to);
      }
    }
  }
  for (std::size_t a = 0; a < arcs.size(); ++a)
    if (turned[a]) std::swap(arcs[a].from, arcs[a].to);
  return turned;
}

/// Moves every node to that end of its free layers that makes its arcs shorter in total. Whether any moved.
bool move_nodes(const std::vector<Nodes>& in, const std::vector<Nodes>& out, const Nodes& order,
                Nodes& layer) {
  bool moved = false;
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    if (in[*v].size() == out[*v].size()) continue;
    std::uint32_t best = in[*v].size() > out[*v].size() ? 0 : std::numeric_limits<std::uint32_t>::max();
    if (in[*v].size() > out[*v].size())
      for (std::uint32_t u : in[*v]) best = std::max(best, layer[u] + 1);
    else
      for (std::uint32_t u : out[*v]) best = std::min(best, layer[u] - 1);
    moved |= best != layer[*v];
    layer[*v] = best;
  }
  return moved;
}

/// The same for groups of nodes that arcs of length 1 join, which single moves cannot part. Whether one
/// moved.
bool move_groups(const std::vector<Nodes>& in, const std::vector<Nodes>& out, Nodes& layer) {
  std::vector<char> met(layer.size());
  for (std::uint32_t start = 0; start < layer.size(); ++start) {
    if (met[start]) continue;
    Nodes group{start};
    met[start] = 1;
    std::size_t entering = 0, leaving = 0;
    std::uint32_t slack_in = std::numeric_limits<std::uint32_t>::max(), slack_out = slack_in;
    for (std::size_t next = 0; next < group.size(); ++next) {
      const std::uint32_t v = group[next];
      const auto look = [&](std::uint32_t u, std::uint32_t length, std::size_t& count, std::uint32_t& slack) {
        if (length > 1) {  // an arc within the group may be longer: it counts on both sides
          ++count;
          slack = std::min(slack, length - 1);
        } else if (!met[u]) {
          met[u] = 1;
          group.push_back(u);
        }
      };
      for (std::uint32_t u : in[v]) look(u, layer[v] - layer[u], entering, slack_in);
      for (std::uint32_t u : out[v]) look(u, layer[u] - layer[v], leaving, slack_out);
    }
    if (entering == leaving) continue;
    if (leaving > entering)
      for (std::uint32_t v : group) layer[v] += slack_out;
    else
      for (std::uint32_t v : group) layer[v] -= slack_in;
    return true;
  }
  return false;
}

/// Moves nodes down from layers that are too full. Those with a long way below them stay first (Coffman and
/// Graham 1972 schedule jobs on few machines so).
void limit_layers(const std::vector<Nodes>& in, const std::vector<Nodes>& out, const Nodes& order,
                  Nodes& layer) {
  const std::size_t most =
      std::max<std::size_t>(8, static_cast<std::size_t>(1.5 * std::sqrt(static_cast<double>(layer.size()))));
  Nodes below(layer.size());
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (std::uint32_t u : out[*v]) below[*v] = std::max(below[*v], below[u] + 1);
  Nodes queue = order;
  std::stable_sort(queue.begin(), queue.end(), [&](auto a, auto b) {
    return layer[a] != layer[b] ? layer[a] < layer[b] : below[a] > below[b];
  });
  std::vector<std::size_t> full;
  for (std::uint32_t v : queue) {
    for (std::uint32_t u : in[v]) layer[v] = std::max(layer[v], layer[u] + 1);
    while (layer[v] < full.size() && full[layer[v]] == most) ++layer[v];
    if (full.size() <= layer[v]) full.resize(layer[v] + 1);
    ++full[layer[v]];
  }
}

/// The layer of every node; arcs have no cycle.
Nodes assign_layers(std::size_t size, const std::vector<Arc>& arcs) {
  std::vector<Nodes> in(size), out(size);
  for (const Arc& arc : arcs) {
    out[arc.from].push_back(arc.to);
    in[arc.to].push_back(arc.from);
  }
  constexpr std::uint32_t middle = std::uint32_t{1} << 31;  // groups may move up from the first layer
  Nodes layer(size, middle), order, waits(size);
  for (std::uint32_t v = 0; v < size; ++v) {
    waits[v] = static_cast<std::uint32_t>(in[v].size());
    if (waits[v] == 0) order.push_back(v);
  }
  for (std::size_t next = 0; next < order.size(); ++next)
    for (std::uint32_t v : out[order[next]]) {
      layer[v] = std::max(layer[v], layer[order[next]] + 1);
      if (--waits[v] == 0) order.push_back(v);
    }
  while (move_nodes(in, out, order, layer) || move_groups(in, out, layer)) continue;
  const std::uint32_t first = *std::min_element(layer.begin(), layer.end());
  for (std::uint32_t& l : layer) l -= first;
  limit_layers(in, out, order, layer);
  return layer;
}

/// One connected part: its own nodes and arcs.
LayeredLayout lay_out_part(std::span<const NodeSize> nodes, std::vector<Arc> arcs,
                           const LayoutOptions& options) {
  const std::vector<char> turned = break_cycles(nodes.size(), arcs);
  LayeredLayout layout;
  layout.layers = assign_layers(nodes.size(), arcs);
  const Nodes& layer_of = layout.layers;
  LayeredGraph graph;
  graph.layers.resize(1 + *std::max_element(layer_of.begin(), layer_of.end()));
  graph.first_bend = static_cast<std::uint32_t>(nodes.size());
  graph.up.resize(nodes.size());
  graph.down.resize(nodes.size());
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    graph.layers[layer_of[v]].push_back(v);
    graph.widths.push_back(nodes[v].width + options.node_gap);
  }
  std::vector<Nodes> bends(arcs.size());
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    std::uint32_t above = arcs[a].from;
    const auto join = [&](std::uint32_t below) {
      graph.down[above].push_back(below);
      graph.up[below].push_back(above);
      above = below;
    };
    for (std::uint32_t layer = layer_of[arcs[a].from] + 1; layer < layer_of[arcs[a].to]; ++layer) {
      const auto bend = static_cast<std::uint32_t>(graph.size());
      bends[a].push_back(bend);
      graph.up.emplace_back();
      graph.down.emplace_back();
      graph.widths.push_back(options.bend_gap);
      graph.layers[layer].push_back(bend);
      join(bend);
    }
    join(arcs[a].to);
  }
  reduce_crossings(graph);
  layout.crossings = count_crossings(graph);
  const std::vector<double> x = place_nodes(graph);

  std::vector<double> top(graph.layers.size()), bottom(graph.layers.size());
  double y = 0;
  for (std::size_t layer = 0; layer < graph.layers.size(); ++layer) {
    top[layer] = bottom[layer] = y;
    for (std::uint32_t v : graph.layers[layer])
      if (!graph.is_bend(v)) bottom[layer] = std::max(bottom[layer], y + nodes[v].height);
    y = bottom[layer] + options.layer_gap;
  }
  double left = x[0], right = x[0];
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const double half = v < nodes.size() ? nodes[v].width / 2 : 0;
    left = std::min(left, x[v] - half);
    right = std::max(right, x[v] + half);
  }
  layout.width = right - left;
  layout.height = bottom.back();
  for (std::size_t v = 0; v < nodes.size(); ++v)
    layout.corners.push_back({x[v] - left - nodes[v].width / 2, top[layer_of[v]]});
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    const auto [from, to] = arcs[a];
    std::vector<Point> path{{x[from] - left, top[layer_of[from]] + nodes[from].height}};
    if (bottom[layer_of[from]] > path[0].y) path.push_back({path[0].x, bottom[layer_of[from]]});
    for (std::size_t b = 0; b < bends[a].size(); ++b) {
      const std::size_t layer = layer_of[from] + 1 + b;
      path.push_back({x[bends[a][b]] - left, top[layer]});
      if (bottom[layer] > top[layer]) path.push_back({path.back().x, bottom[layer]});
    }
    path.push_back({x[to] - left, top[layer_of[to]]});
    if (turned[a]) std::reverse(path.begin(), path.end());
    layout.paths.push_back(std::move(path));
  }
  return layout;
}

/// The part each node belongs to; parts are numbered by their first node.
Nodes find_parts(std::size_t size, std::span<const Arc> arcs, std::uint32_t& count) {
  Nodes root(size);
  std::iota(root.begin(), root.end(), 0u);
  const auto find = [&](std::uint32_t v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  for (const Arc& arc : arcs) {
    const std::uint32_t a = find(arc.from), b = find(arc.to);
    root[std::max(a, b)] = std::min(a, b);
  }
  Nodes part(size);
  count = 0;
  for (std::uint32_t v = 0; v < size; ++v) part[v] = find(v) == v ? count++ : part[find(v)];
  return part;
}

}  // namespace

LayeredLayout layered_layout(std::span<const NodeSize> nodes, std::span<const Arc> arcs,
                             const LayoutOptions& options) {
  LayeredLayout whole;
  whole.corners.resize(nodes.size());
  whole.layers.resize(nodes.size());
  whole.paths.resize(arcs.size());
  std::uint32_t count = 0;
  const Nodes part_of = find_parts(nodes.size(), arcs, count);
  std::vector<Nodes> members(count), arcs_of(count);
  Nodes local(nodes.size());
  for (std::uint32_t v = 0; v < nodes.size(); ++v) {
    local[v] = static_cast<std::uint32_t>(members[part_of[v]].size());
    members[part_of[v]].push_back(v);
  }
  for (std::uint32_t a = 0; a < arcs.size(); ++a)
    if (arcs[a].from != arcs[a].to) arcs_of[part_of[arcs[a].from]].push_back(a);

  std::vector<LayeredLayout> parts(count);
  double area = 0, widest = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    std::vector<NodeSize> sizes;
    for (std::uint32_t v : members[p]) sizes.push_back(nodes[v]);
    std::vector<Arc> inside;
    for (std::uint32_t a : arcs_of[p]) inside.push_back({local[arcs[a].from], local[arcs[a].to]});
    parts[p] = lay_out_part(sizes, std::move(inside), options);
    area += (parts[p].width + options.node_gap) * (parts[p].height + options.layer_gap);
    widest = std::max(widest, parts[p].width);
    whole.crossings += parts[p].crossings;
  }
  // The largest parts first, in rows that make a page somewhat wider than high.
  Nodes order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return members[a].size() > members[b].size(); });
  const double row_width = std::max(widest, std::sqrt(1.6 * area));
  Point corner;
  double row_height = 0;
  for (std::uint32_t p : order) {
    if (corner.x > 0 && corner.x + parts[p].width > row_width) {
      corner = {0, corner.y + row_height + options.layer_gap};
      row_height = 0;
    }
    for (std::size_t i = 0; i < members[p].size(); ++i) {
      const Point& at = parts[p].corners[i];
      whole.corners[members[p][i]] = {corner.x + at.x, corner.y + at.y};
      whole.layers[members[p][i]] = parts[p].layers[i];
    }
    for (std::size_t i = 0; i < arcs_of[p].size(); ++i) {
      whole.paths[arcs_of[p][i]] = std::move(parts[p].paths[i]);
      for (Point& point : whole.paths[arcs_of[p][i]]) point = {corner.x + point.x, corner.y + point.y};
    }
    whole.width = std::max(whole.width, corner.x + parts[p].width);
    whole.height = std::max(whole.height, corner.y + parts[p].height);
    row_height = std::max(row_height, parts[p].height);
    corner.x += parts[p].width + 2 * options.node_gap;
  }
  return whole;
}

}  // namespace drover
