// The files of web/ and ECharts, as embedded by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace drover {

std::string_view page_html();         ///< web/report.html, with {{marks}} to fill
std::string_view page_css();          ///< web/report.css
std::string_view page_js();           ///< web/report.js
std::string_view page_selftest_js();  ///< web/selftest.js
std::string_view echarts_js();        ///< echarts.min.js of the version in package.json

}  // namespace drover
