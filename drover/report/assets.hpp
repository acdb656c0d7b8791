// The files of web/ and ECharts, as embedded by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace drover::assets {

std::string_view report_html();  ///< the page, with {{marks}} to fill
std::string_view report_css();
std::string_view selftest_js();
std::string_view draw_js();
std::string_view marginals_js();
std::string_view sections_js();
std::string_view report_js();
std::string_view echarts_js();  ///< echarts.min.js of the version in package.json

}  // namespace drover::assets
