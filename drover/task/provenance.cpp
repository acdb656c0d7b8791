#include "drover/task/provenance.hpp"

#include "drover/core/version.hpp"

namespace drover {

Judgement with_warnings(Judgement judgement, const std::vector<std::string>& warnings) {
  if (judgement.verdict != Verdict::good || warnings.empty()) return judgement;
  judgement.verdict = Verdict::caution;
  judgement.text += warnings.size() == 1 ? " But mind the warning." : " But mind the warnings.";
  return judgement;
}

std::string Names::variable(VariableId v) const {
  return v < variables.size() ? variables[v] : std::to_string(v);
}

std::string Names::state(VariableId v, std::size_t k) const {
  return v < states.size() && k < states[v].size() ? states[v][k] : std::to_string(k);
}

JsonObject json_of(const Provenance& provenance) {
  JsonObject object;
  object.add("command", provenance.question);
  object.add("version", version());
  object.add("model", provenance.input);
  object.add("seed", provenance.seed);
  object.add("settings", provenance.options);
  object.add("warnings", provenance.warnings);
  if (!provenance.because.empty()) object.add("chosen_because", provenance.because);
  if (!provenance.method.empty()) object.add("method", provenance.method);
  return object;
}

void add_judgement(const Judgement& judgement, JsonObject& object) {
  object.add("verdict", choice_name(judgement.verdict));
  object.add("verdict_text", judgement.text);
}

Details option_values(const OptionList& list, const Details& resolved) {
  Details values;
  for (const Option& option : list.options()) {
    const Detail* settled = resolved.find(option.name);
    const Detail value = settled != nullptr ? *settled : option.value();
    const auto* text = std::get_if<std::string>(&value.value());
    if (std::holds_alternative<std::monostate>(value.value()) || (text != nullptr && text->empty())) continue;
    values[option.name] = value;
  }
  return values;
}

}  // namespace drover
