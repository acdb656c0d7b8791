#include "drover/core/option_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace drover {

namespace {

std::string range_text(const Range& range) {
  const auto bound = [](double x) {
    return std::abs(x) < 1e15 ? fmt::format("{:.15g}", x) : fmt::format("{:g}", x);
  };
  return bound(range.least) + " to " + bound(range.most);
}

// Whole numbers may be written as 1e6.
double parse_number(const Option& option, std::string_view text, bool whole) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = problem == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!is_number || (whole && number != std::floor(number)))
    throw OptionError(option.name, std::string(text), whole ? "a whole number" : "a number");
  if (!(number >= option.range.least && number <= option.range.most))
    throw OptionError(option.name, std::string(text),
                      (whole ? "a whole number from " : "a number from ") + range_text(option.range));
  return number;
}

struct Setter {
  const Option& option;
  std::string_view text;

  void operator()(bool* field) const {
    if (text != "true" && text != "false") throw OptionError(option.name, std::string(text), "true or false");
    *field = text == "true";
  }
  void operator()(std::string* field) const { *field = text; }
  void operator()(const Option::Choice& choice) const {
    const auto found = std::ranges::find(choice.words, text);
    if (found == choice.words.end())
      throw OptionError(option.name, std::string(text), listed_choices(choice.words));
    choice.set(static_cast<std::size_t>(found - choice.words.begin()));
  }
  void operator()(const Option::Syntax& syntax) const { syntax.set(text); }
  template <std::integral Number>
  void operator()(Number* field) const {
    *field = static_cast<Number>(parse_number(option, text, true));
  }
  template <std::integral Number>
  void operator()(std::optional<Number>* field) const {
    *field = static_cast<Number>(parse_number(option, text, true));
  }
  void operator()(double* field) const { *field = parse_number(option, text, false); }
  void operator()(std::optional<double>* field) const { *field = parse_number(option, text, false); }
};

struct Getter {
  template <class Number>
  Detail operator()(std::optional<Number>* field) const {
    return *field ? Detail(**field) : Detail();
  }
  Detail operator()(const Option::Choice& choice) const {
    const std::ptrdiff_t place = choice.get();
    return place < 0 ? Detail() : Detail(choice.words[static_cast<std::size_t>(place)]);
  }
  Detail operator()(const Option::Syntax& syntax) const {
    const std::string text = syntax.get();
    return text.empty() ? Detail() : Detail(text);
  }
  template <class T>
  Detail operator()(T* field) const {
    return Detail(*field);
  }
};

}  // namespace

OptionError::OptionError(std::string name, std::string value, std::string expected)
    : Error(ErrorKind::usage, fmt::format("{} = {}: expected {}", name, value, expected)),
      name_(std::move(name)),
      value_(std::move(value)),
      expected_(std::move(expected)) {}

std::vector<std::string_view> Option::choices() const {
  const auto* choice = std::get_if<Choice>(&field);
  return choice == nullptr ? std::vector<std::string_view>() : choice->words;
}

void Option::set(std::string_view text) {
  std::visit(Setter{*this, text}, field);
}

Detail Option::value() const {
  return std::visit(Getter(), field);
}

std::string Option::text() const {
  const Detail now = value();
  if (const auto* word = std::get_if<std::string>(&now.value())) return *word;
  if (const auto* flag = std::get_if<bool>(&now.value())) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&now.value())) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&now.value())) return fmt::format("{}", *real);
  return "";
}

void OptionList::add(std::string_view name, std::string_view help, bool& flag) {
  options_.push_back({std::string(name), "", std::string(help), &flag, {}, ""});
}

void OptionList::add(std::string_view name, std::string_view value_name, std::string_view help,
                     std::string& field, std::string_view without) {
  options_.push_back(
      {std::string(name), std::string(value_name), std::string(help), &field, {}, std::string(without)});
}

void OptionList::add_choice(std::string_view name, std::string_view value_name, std::string_view help,
                            Option::Choice choice, std::string_view without) {
  options_.push_back({std::string(name),
                      std::string(value_name),
                      std::string(help),
                      std::move(choice),
                      {},
                      std::string(without)});
}

void OptionList::add_syntax(std::string_view name, std::string_view value_name, std::string_view help,
                            Option::Syntax syntax, std::string_view without) {
  options_.push_back({std::string(name),
                      std::string(value_name),
                      std::string(help),
                      std::move(syntax),
                      {},
                      std::string(without)});
}

Option* OptionList::find(std::string_view name) {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

void OptionList::explain(std::string_view name, std::string_view help, std::string_view without) {
  Option* option = find(name);
  if (option == nullptr) return;
  option->help = help;
  option->without = without;
}

void OptionList::remove(std::string_view name) {
  std::erase_if(options_, [&](const Option& option) { return option.name == name; });
}

std::string listed_choices(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) text += k + 1 == words.size() ? " or " : ", ";
    text += words[k];
  }
  return text;
}

}  // namespace drover
