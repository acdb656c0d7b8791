// An experiment of one of the papers, run again: its rows (the paper's value beside ours), its figures, and
// the claims that must hold. Each experiment is one file of this folder and one line of the list in
// experiment.cpp. Experiments print nothing; `drover reproduce` shows what they return.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/report/report.hpp"

namespace drover::experiments {

struct Options {
  bool quick = false;  ///< a cut-down run of about a minute that still checks the direction of each claim
  std::filesystem::path data;  ///< folder with the data sets; empty when there is none
  std::uint64_t seed = 1;
  const RunControl& control = no_control();  ///< progress; ask should_stop() between pieces of work
};

struct Row {
  std::string name;                                          ///< such as "abalone, H.XX: KL"
  std::optional<double> paper{};                             ///< the value in the paper; never ours
  double ours = 0;                                           ///< the mean over repetitions
  double spread = std::numeric_limits<double>::quiet_NaN();  ///< standard deviation over repetitions, if any
  std::string note{};                                        ///< such as "stand-in data"
};

/// What must hold here, and whether it did in this run.
struct Claim {
  std::string text;
  bool holds = false;
  bool timed = false;  ///< about seconds: hangs on the machine and its load, so that no test insists on it
};

struct Curve {
  std::string name;
  std::vector<double> x, y;
  bool points = false;  ///< dots without a line
};

struct Figure {
  std::string title{}, caption{};
  std::string x_label{}, y_label{};
  bool log_x = false, log_y = false;
  std::vector<Curve> curves{};
};

struct Outcome {
  std::vector<Row> rows;
  std::vector<Claim> claims;
  std::vector<std::string> notes;  ///< stand-in data, what was cut down: plain sentences
  std::vector<Figure> figures;
  std::vector<ReportImage> images;
  std::vector<ReportTable> tables;
  bool interrupted = false;  ///< rows hold what was finished
};

struct Experiment {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  ///< paper, table or figure
  Outcome (*run)(const Options&);
};

std::span<const Experiment> all_experiments();

/// Raises usage for an unknown name, with the nearest.
const Experiment& find_experiment(std::string_view name);

/// `name` below the data folder when it is there.
std::optional<std::filesystem::path> find_data(const Options& options, const std::filesystem::path& name);

/// The figure as a chart of the report.
ReportFigure to_report(const Figure& figure);

double mean_of(std::span<const double> values);
/// The standard deviation with n - 1 below; NaN for fewer than two values.
double deviation_of(std::span<const double> values);
/// Slope of the least-squares line through (log x, log y); points with y = 0 are left out.
double log_log_slope(std::span<const double> x, std::span<const double> y);

}  // namespace drover::experiments
