#include "drover/io/moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "drover/io/text_source.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {

namespace {

/// The words of the next line that has any, comments left out; false at the end.
template <class Take>
bool next_line(TextSource& source, Take take) {
  bool any = false;
  while (any ? source.next_token_on_line() : source.next_token()) {
    if (source.token().front() == '#') {
      source.skip_line();
      if (any) return true;
      continue;
    }
    any = true;
    take(source.token());
  }
  return any;
}

Indicator parse_indicator(TextSource& source, const std::string& text,
                          const std::vector<std::uint32_t>& cardinalities) {
  const auto number = [&](std::string_view part, std::size_t limit, const char* what) {
    std::size_t result = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), result);
    if (part.empty() || problem != std::errc() || end != part.data() + part.size() || result >= limit)
      source.fail(fmt::format("expected {} below {}, found {}", what, limit, printable(part)));
    return result;
  };
  const std::size_t equals = text.find('=');
  const std::string_view view = text;
  Indicator indicator;
  indicator.variable =
      static_cast<VariableId>(number(view.substr(0, equals), cardinalities.size(), "a variable"));
  const std::uint32_t states = cardinalities[indicator.variable];
  if (equals != std::string::npos)
    indicator.value = static_cast<Value>(number(view.substr(equals + 1), states, "a state"));
  else if (states != 2)
    source.fail(fmt::format("variable {} has {} states: expected {}=STATE", text, states, text));
  return indicator;
}

}  // namespace

bool is_moments_file(const std::string& path) {
  return first_bytes(path, 7) == "moments";
}

Moments parse_moments(TextSource& source) {
  if (!source.next_token() || source.token() != "moments") source.fail_expected("the word moments");
  std::vector<std::uint32_t> cardinalities;
  next_line(source, [&](std::string_view) {
    const auto states = source.token_as_count("a number of states, 2 to 65535", max_cardinality);
    if (states < 2) source.fail("expected at least 2 states");
    cardinalities.push_back(static_cast<std::uint32_t>(states));
  });
  if (cardinalities.empty()) source.fail("expected the numbers of states of the variables");

  std::vector<std::vector<Indicator>> products;
  std::map<std::vector<Indicator>, double> value_of;
  std::vector<std::string> words;
  while (next_line(source, [&](std::string_view word) { words.emplace_back(word); })) {
    if (words.size() < 2 || words.size() > max_feature_order + 1)
      source.fail("expected one to three variables and a value");
    std::vector<Indicator> product;
    for (std::size_t k = 0; k + 1 < words.size(); ++k)
      product.push_back(parse_indicator(source, words[k], cardinalities));
    std::sort(product.begin(), product.end());
    for (std::size_t k = 1; k < product.size(); ++k)
      if (product[k].variable == product[k - 1].variable)
        source.fail(fmt::format("variable {} is there twice", product[k].variable));
    double value = 0;
    const std::string& text = words.back();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1))
      source.fail(fmt::format("expected a probability from 0 to 1, found {}", printable(text)));
    if (!value_of.emplace(product, value).second) source.fail("this moment was given before");
    products.push_back(std::move(product));
    words.clear();
  }
  if (products.empty()) source.fail("expected at least one moment");
  Moments moments;
  moments.set = make_features(std::move(cardinalities), products);
  for (const Feature& feature : moments.set.features) {
    std::vector<Indicator> product;
    for (std::uint32_t member : feature.members()) product.push_back(moments.set.indicators[member]);
    moments.values.push_back(value_of.at(product));
  }
  return moments;
}

Moments read_moments(const std::string& path, const RunControl& control) {
  TextSource source(path, control);
  return parse_moments(source);
}

}  // namespace drover
