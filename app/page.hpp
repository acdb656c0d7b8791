// Results as report pages (drover/report/report.hpp).
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "app/load.hpp"
#include "drover/methods/method.hpp"

namespace drover::app {

std::string marginals_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                           const MarginalsResult& result, double seconds, const std::string& result_json);
std::string map_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                     const BestStateResult& result, double seconds, const std::string& result_json);
std::string logz_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                      const LogZResult& result, double seconds, const std::string& result_json);
std::string sample_page(const Invocation& invocation, const Loaded& loaded, const Choice& choice,
                        const SampleResult& result, double seconds, const std::string& result_json);

}  // namespace drover::app
