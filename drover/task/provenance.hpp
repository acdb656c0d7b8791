// Where an answer comes from: what every result of drover/task carries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "drover/core/details.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/core/option_list.hpp"
#include "drover/model/model.hpp"

namespace drover {

struct Provenance {
  std::string question;  ///< "marginals", "learn", ...; also the name of the command
  std::string input;     ///< the model or data: a file's name, or whatever the caller calls it
  std::string method;
  std::string because;  ///< why this method; empty when the caller named it
  std::uint64_t seed = 1;
  double seconds = 0;
  std::vector<std::string> warnings;  ///< plain sentences
  Details options;                    ///< as they were resolved: with these the same run can be made again
  Details details;                    ///< what only this method or question has to say
};

/// How far an answer can be relied on. One function per kind of answer decides it, for tables, JSON, pages
/// and Python alike.
enum class Verdict { good, caution, bad };

template <>
struct ChoiceNames<Verdict> {
  static constexpr std::array names = {std::pair{Verdict::good, std::string_view("good")},
                                       std::pair{Verdict::caution, std::string_view("caution")},
                                       std::pair{Verdict::bad, std::string_view("bad")}};
};

struct Judgement {
  Verdict verdict = Verdict::good;
  std::string text;  ///< a plain sentence or two
};

/// Warnings take the good word back: no answer is called reliable beside them.
Judgement with_warnings(Judgement judgement, const std::vector<std::string>& warnings);

/// Names of a model's variables and states; numbers where it has none.
struct Names {
  std::vector<std::string> variables;
  std::vector<std::vector<std::string>> states;

  static Names of(const Model& model) { return {model.variable_names, model.state_names}; }
  std::string variable(VariableId v) const;
  std::string state(VariableId v, std::size_t k) const;
};

/// The members every result begins with: command, version, model, seed, settings, warnings, chosen_because.
JsonObject json_of(const Provenance& provenance);

/// The members verdict and verdict_text.
void add_judgement(const Judgement& judgement, JsonObject& object);

/// The values of the described options, `resolved` ones in the place of what was left open.
Details option_values(const OptionList& list, const Details& resolved = {});

}  // namespace drover
