#include "drover/report/assets.hpp"

// Each file is a pair of symbols made by the assembler: its first byte and one past its last.
#define DROVER_ASSET(function, symbol)                                                \
  extern "C" const char symbol##_begin[];                                             \
  extern "C" const char symbol##_end[];                                               \
  std::string_view drover::function() {                                               \
    return {symbol##_begin, static_cast<std::size_t>(symbol##_end - symbol##_begin)}; \
  }

DROVER_ASSET(page_html, drover_asset_page_html)
DROVER_ASSET(page_css, drover_asset_page_css)
DROVER_ASSET(page_js, drover_asset_page_js)
DROVER_ASSET(page_selftest_js, drover_asset_page_selftest_js)
DROVER_ASSET(echarts_js, drover_asset_echarts_js)
