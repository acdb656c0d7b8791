// Learnt machines in files (.drv, see model_archive.hpp): kind ising, boltzmann or rbm.
//
// Header: visible, hidden, `trained` (a JSON object: the method, its settings and how the run ended). Arrays:
// weights (float, in the order of the edges), biases, names of the visible variables.
#pragma once

#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/model/binary_machine.hpp"

namespace drover {

struct MachineFile {
  BinaryMachine machine;
  std::vector<std::string> visible_names;
  std::vector<std::vector<std::string>> state_names;  ///< of each visible variable; empty: 0 and 1
  std::string trained = "{}";                         ///< a JSON object
};

void write_machine(const std::string& path, const MachineFile& file);

/// Raises cannot_read; bad_data for a file that is damaged or holds something else; stopped when the control
/// ends the run first.
MachineFile read_machine(const std::string& path, const RunControl& control = no_control());

/// As a model for inference and sampling: hidden variables are called h0, h1, ... (hidden0, ... where visible ones are); a
/// warning says when it was trained with a sampler its parameters belong to.
Model model_of(const MachineFile& file);

}  // namespace drover
