// A result as one HTML page that needs nothing else: no network, no files beside it.
//
// The caller fills in ReportData with what it knows and leaves the rest empty; a section without data is
// left out of the page. Names may hold any characters: they are data, never markup.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "drover/task/provenance.hpp"

namespace drover {

struct ReportMarginal {
  std::string variable;
  std::vector<std::string> states;
  std::vector<double> probabilities;
  std::vector<double> mcse;                                ///< standard errors; empty when exact
  double rhat = std::numeric_limits<double>::quiet_NaN();  ///< NaN when there is none
  double ess = std::numeric_limits<double>::quiet_NaN();   ///< NaN when there is none
};

/// Curves over sweeps. A trace whose name starts with "R-hat" is drawn with the line at 1.01.
struct ReportTrace {
  std::string name;
  std::vector<double> sweep;
  std::vector<std::vector<double>> series;  ///< one per chain or curve, each as long as sweep
  std::vector<std::string> labels;          ///< one per series, or empty
  std::string caption{};                    ///< how to read it; empty: as a run of chains
  std::string axis{};                       ///< what sweep counts; empty: sweeps
};

struct ReportImage {
  std::string title;
  std::size_t width = 0, height = 0;
  std::vector<double> values;  ///< row-major probabilities 0..1, NaN = unknown
  bool picture = false;        ///< what it shows is black and white itself; else probabilities get colours
};

/// A plain table, such as a paper's values beside ours.
struct ReportTable {
  std::string title, caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// A chart given as an ECharts option; colours, fonts and axes follow the page where the option is silent.
struct ReportFigure {
  std::string title, caption;
  std::string option_json;
};

struct ReportData {
  std::string title;                                       ///< such as "Marginals of grid.uai"
  std::vector<std::pair<std::string, std::string>> facts;  ///< what was run: model, method, seed ...
  Verdict verdict = Verdict::good;
  std::string verdict_text;  ///< a plain sentence or two
  std::vector<std::string> warnings;
  std::vector<ReportMarginal> marginals;
  std::vector<ReportTrace> traces;                            ///< "energy", "R-hat"
  std::vector<double> autocorrelation;                        ///< of the energy, lag 0 first
  double autocorrelation_step = 1;                            ///< sweeps from one lag to the next
  std::vector<ReportImage> images;                            ///< for grids
  std::vector<std::pair<std::string, double>> slowest;        ///< the variables with the lowest ESS
  std::string result_json;                                    ///< the full result, to download from the page
  std::vector<std::pair<std::string, std::string>> evidence;  ///< observed variables and their states
  std::vector<ReportTable> tables;
  std::vector<ReportFigure> figures;
  std::string network_svg;  ///< a picture of the model, one <svg> element (drover/draw/network.hpp)
};

/// Beyond these the page shows the first ones and says so; the result file has all.
inline constexpr std::size_t report_max_variables = 100'000;
inline constexpr std::size_t report_max_probabilities = 2'000'000;
inline constexpr std::size_t report_max_trace_points = 400;  ///< per curve; longer curves are thinned
inline constexpr std::size_t report_max_curves = 64;
inline constexpr std::size_t report_max_pixels = 1'000'000;  ///< per image; larger ones are sampled
inline constexpr std::size_t report_max_result_bytes = 32u << 20;

/// The page; about 1.2 MB plus the data.
std::string render_report(const ReportData& data);

}  // namespace drover
