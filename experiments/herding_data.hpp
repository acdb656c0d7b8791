// The four data sets of the herding paper as binary tables, for herding-counts and herding-classify.
//
//   bowling   ten pins, 1 = down: `duckpin-bowling` (the paper's own 298 games are lost); label: the last pin
//   abalone   eight attributes, 1 where at least the mean, sex coded M = 1, F = 2, I = 3; label: rings
//   digits    3 and 5, 1100 each, 8x8: `usps` with 2x2 blocks averaged and set to 1 above 102; label: which
//   news      100 words of 16,242 postings: `20news_w100`; label: the first group (comp) against the others
// Where a data set is missing, rows drawn from hidden causes take its place, with its numbers of rows and
// columns and about its share of ones.
#pragma once

#include <string>
#include <vector>

#include "drover/core/types.hpp"
#include "experiments/experiment.hpp"

namespace drover::experiments {

struct HerdingData {
  std::string name;
  std::size_t variables = 0;
  std::vector<Value> values;        ///< (row, variable)
  std::vector<Value> labels;        ///< 0 or 1
  std::size_t inputs = 0;           ///< the first of the variables that a classifier may see
  std::size_t train = 0, test = 0;  ///< sizes of the splits in the paper
  bool made_up = false;             ///< not the data of that name

  std::size_t rows() const { return labels.size(); }
};

/// All four. `notes` gets a sentence for each that is a stand-in.
std::vector<HerdingData> load_herding_data(const Options& options, std::vector<std::string>& notes);

}  // namespace drover::experiments
