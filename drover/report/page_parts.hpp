// What the pages of all results share.
#pragma once

#include <string>

#include "drover/report/report.hpp"
#include "drover/task/provenance.hpp"

namespace drover {

/// "grid.uai" of "/data/grid.uai".
inline std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

inline void add_verdict(const Judgement& judgement, ReportData& page) {
  page.verdict = judgement.verdict;
  page.verdict_text = judgement.text;
}

}  // namespace drover
