// The UAI competition's result files: .MAR (marginals), .PR (log10 Z), .MAP (an assignment).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drover/core/distributions.hpp"
#include "drover/core/types.hpp"
#include "drover/io/text_source.hpp"

namespace drover {

/// "MAR", then the number of variables and for each its cardinality and probabilities.
void write_mar(const Distributions& marginals, const std::string& path);
std::vector<std::vector<double>> read_mar(TextSource& source);
std::vector<std::vector<double>> read_mar(const std::string& path);

/// "PR", then the logarithm of Z to base 10. Here the natural logarithm goes in and comes out.
void write_pr(double log_z, const std::string& path);
double read_pr(TextSource& source);
double read_pr(const std::string& path);

/// "MAP", then the number of variables and the value of each.
void write_map(std::span<const Value> assignment, const std::string& path);
std::vector<Value> read_map(TextSource& source);
std::vector<Value> read_map(const std::string& path);

}  // namespace drover
