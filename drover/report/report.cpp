// The page is web/report.html with its marks filled: style, scripts, and the data as JSON, which
// the scripts of web/ draw. All text of the model travels as JSON strings and reaches the page through
// textContent, so names can neither break the page nor run as code.
#include "drover/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/report/assets.hpp"

namespace drover {
namespace {

using nlohmann::json;

/// Bytes that are not UTF-8 become U+FFFD: file formats do not promise an encoding.
std::string dump(const json& value) {
  return json_text(value);
}

/// JSON has no NaN: null. Infinity is written so that JSON.parse overflows back to it.
void append_number(std::string& out, double value, int digits) {
  if (std::isnan(value)) {
    out += "null";
  } else if (std::isinf(value)) {
    out += value > 0 ? "1e999" : "-1e999";
  } else {
    fmt::format_to(std::back_inserter(out), "{:.{}g}", value, digits);
  }
}

/// "name":[a,b,...] where append(i) writes element i.
template <class Append>
void append_array(std::string& out, std::string_view name, std::size_t count, Append append) {
  fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    append(i);
  }
  out += ']';
}

/// The number of variables the page shows.
std::size_t count_shown(const std::vector<ReportMarginal>& marginals) {
  std::size_t shown = 0, probabilities = 0;
  while (shown < marginals.size() && shown < report_max_variables) {
    probabilities += marginals[shown].probabilities.size();
    if (probabilities > report_max_probabilities) break;
    ++shown;
  }
  return shown;
}

/// Columns, not objects: at 10^5 variables the page stays small and loads at once. Variables with the same
/// state names share them.
std::string marginals_json(const std::vector<ReportMarginal>& marginals) {
  const std::size_t shown = count_shown(marginals);
  std::map<std::vector<std::string>, std::size_t> set_of_states;
  json state_sets = json::array();
  std::vector<std::size_t> sets(shown);
  for (std::size_t v = 0; v < shown; ++v) {
    std::vector<std::string> states = marginals[v].states;
    for (std::size_t k = states.size(); k < marginals[v].probabilities.size(); ++k)
      states.push_back(std::to_string(k));
    states.resize(marginals[v].probabilities.size());
    const auto [place, added] = set_of_states.try_emplace(std::move(states), state_sets.size());
    if (added) state_sets.push_back(place->first);
    sets[v] = place->second;
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  std::string out = fmt::format("{{\"total\":{},\"state_sets\":{},", marginals.size(), dump(state_sets));
  append_array(out, "state_set", shown, [&](std::size_t v) { out += std::to_string(sets[v]); });
  out += ',';
  append_array(out, "names", shown, [&](std::size_t v) { out += dump(marginals[v].variable); });
  out += ',';
  const auto append_values = [&](std::string_view name, int digits, auto value) {
    bool first = true;
    fmt::format_to(std::back_inserter(out), "\"{}\":[", name);
    for (std::size_t v = 0; v < shown; ++v) {
      for (std::size_t k = 0; k < marginals[v].probabilities.size(); ++k) {
        if (!first) out += ',';
        first = false;
        append_number(out, value(marginals[v], k), digits);
      }
    }
    out += "],";
  };
  append_values("probabilities", 6,
                [](const ReportMarginal& m, std::size_t k) { return m.probabilities[k]; });
  const auto has_mcse = [](const ReportMarginal& m) { return !m.mcse.empty(); };
  if (std::any_of(marginals.begin(), marginals.begin() + static_cast<std::ptrdiff_t>(shown), has_mcse)) {
    append_values("mcse", 3, [&](const ReportMarginal& m, std::size_t k) {
      return k < m.mcse.size() ? m.mcse[k] : none;
    });
  }
  append_array(out, "rhat", shown, [&](std::size_t v) { append_number(out, marginals[v].rhat, 7); });
  out += ',';
  append_array(out, "ess", shown, [&](std::size_t v) { append_number(out, marginals[v].ess, 6); });
  return out + '}';
}

/// Keeps every k-th point, the last one always, so that a page of many chains stays small.
std::string trace_json(const ReportTrace& trace) {
  const std::size_t curves = std::min(trace.series.size(), report_max_curves);
  const std::size_t points = std::max<std::size_t>(
      100, std::min<std::size_t>(report_max_trace_points, 12000 / std::max<std::size_t>(1, curves)));
  const std::size_t length = trace.sweep.size();
  const std::size_t every = std::max<std::size_t>(1, (length + points - 1) / points);
  const std::size_t first = length == 0 ? 0 : (length - 1) % every;
  const std::size_t kept = length == 0 ? 0 : (length - 1) / every + 1;
  std::string out =
      fmt::format("{{\"name\":{},\"caption\":{},\"axis\":{},\"every\":{},\"curves\":{},", dump(trace.name),
                  dump(trace.caption), dump(trace.axis), every, trace.series.size());
  append_array(out, "labels", std::min(curves, trace.labels.size()),
               [&](std::size_t c) { out += dump(trace.labels[c]); });
  out += ',';
  append_array(out, "sweep", kept,
               [&](std::size_t i) { append_number(out, trace.sweep[first + i * every], 9); });
  out += ",\"series\":[";
  for (std::size_t c = 0; c < curves; ++c) {
    out += c > 0 ? ",[" : "[";
    for (std::size_t i = 0; i < kept; ++i) {
      const std::size_t place = first + i * every;
      if (i > 0) out += ',';
      append_number(
          out,
          place < trace.series[c].size() ? trace.series[c][place] : std::numeric_limits<double>::quiet_NaN(),
          6);
    }
    out += ']';
  }
  return out + "]}";
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j)
      word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j)
      out += i + j <= bytes.size() ? digits[word >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

/// One byte per pixel: 0..254 for probabilities 0..1, 255 for unknown.
std::string image_json(const ReportImage& image) {
  if (image.values.size() != image.width * image.height)
    throw Error(ErrorKind::internal, "report: image \"" + image.title + "\" has the wrong number of values");
  std::size_t step = 1;
  while ((image.width + step - 1) / step * ((image.height + step - 1) / step) > report_max_pixels) ++step;
  std::string bytes;
  for (std::size_t row = 0; row < image.height; row += step) {
    for (std::size_t column = 0; column < image.width; column += step) {
      const double value = image.values[row * image.width + column];
      const double level = std::isnan(value) ? 255 : std::round(254 * std::clamp(value, 0.0, 1.0));
      bytes += static_cast<char>(static_cast<unsigned char>(level));
    }
  }
  return fmt::format(
      "{{\"title\":{},\"width\":{},\"height\":{},\"step\":{},\"picture\":{},\"bytes\":\"{}\"}}",
      dump(image.title), image.width, image.height, step, image.picture, base64(bytes));
}

json figure_json(const ReportFigure& figure) {
  json option = json::parse(figure.option_json, nullptr, false);
  if (!option.is_object())
    throw Error(ErrorKind::internal,
                "report: the option of figure \"" + figure.title + "\" is not a JSON object");
  return {{"title", figure.title}, {"caption", figure.caption}, {"option", std::move(option)}};
}

json table_json(const ReportTable& table) {
  return {{"title", table.title}, {"caption", table.caption}, {"header", table.header}, {"rows", table.rows}};
}

std::string data_json(const ReportData& data) {
  json small = {{"title", data.title},
                {"facts", data.facts},
                {"verdict", choice_name(data.verdict)},
                {"verdict_text", data.verdict_text},
                {"warnings", data.warnings},
                {"evidence", data.evidence},
                {"result_bytes", data.result_json.size()},
                {"result_embedded", data.result_json.size() <= report_max_result_bytes},
                {"autocorrelation_step", data.autocorrelation_step},
                {"tables", json::array()},
                {"figures", json::array()}};
  for (const ReportTable& table : data.tables) small["tables"].push_back(table_json(table));
  for (const ReportFigure& figure : data.figures) small["figures"].push_back(figure_json(figure));
  std::string out = dump(small);
  out.back() = ',';
  out += "\"marginals\":" + marginals_json(data.marginals) + ',';
  append_array(out, "traces", data.traces.size(), [&](std::size_t i) { out += trace_json(data.traces[i]); });
  out += ',';
  append_array(out, "autocorrelation", data.autocorrelation.size(),
               [&](std::size_t lag) { append_number(out, data.autocorrelation[lag], 4); });
  out += ',';
  append_array(out, "images", data.images.size(), [&](std::size_t i) { out += image_json(data.images[i]); });
  out += ',';
  append_array(out, "slowest", data.slowest.size(), [&](std::size_t i) {
    out += '[' + dump(data.slowest[i].first) + ',';
    append_number(out, data.slowest[i].second, 5);
    out += ']';
  });
  return out + '}';
}

/// JSON that can stand inside <script>: '<' occurs only in strings, where \u003c means the same.
std::string script_safe(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 64);
  for (char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Replaces each {{mark}} of the page once, from left to right: filled-in text is not searched again.
std::string fill(std::string_view page, const std::map<std::string_view, std::string_view>& texts) {
  std::size_t size = page.size();
  for (const auto& [mark, text] : texts) size += text.size();
  std::string out;
  out.reserve(size);
  for (;;) {
    const std::size_t open = page.find("{{");
    out += page.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = page.find("}}", open);
    out += texts.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string render_report(const ReportData& data) {
  const bool embed = data.result_json.size() <= report_max_result_bytes;
  const std::string title = escape_html(data.title), verdict = escape_html(data.verdict_text);
  const std::string values = script_safe(data_json(data));
  const std::string result = embed ? script_safe(data.result_json) : std::string();
  return fill(assets::report_html(), {{"title", title},
                                      {"verdict", verdict},
                                      {"data", values},
                                      {"result", result},
                                      {"network", data.network_svg},
                                      {"css", assets::report_css()},
                                      {"selftest", assets::selftest_js()},
                                      {"echarts", assets::echarts_js()},
                                      {"draw", assets::draw_js()},
                                      {"marginals", assets::marginals_js()},
                                      {"sections", assets::sections_js()},
                                      {"report", assets::report_js()}});
}

}  // namespace drover
