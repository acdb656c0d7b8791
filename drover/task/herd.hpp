// Pseudo-samples that have given moments, of a data table or of nothing but the moments:
//
//   DataTable table = read_data_table("garden.csv");
//   HerdResult result = herd(table, {.samples = 10000, .queries = {{{"rain", "1"}, {"lawn", "wet"}}}});
//
// No model is fitted (drover/herd/herding.hpp). The result has the probabilities that were asked for, how far
// the moments are reached, and the pseudo-samples, unless a sink takes them. A run that the control ends
// early gives the result so far; Error (stopped, interrupted) is raised when there is no pseudo-sample yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/herd/herding.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/evidence.hpp"
#include "drover/run/inference_options.hpp"
#include "drover/run/result.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

struct HerdOptions {
  std::uint64_t samples = 100000;
  std::optional<std::uint32_t> order{};  ///< features: singles (1), pairs too (2), triples too (3); unset: 2
  /// Groups of one to three variables, by name or number, instead of all of that order; empty: all.
  std::vector<std::vector<std::string>> features{};
  /// How moments are coded (drover/herd/features.hpp); unset: spins when all variables are binary, else
  /// cells.
  std::optional<FeatureCoding> coding{};
  HerdSearch search = HerdSearch::automatic;
  /// The probability of every list is estimated: of all its variables being in these states at once.
  std::vector<std::vector<Observation>> queries{};
  /// A column to learn from the others, from the pseudo-samples alone; it is tested on rows kept apart.
  std::string classify{};
  std::optional<std::uint64_t> test_rows{};  ///< kept apart for that; unset: a fifth
  std::uint64_t seed = 1;                    ///< of which rows are kept apart; herding itself has no chance
  std::string input{};                       ///< what the data are called; empty: the file's name
  Checkpointing checkpoint{};
};

void describe(OptionList& list, HerdOptions& options);

/// A feature that the pseudo-samples should have, and have.
struct HerdMoment {
  std::string feature;
  double asked = 0;
  double reached = 0;
};

struct HerdExpectation {
  std::string query;
  double probability = 0;      ///< in the pseudo-samples
  double in_data = not_known;  ///< in the rows that were herded
};

/// A condition that the moments of every distribution meet, and these do not.
struct HerdContradiction {
  std::string condition;
  std::vector<std::string> features;
  double excess = 0;
};

struct HerdGrowth {
  std::string feature;
  double rate = 0;  ///< of its weight, per sample
};

struct HerdClassification {
  std::string column;
  std::uint32_t classes = 0;
  std::size_t test_rows = 0;
  double error = 0;
  double majority_error = 0;  ///< of always naming the class that is most frequent in the data that is herded
};

struct HerdResult {
  Provenance provenance;
  Names names;
  std::vector<std::uint32_t> cardinalities;
  std::size_t rows = 0;  ///< of the data; 0 when only moments were given
  std::size_t dropped_rows = 0;
  std::size_t features = 0;
  HerdSearch search = HerdSearch::automatic;  ///< as it was done
  bool exact = false;                         ///< whether every maximum is one
  std::uint64_t samples = 0;
  std::vector<HerdMoment> worst;  ///< the largest errors first
  double moment_error_max = 0;
  double weight_norm = 0;
  double weight_norm_half = 0;             ///< at half the run
  std::vector<double> count_distribution;  ///< P(k ones); empty unless all variables are binary
  std::vector<double> data_count_distribution;
  double count_gap = not_known;    ///< total variation between the two
  double count_noise = not_known;  ///< what chance alone gives data of so many rows, about
  /// Three variables whose joint distribution, no moment, is furthest from the data's (herd/unasked_joints.hpp).
  std::vector<std::string> joint_variables;
  double joint_gap = not_known, joint_noise = not_known;
  std::vector<HerdExpectation> expectations;
  std::vector<HerdContradiction> contradictions;
  std::vector<HerdGrowth> growing;
  std::vector<HerdSummary::Mark> marks;
  std::optional<HerdClassification> classification;
  SearchFacts facts;
  std::vector<Value> values;  ///< (sample, variable); empty when a sink took them

  std::size_t variables() const { return cardinalities.size(); }
};

/// Takes pseudo-samples as they come.
class StateSink {
 public:
  virtual ~StateSink() = default;
  /// Before the first; the result has names and options.
  virtual void begin(const HerdResult& result) = 0;
  virtual void take(std::span<const Value> state) = 0;
};

/// Writes them to a draws file (drover/io/draws.hpp); an empty path: nowhere.
class StateFileSink : public StateSink {
 public:
  explicit StateFileSink(std::string path) : path_(std::move(path)) {}
  void begin(const HerdResult& result) override;
  void take(std::span<const Value> state) override;
  /// Completes the file, with what the run warned of.
  void finish(const HerdResult& result);

 private:
  std::string path_;
  std::unique_ptr<DrawWriter> writer_;
};

HerdResult herd(const DataTable& table, const HerdOptions& options = {},
                const RunControl& control = no_control());
HerdResult herd(const DataTable& table, const HerdOptions& options, StateSink& sink,
                const RunControl& control = no_control());
/// Variables are called x0, x1, ... Options that are about data (order, features, classify) are refused.
HerdResult herd(const Moments& moments, const HerdOptions& options = {},
                const RunControl& control = no_control());
HerdResult herd(const Moments& moments, const HerdOptions& options, StateSink& sink,
                const RunControl& control = no_control());

Judgement judge(const HerdResult& result);
JsonObject to_json(const HerdResult& result);

}  // namespace drover
