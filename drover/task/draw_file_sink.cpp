#include "drover/task/draw_file_sink.hpp"

namespace drover {

// Where a run was saved on the way says nothing about its draws, which are the same without.
std::string draws_metadata(const Provenance& origin, const Names& names, std::uint64_t every) {
  Provenance provenance = origin;
  provenance.options = Details();
  for (const auto& [name, value] : origin.options.entries())
    if (name != "checkpoint" && name != "checkpoint-every" && name != "resume")
      provenance.options[name] = value;
  JsonObject object = json_of(provenance);
  if (!names.states.empty()) {  // values in the file are numbers of these
    std::vector<std::string> states;
    for (const std::vector<std::string>& of_variable : names.states)
      states.push_back(json_array(of_variable));
    object.add_raw("state_names", json_list(states));
  }
  if (every > 1) object.add("every", every);
  return object.text();
}

std::vector<std::vector<std::string>> named_states(const Names& names) {
  std::vector<std::vector<std::string>> named = names.states;
  for (std::vector<std::string>& states : named) {
    bool only_numbers = true;
    for (std::size_t k = 0; k < states.size(); ++k) only_numbers &= states[k] == std::to_string(k);
    if (only_numbers) states.clear();
  }
  return named;
}

void DrawFileSink::begin(const ModelAnswer& answer) {
  DrawFileHeader header;
  header.chains = chains_ = answer.chains;
  for (std::size_t v = 0; v < answer.variables; ++v)
    header.variable_names.push_back(answer.names.variable(static_cast<VariableId>(v)));
  header.max_cardinality = answer.max_cardinality;
  for (std::size_t e = 0; e < answer.evidence.size(); ++e) {
    header.evidence_names.push_back(answer.names.variable(answer.evidence.variables[e]));
    header.evidence_values.push_back(answer.evidence.values[e]);
  }
  header.state_names = named_states(answer.names);
  header.metadata = draws_metadata(answer.provenance, answer.names);
  writer_ = make_draw_writer(path_, std::move(header));
}

void DrawFileSink::take(std::uint32_t chain, std::span<const Value> assignment, double log_score) {
  writer_->append(chain, assignment, log_score);
}

void DrawFileSink::finish(Samples& answer) {
  writer_->set_metadata(draws_metadata(answer.provenance, answer.names));  // with the warnings of the run
  writer_->finish();
  answer.draws = writer_->draws() * chains_;
}

}  // namespace drover
