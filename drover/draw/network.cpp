#include "drover/draw/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

namespace drover {

namespace {

void add_parents(std::span<const VariableId> scope, std::vector<Arc>& arcs) {
  for (VariableId parent : scope.first(scope.size() - 1)) arcs.push_back({parent, scope.back()});
}

void add_pairs(std::span<const VariableId> scope, std::vector<Arc>& arcs) {
  for (std::size_t i = 0; i < scope.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      arcs.push_back({std::min(scope[i], scope[j]), std::max(scope[i], scope[j])});
}

/// The bytes of the UTF-8 letter that begins the text; 0 when it is not one.
std::size_t letter_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xC2 ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                           : first < 0xF5 ? 4
                                          : 0;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates, and numbers above U+10FFFF.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F))
    return 0;
  return size;
}

/// Text of the model as text of XML: markup is escaped, and what XML cannot hold becomes U+FFFD.
std::string xml_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = letter_size(text);
    const char c = text[0];
    if (size == 0 || (size == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n'))
      out += "\xEF\xBF\xBD";
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out;
}

constexpr std::string_view style = R"(<style>
.drover-network{--n-box:#fff;--n-ink:#1d2025;--n-muted:#5d6570;--n-line:#c9ced6;--n-arc:#8b95a3;--n-room:#edf0f4;--n-bar:#2a66a8;--n-seen:#c2702a;--n-seen-box:#fdf5ea;font:11px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
@media screen and (prefers-color-scheme:dark){:root:not(.printing) .drover-network,svg.drover-network:root{--n-box:#1b1e24;--n-ink:#e5e8ec;--n-muted:#9da6b1;--n-line:#3a414b;--n-arc:#7b8593;--n-room:#282d35;--n-bar:#6fa8e2;--n-seen:#e39a58;--n-seen-box:#2c2418}}
.drover-network .box{fill:var(--n-box);stroke:var(--n-line)}
.drover-network .seen .box{fill:var(--n-seen-box);stroke:var(--n-seen)}
.drover-network .name{font-size:12px;font-weight:600;fill:var(--n-ink)}
.drover-network text{fill:var(--n-muted)}
.drover-network .figure{text-anchor:end;font-variant-numeric:tabular-nums;fill:var(--n-ink)}
.drover-network .room{fill:var(--n-room)}
.drover-network .bar{fill:var(--n-bar)}
.drover-network .seen .bar{fill:var(--n-seen)}
.drover-network .arc{fill:none;stroke:var(--n-arc);stroke-width:1.2}
.drover-network marker path{fill:var(--n-arc)}
</style>
)";

}  // namespace

std::vector<Arc> arcs_of(const Model& model) {
  std::vector<Arc> arcs;
  if (model.kind == ModelKind::bayes) {
    for (std::size_t f = 0; f < model.tables.size(); ++f) add_parents(model.tables.scope(f), arcs);
    for (std::size_t g = 0; g < model.gates.size(); ++g)
      if (model.gates.has_child(g)) add_parents(model.gates.scope(g), arcs);
  } else {
    const auto add = [&](const Pairs& pairs) {
      for (std::size_t p = 0; p < pairs.size(); ++p)
        arcs.push_back(
            {std::min(pairs.first[p], pairs.second[p]), std::max(pairs.first[p], pairs.second[p])});
    };
    add(model.spin_pairs);
    add(model.potts_pairs);
    for (std::size_t f = 0; f < model.tables.size(); ++f) add_pairs(model.tables.scope(f), arcs);
    for (std::size_t g = 0; g < model.gates.size(); ++g) add_pairs(model.gates.scope(g), arcs);
    for (const DenseLayer& layer : model.dense_layers)
      for (std::uint32_t i = 0; i < layer.visible_count; ++i)
        for (std::uint32_t j = 0; j < layer.hidden_count; ++j)
          arcs.push_back({std::min(layer.first_visible + i, layer.first_hidden + j),
                          std::max(layer.first_visible + i, layer.first_hidden + j)});
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  return arcs;
}

std::size_t box_rows(std::size_t states) {
  return std::min(states, network_max_rows);
}

NodeSize box_size(std::size_t states, const BoxShape& shape) {
  return {shape.width, shape.head + shape.row * static_cast<double>(box_rows(states)) + shape.foot};
}

LayeredLayout network_layout(const Model& model) {
  std::vector<NodeSize> boxes;
  for (std::uint32_t states : model.cardinalities) boxes.push_back(box_size(states));
  return layered_layout(boxes, arcs_of(model));
}

std::string shortened(std::string_view text, std::size_t letters) {
  std::size_t end = 0, before_last = 0;
  for (std::size_t count = 0; end < text.size(); ++count) {
    if (count == letters) return std::string(text.substr(0, before_last)) + "\xE2\x80\xA6";
    before_last = end;
    end += std::max<std::size_t>(1, letter_size(text.substr(end)));
  }
  return std::string(text);
}

std::string arc_curve(const std::vector<Point>& path) {
  std::string curve;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Point& p = path[i];
    if (i == 0) {
      curve = fmt::format("M{:.1f} {:.1f}", p.x, p.y);
    } else if (p.x == path[i - 1].x) {
      fmt::format_to(std::back_inserter(curve), "V{:.1f}", p.y);
    } else {
      const double middle = (path[i - 1].y + p.y) / 2;
      fmt::format_to(std::back_inserter(curve), "C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", path[i - 1].x,
                     middle, p.x, middle, p.x, p.y);
    }
  }
  return curve;
}

std::string network_svg(const Model& model, const Distributions& probabilities, const Evidence& evidence) {
  const BoxShape shape;
  const bool bars = probabilities.size() == model.variable_count();
  std::vector<NodeSize> boxes;
  for (std::uint32_t states : model.cardinalities)
    boxes.push_back(bars ? box_size(states) : NodeSize{shape.width, shape.head});
  const std::vector<Arc> arcs = arcs_of(model);
  const LayeredLayout layout = layered_layout(boxes, arcs);
  std::vector<char> seen(model.variable_count());
  for (VariableId v : evidence.variables) seen[v] = 1;

  constexpr double margin = 8;
  const double width = layout.width + 2 * margin, height = layout.height + 2 * margin;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drover-network\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "style=\"max-width:100%;height:auto;min-width:{5:.0f}px\" "
      "viewBox=\"-{2} -{2} {0:.0f} {1:.0f}\" role=\"img\" aria-label=\"A network of {3} variables and {4} "
      "arcs\">\n",
      std::ceil(width), std::ceil(height), margin, model.variable_count(), arcs.size(), 0.62 * width);
  const auto write = [&]<class... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
  };
  out += style;
  const bool directed = model.kind == ModelKind::bayes;
  if (directed)
    out +=
        "<defs><marker id=\"drover-arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 .8L8 4L0 "
        "7.2Z\"/></marker></defs>\n";
  for (const std::vector<Point>& path : layout.paths)
    write("<path class=\"arc\" d=\"{}\"{}/>\n", arc_curve(path),
          directed ? " marker-end=\"url(#drover-arrow)\"" : "");
  for (VariableId v = 0; v < model.variable_count(); ++v) {
    const Point& corner = layout.corners[v];
    const std::string name = model.variable_name(v);
    write("<g{} transform=\"translate({:.1f} {:.1f})\"><title>{}{}</title>", seen[v] ? " class=\"seen\"" : "",
          corner.x, corner.y, xml_text(name), seen[v] ? " (observed)" : "");
    write("<rect class=\"box\" width=\"{}\" height=\"{}\" rx=\"5\"/>", boxes[v].width, boxes[v].height);
    write("<text class=\"name\" x=\"{}\" y=\"17\">{}</text>", shape.inset, xml_text(shortened(name, 22)));
    const std::size_t states = bars ? probabilities[v].size() : 0, rows = box_rows(states);
    for (std::size_t k = 0; k < rows; ++k) {
      const double y = shape.head + shape.row * static_cast<double>(k), line = y + 11;
      if (k + 1 == rows && rows < states) {
        write("<text x=\"{}\" y=\"{}\">and {} more</text>", shape.inset, line, states - k);
        break;
      }
      const double p = probabilities[v][k];
      write("<text x=\"{}\" y=\"{}\">{}</text>", shape.inset, line,
            xml_text(shortened(model.state_name(v, static_cast<Value>(k)), 11)));
      write("<rect class=\"room\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"9\" rx=\"2\"/>", shape.bar_begin,
            y + 3, shape.bar_end - shape.bar_begin);
      if (p > 0)
        write("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"9\" rx=\"2\"/>",
              shape.bar_begin, y + 3, std::max(0.75, p * (shape.bar_end - shape.bar_begin)));
      write("<text class=\"figure\" x=\"{}\" y=\"{}\">{}</text>", shape.width - shape.inset, line,
            std::isnan(p)      ? std::string("\xE2\x80\x93")
            : p == 0 || p == 1 ? fmt::format("{:.0f}", 100 * p)  // certain, and "100.0" would touch its bar
                               : fmt::format("{:.1f}", 100 * p));
    }
    out += "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace drover
