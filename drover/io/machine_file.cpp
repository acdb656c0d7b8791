#include "drover/io/machine_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/io/model_archive.hpp"

namespace drover {

namespace {

constexpr std::uint32_t most_units = 1U << 20;

}  // namespace

void write_machine(const std::string& path, const MachineFile& file) {
  const BinaryMachine& machine = file.machine;
  ModelArchive archive{std::string(choice_name(machine.kind))};
  archive.header["visible"] = machine.visible;
  archive.header["hidden"] = machine.hidden;
  archive.header["trained"] = nlohmann::ordered_json::parse(file.trained);
  if (std::ranges::any_of(file.state_names, [](const auto& names) { return !names.empty(); }))
    archive.header["states"] = file.state_names;
  archive.add("weights", machine.weights);
  archive.add("biases", machine.biases);
  archive.add("names", file.visible_names);
  write_model_archive(path, archive);
}

MachineFile read_machine(const std::string& path, const RunControl& control) {
  const ModelArchive archive = read_model_archive(path, "", control);
  const std::string& kind = archive.kind();
  MachineFile file;
  const std::optional<MachineKind> machine_kind = choice_named<MachineKind>(kind);
  if (!machine_kind)
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}: expected a learnt ising, boltzmann or rbm model, found one of kind {}", path, kind));
  const auto visible = archive.member<std::uint32_t>("visible"),
             hidden = archive.member<std::uint32_t>("hidden");
  if (visible > most_units || hidden > most_units)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: {} visible and {} hidden variables are too many", path, visible, hidden));
  // Sizes are compared before the edges are made: a few bytes must not ask for gigabytes.
  const std::uint64_t n = std::uint64_t{visible} + hidden;
  const std::uint64_t edges =
      *machine_kind == MachineKind::rbm ? std::uint64_t{visible} * hidden : n * (n - 1) / 2;
  const std::vector<float>& weights = archive.array<float>("weights", n == 0 ? 0 : edges);
  const std::vector<float>& biases = archive.array<float>("biases", n);
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(weights.begin(), weights.end(), finite) ||
      !std::all_of(biases.begin(), biases.end(), finite))
    throw Error(ErrorKind::bad_data, path + ": expected finite weights and biases");
  file.machine = *machine_kind == MachineKind::rbm ? restricted_machine(visible, hidden)
                                                   : complete_machine(*machine_kind, visible, hidden);
  file.machine.weights = weights;
  file.machine.biases = biases;
  file.trained = archive.member<nlohmann::ordered_json>("trained").dump();
  file.visible_names = archive.array<std::string>("names", visible);
  if (archive.header.contains("states")) {
    file.state_names = archive.member<std::vector<std::vector<std::string>>>("states");
    const auto fits = [](const auto& names) {
      return names.empty() || (names.size() == 2 && names[0] != names[1]);
    };
    if (file.state_names.size() != visible || !std::ranges::all_of(file.state_names, fits))
      throw Error(ErrorKind::bad_data,
                  path + ": expected two names of states for each visible variable, or none");
  }
  return file;
}

Model model_of(const MachineFile& file) {
  Model model = to_model(file.machine);
  if (!file.visible_names.empty()) {
    model.variable_names = file.visible_names;
    // h0, h1, ..., or what none of the visible ones is called.
    std::string prefix = "h";
    const auto is_taken = [&] {
      return std::ranges::any_of(file.visible_names, [&](const std::string& name) {
        return name.starts_with(prefix) &&
               name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
      });
    };
    while (file.machine.hidden > 0 && is_taken()) prefix = prefix == "h" ? "hidden" : prefix + "_";
    for (std::uint32_t h = 0; h < file.machine.hidden; ++h)
      model.variable_names.push_back(prefix + std::to_string(h));
  }
  if (!file.state_names.empty()) {
    model.state_names = file.state_names;
    model.state_names.resize(model.variable_count());
  }
  const auto trained = nlohmann::json::parse(file.trained, nullptr, false);
  if (trained.is_object() && trained.contains("method") && trained["method"] == "pmp")
    model.warnings.emplace_back("this machine was trained with pmp: its parameters belong to that sampler");
  return model;
}

}  // namespace drover
