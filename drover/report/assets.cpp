#include "drover/report/assets.hpp"

// Each file is a pair of symbols made by the assembler: its first byte and one past its last.
#define DROVER_ASSET(name)                                                       \
  extern "C" const char drover_asset_##name##_begin[];                           \
  extern "C" const char drover_asset_##name##_end[];                             \
  std::string_view drover::assets::name() {                                      \
    const char* begin = drover_asset_##name##_begin;                             \
    return {begin, static_cast<std::size_t>(drover_asset_##name##_end - begin)}; \
  }

DROVER_ASSET(report_html)
DROVER_ASSET(report_css)
DROVER_ASSET(selftest_js)
DROVER_ASSET(draw_js)
DROVER_ASSET(marginals_js)
DROVER_ASSET(sections_js)
DROVER_ASSET(report_js)
DROVER_ASSET(echarts_js)
