// Options as typed fields, described once.
//
// A group of options is a plain struct. One function describes it: it adds every field to an OptionList with
// its name, meaning, range and what happens without it. From that list come the parser, help, man page,
// completion, configuration files, the options stated in JSON results, and keywords in Python.
//
//   void describe(OptionList& list, Messages& messages) {
//     list.add("iterations", "N", "rounds of message passing", messages.iterations, {1, 1e9}, "1000");
//   }
//
// A field that need not be given is a std::optional; a choice is an enum with one table of names.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "drover/core/details.hpp"
#include "drover/core/error.hpp"

namespace drover {

/// The names of an enum's values: specialise with
///   static constexpr std::array names = {std::pair{E::first, std::string_view("first")}, ...};
template <class E>
struct ChoiceNames;

template <class E>
constexpr std::string_view choice_name(E value) {
  for (const auto& [choice, name] : ChoiceNames<E>::names)
    if (choice == value) return name;
  return "";
}

template <class E>
std::optional<E> choice_named(std::string_view wanted) {
  for (const auto& [choice, name] : ChoiceNames<E>::names)
    if (name == wanted) return choice;
  return {};
}

/// An option that cannot be heeded: whoever shows it writes the name as its users know it (--name, name=).
class OptionError : public Error {
 public:
  OptionError(std::string name, std::string value, std::string expected);
  const std::string& name() const { return name_; }
  const std::string& value() const { return value_; }
  const std::string& expected() const { return expected_; }

 private:
  std::string name_, value_, expected_;
};

/// What a number may be, both ends included.
struct Range {
  double least = 0;
  double most = 0;
};

/// One option, bound to the field that holds it.
class Option {
 public:
  /// A choice among words; `set` gets the place of the word, `get` gives it, -1 for unset.
  struct Choice {
    std::vector<std::string_view> words;
    std::function<void(std::size_t)> set;
    std::function<std::ptrdiff_t()> get;
  };
  /// A value with a syntax of its own, such as a list; `set` raises OptionError, `get` gives the text that
  /// `set` takes, empty for unset.
  struct Syntax {
    std::function<void(std::string_view)> set;
    std::function<std::string()> get;
  };
  using Field = std::variant<bool*, std::int64_t*, std::uint64_t*, std::optional<std::uint64_t>*,
                             std::uint32_t*, std::optional<std::uint32_t>*, double*, std::optional<double>*,
                             std::string*, Choice, Syntax>;

  std::string name;        ///< words with hyphens between
  std::string value_name;  ///< what stands for the value in a help text; empty for a flag
  std::string help;
  Field field;
  Range range;
  std::string without;  ///< what happens when it is not given, if that is not its default value

  bool is_flag() const { return std::holds_alternative<bool*>(field); }
  /// Empty when any text will do.
  std::vector<std::string_view> choices() const;
  /// Raises OptionError that names the value and what was expected.
  void set(std::string_view text);
  /// The value as text that set() takes; empty when unset.
  std::string text() const;
  /// The value with its type; empty when unset.
  Detail value() const;
};

class OptionList {
 public:
  void add(std::string_view name, std::string_view help, bool& flag);
  template <class Number>
  requires(!std::same_as<Number, std::string>) void add(std::string_view name, std::string_view value_name,
                                                        std::string_view help, Number& field, Range range,
                                                        std::string_view without = "") {
    options_.push_back(
        {std::string(name), std::string(value_name), std::string(help), &field, range, std::string(without)});
  }
  void add(std::string_view name, std::string_view value_name, std::string_view help, std::string& field,
           std::string_view without = "");
  template <class E>
  requires std::is_enum_v<E>
  void add_choice(std::string_view name, std::string_view value_name, std::string_view help, E& field) {
    add_choice(
        name, value_name, help,
        Option::Choice{words_of<E>(), [&field](std::size_t k) { field = ChoiceNames<E>::names[k].first; },
                       [&field] { return place_of(field); }});
  }
  template <class E>
  requires std::is_enum_v<E>
  void add_choice(std::string_view name, std::string_view value_name, std::string_view help,
                  std::optional<E>& field, std::string_view without) {
    std::vector<std::string_view> words = words_of<E>();
    words.push_back("auto");  // unset again
    add_choice(name, value_name, help,
               Option::Choice{words,
                              [&field](std::size_t k) {
                                field.reset();
                                if (k < ChoiceNames<E>::names.size()) field = ChoiceNames<E>::names[k].first;
                              },
                              [&field] { return field ? place_of(*field) : std::ptrdiff_t{-1}; }},
               without);
  }
  void add_choice(std::string_view name, std::string_view value_name, std::string_view help,
                  Option::Choice choice, std::string_view without = "");

  void add_syntax(std::string_view name, std::string_view value_name, std::string_view help,
                  Option::Syntax syntax, std::string_view without = "");

  std::span<Option> options() { return options_; }
  std::span<const Option> options() const { return options_; }
  /// Null when there is none.
  Option* find(std::string_view name);
  /// Puts another meaning in the place of the general one, for a command in which it is more special.
  void explain(std::string_view name, std::string_view help, std::string_view without = "");
  void remove(std::string_view name);

 private:
  template <class E>
  static std::vector<std::string_view> words_of() {
    std::vector<std::string_view> words;
    for (const auto& entry : ChoiceNames<E>::names) words.push_back(entry.second);
    return words;
  }
  template <class E>
  static std::ptrdiff_t place_of(E value) {
    for (std::size_t k = 0; k < ChoiceNames<E>::names.size(); ++k)
      if (ChoiceNames<E>::names[k].first == value) return static_cast<std::ptrdiff_t>(k);
    return -1;
  }

  std::vector<Option> options_;
};

/// "a, b or c".
std::string listed_choices(std::span<const std::string_view> words);

}  // namespace drover
