// A machine of binary variables (drover/model/binary_machine.hpp) that is learnt from rows of zeros and ones:
//
//   DataTable rows = read_data_table("votes.csv");
//   LearnResult result = learn(rows, {.kind = MachineKind::rbm, .hidden = 50, .held_out = 0.1});
//   write_machine("votes.drv", machine_file(result));
//
// A run that the control ends early gives the machine so far; Error (stopped, interrupted) is raised when not
// a single step was made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/io/data_table.hpp"
#include "drover/machine/train.hpp"
#include "drover/model/binary_machine.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct MachineFile;

struct LearnOptions {
  MachineKind kind = MachineKind::ising;
  std::optional<std::uint32_t> hidden{};
  TrainMethod method = TrainMethod::automatic;
  std::uint64_t seed = 1;
  // Steps
  std::optional<std::uint64_t> iterations{};
  std::optional<double> epochs{};        ///< passes over the data, instead of iterations
  std::optional<std::uint32_t> batch{};  ///< rows of data per step
  std::optional<StepRule> rule{};
  std::optional<double> rate{};
  std::optional<double> decay{};
  bool no_centring = false;  ///< of the gradient, rbm by block-gibbs
  double l1 = 0;
  double l2 = 0;
  double weight_sd = 0.01;  ///< of the first weights
  // Samples of the model
  std::optional<std::uint32_t> chains{};
  std::optional<std::uint32_t> sweeps{};  ///< per step
  bool reset = false;                     ///< chains start afresh at every step
  double correlation = 0;                 ///< pmp: of the noise of one step with the next
  std::optional<double> damping{};        ///< pmp
  // Checks
  std::optional<double> held_out{};  ///< share of the rows
  std::optional<std::uint64_t> check_every{};
  std::optional<std::uint32_t> patience{};  ///< checks without a better one that end the run
  std::string input{};                      ///< what the data are called; empty: the file's name
  Checkpointing checkpoint{};
};

/// All but the kind, which commands take as an argument.
void describe(OptionList& list, LearnOptions& options);

struct LearnResult {
  Provenance provenance;  ///< its method is a TrainMethod
  BinaryMachine machine;
  std::vector<std::string> names;                     ///< of the visible variables
  std::vector<std::vector<std::string>> state_names;  ///< of each that is told by words; empty: 0 and 1
  TrainMethod method = TrainMethod::automatic;
  std::size_t rows = 0;  ///< learnt from
  std::size_t held_out_rows = 0;
  std::size_t dropped_rows = 0;
  FitSummary fit;
  std::string objective;  ///< what fit.objective is, in words
  /// Samples of the machine against rows it did not see, or of the data when none were held out: log squared
  /// MMD (diagnose/mmd.hpp). NaN when the run was interrupted.
  double log_mmd = not_known;
  /// The same of two halves of the data, for the number of rows compared, the mean over many splits by
  /// chance: what a perfect machine scores on average.
  double log_mmd_of_data = not_known;
  double pair_distance = not_known;  ///< of pair statistics, for what MMD does not see
  double pair_distance_of_data = not_known;
  bool close_to_data = false;  ///< by both measures, allowing for chance
  BitBatch samples;            ///< of the machine
  /// Mean log-likelihood per row of a restricted machine at the last check; NaN without held-out rows.
  double log_likelihood = not_known, training_log_likelihood = not_known;
  std::vector<Value> shown_rows;  ///< the first of the data, (row, variable), as many as pictures show
};

LearnResult learn(const DataTable& rows, const LearnOptions& options = {},
                  const RunControl& control = no_control());

/// What a file of the machine says (drover/io/machine_file.hpp).
MachineFile machine_file(const LearnResult& result);

Judgement judge(const LearnResult& result);
JsonObject to_json(const LearnResult& result);

}  // namespace drover
