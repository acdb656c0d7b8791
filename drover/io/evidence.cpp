#include "drover/io/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"

namespace drover {

namespace {

struct Word {
  std::uint64_t number = 0;
  std::uint64_t line = 0;
};

// Whether the words after the first are exactly `samples` lists "k v x v x ...", each starting on a new line.
bool holds_samples(const std::vector<Word>& words, std::uint64_t samples) {
  std::size_t at = 1;
  for (std::uint64_t s = 0; s < samples; ++s) {
    if (at >= words.size() || words[at].line == words[at - 1].line) return false;
    if (words[at].number > words.size()) return false;
    at += 1 + 2 * words[at].number;
  }
  return at == words.size();
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

// The first place of a mark that is neither inside double quotes nor after a backslash.
std::size_t find_mark(std::string_view text, char mark) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      quoted = !quoted;
    else if (text[at] == mark && !quoted)
      return at;
  }
  return std::string_view::npos;
}

// Without its quotes and backslashes.
std::string plain(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') continue;
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    result += text[at];
  }
  return result;
}

[[noreturn]] void fail_usage(const std::string& message) {
  throw Error(ErrorKind::usage, message);
}

// The position of a word among names, or as a number below `count`; fails with the nearest name.
std::uint32_t find(std::string_view word, const std::vector<std::string>& names, std::size_t count,
                   const std::string& what) {
  if (count == 0) fail_usage(fmt::format("unknown {} \"{}\": the model has none", what, word));
  for (const std::string& name : {std::string(word), plain(word)}) {
    const auto named = std::find(names.begin(), names.end(), name);
    if (named != names.end()) return static_cast<std::uint32_t>(named - names.begin());
  }
  std::uint64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (!word.empty() && stop == end) {
    if (error == std::errc() && number < count) return static_cast<std::uint32_t>(number);
    fail_usage(fmt::format("{} {} is out of range: expected 0 to {}", what, word, count - 1));
  }
  if (names.empty())
    fail_usage(fmt::format("unknown {} \"{}\": the model has no names, expected a number from 0 to {}", what,
                           word, count - 1));
  std::vector<const char*> candidates;
  candidates.reserve(names.size());
  for (const std::string& name : names) candidates.push_back(name.c_str());
  const std::string near = nearest_name(std::string(word), candidates.data(), candidates.size());
  constexpr std::size_t most_listed = 12;
  std::string all;
  if (names.size() <= most_listed)
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  fail_usage(fmt::format("unknown {} \"{}\"{}{}", what, word,
                         near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                         all.empty() ? "" : fmt::format(" (there are: {})", all)));
}

// "0.2:0.8": a number for every state.
std::vector<double> parse_likelihoods(const Model& model, VariableId variable, std::string_view text) {
  const auto refuse = [&](const std::string& reason) {
    fail_usage(fmt::format("the likelihoods \"{}\" of variable {}: {}", text, model.variable_name(variable),
                           reason));
  };
  std::vector<double> likelihoods;
  for (const std::string& word : split_names(text, ':')) {
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || stop != word.data() + word.size() || error != std::errc() || !(value >= 0) ||
        std::isinf(value))
      refuse(fmt::format("expected a number of 0 or more for every state, found \"{}\"", word));
    likelihoods.push_back(value);
  }
  if (likelihoods.size() != model.cardinalities[variable])
    refuse(fmt::format("expected {}, one for every state, found {}",
                       counted(model.cardinalities[variable], "number"), likelihoods.size()));
  if (std::ranges::all_of(likelihoods, [](double value) { return value == 0; })) refuse("all are 0");
  return likelihoods;
}

VariableId find_variable(const Model& model, std::string_view word) {
  return find(word, model.variable_names, model.variable_count(), "variable");
}

}  // namespace

Evidence read_evidence(const Model& model, TextSource& source) {
  std::vector<Word> words;
  while (source.next_token())
    words.push_back({source.token_as_count("a whole number", std::uint64_t{1} << 32), source.line()});
  Evidence evidence;
  if (words.empty()) return evidence;
  std::size_t start = 0;  // where the count of observed variables stands
  const std::uint64_t first = words[0].number;
  if (words.size() % 2 == 0 && first <= 1) start = 1;
  if (first > 1 && holds_samples(words, first))
    fail_at({source.name(), words[0].line},
            fmt::format("expected one sample of evidence, found {} samples", first));
  if (first == 0 && start == 1)
    fail_at({source.name(), words[1].line}, "expected the end of the file after 0 observed variables");
  const std::uint64_t observed = words[start].number;
  const std::size_t given = words.size() - start - 1;
  if (given != 2 * observed)
    fail_at({source.name(), words[start].line},
            fmt::format("expected {} observed variables, each with its value, found {} numbers", observed,
                        given));
  for (std::size_t at = start + 1; at < words.size(); at += 2) {
    const std::uint64_t v = words[at].number;
    const std::uint64_t value = words[at + 1].number;
    if (model.variable_count() == 0)
      fail_at({source.name(), words[at].line}, "expected no evidence: the model has no variables");
    if (v >= model.variable_count())
      fail_at({source.name(), words[at].line},
              fmt::format("expected a variable from 0 to {}, found {}", model.variable_count() - 1, v));
    if (value >= model.cardinalities[v])
      fail_at({source.name(), words[at + 1].line},
              fmt::format("expected a value from 0 to {} for variable {}, found {}",
                          model.cardinalities[v] - 1, v, value));
    evidence.add(static_cast<VariableId>(v), static_cast<Value>(value));
  }
  return evidence;
}

Evidence read_evidence(const Model& model, const std::string& path, const RunControl& control) {
  TextSource source(path, control);
  return read_evidence(model, source);
}

std::vector<Observation> split_observations(std::string_view text) {
  std::vector<Observation> observations;
  for (const std::string& part : split_names(text)) {
    const std::size_t equals = find_mark(part, '=');
    if (equals == std::string_view::npos)
      fail_usage(fmt::format("expected NAME=VALUE in the observations, found \"{}\"", part));
    observations.emplace_back(trim(std::string_view(part).substr(0, equals)),
                              trim(std::string_view(part).substr(equals + 1)));
  }
  return observations;
}

Observations evidence_of(const Model& model, std::span<const Observation> observations) {
  Observations evidence;
  for (const auto& [name, state] : observations)
    add_observation(model, find_variable(model, name), state, evidence);
  return evidence;
}

void add_observation(const Model& model, VariableId variable, std::string_view state,
                     Observations& evidence) {
  static const std::vector<std::string> no_names;
  const auto& states = variable < model.state_names.size() ? model.state_names[variable] : no_names;
  const bool is_name = std::ranges::find(states, state) != states.end() ||
                       std::ranges::find(states, plain(state)) != states.end();
  if (!is_name && find_mark(state, ':') != std::string_view::npos) {
    evidence.add_likelihood(variable, parse_likelihoods(model, variable, state));
    return;
  }
  const std::uint32_t value = find(state, states, model.cardinalities[variable],
                                   fmt::format("state of variable {}:", model.variable_name(variable)));
  evidence.add(variable, static_cast<Value>(value));
}

Observations parse_observations(const Model& model, std::string_view text) {
  return evidence_of(model, split_observations(text));
}

std::vector<std::string> split_names(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (trim(text).empty()) return parts;
  for (;;) {
    const std::size_t mark = find_mark(text, separator);
    parts.emplace_back(trim(text.substr(0, mark)));
    if (mark == std::string_view::npos) return parts;
    text.remove_prefix(mark + 1);
  }
}

std::vector<VariableId> variables_named(const Model& model, std::span<const std::string> names) {
  std::vector<VariableId> variables;
  for (const std::string& name : names) variables.push_back(find_variable(model, name));
  return variables;
}

std::vector<VariableId> parse_query(const Model& model, std::string_view text) {
  return variables_named(model, split_names(text));
}

}  // namespace drover
