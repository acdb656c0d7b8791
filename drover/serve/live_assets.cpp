#include "drover/serve/live_assets.hpp"

#include <array>
#include <cstddef>

// Each file is a pair of symbols made by the assembler (cmake/embed.cmake): its first byte and one past its
// last.
#define DROVER_LIVE_ASSET(name)                                                       \
  extern "C" const char drover_asset_live_##name##_begin[];                           \
  extern "C" const char drover_asset_live_##name##_end[];                             \
  static std::string_view live_##name() {                                             \
    const char* begin = drover_asset_live_##name##_begin;                             \
    return {begin, static_cast<std::size_t>(drover_asset_live_##name##_end - begin)}; \
  }

DROVER_LIVE_ASSET(index_html)
DROVER_LIVE_ASSET(live_css)
DROVER_LIVE_ASSET(main_js)
DROVER_LIVE_ASSET(tools_js)
DROVER_LIVE_ASSET(network_js)
DROVER_LIVE_ASSET(panels_js)
DROVER_LIVE_ASSET(run_js)
DROVER_LIVE_ASSET(plot_js)
DROVER_LIVE_ASSET(picture_js)
DROVER_LIVE_ASSET(uplot_js)
DROVER_LIVE_ASSET(uplot_css)
DROVER_LIVE_ASSET(sprinkler_bif)

namespace drover {

std::span<const LiveAsset> live_assets() {
  constexpr std::string_view script = "application/javascript; charset=utf-8",
                             style = "text/css; charset=utf-8";
  static const std::array assets = {LiveAsset{"/", "text/html; charset=utf-8", live_index_html},
                                    LiveAsset{"/live.css", style, live_live_css},
                                    LiveAsset{"/main.js", script, live_main_js},
                                    LiveAsset{"/tools.js", script, live_tools_js},
                                    LiveAsset{"/network.js", script, live_network_js},
                                    LiveAsset{"/panels.js", script, live_panels_js},
                                    LiveAsset{"/run.js", script, live_run_js},
                                    LiveAsset{"/plot.js", script, live_plot_js},
                                    LiveAsset{"/picture.js", script, live_picture_js},
                                    LiveAsset{"/uplot.js", script, live_uplot_js},
                                    LiveAsset{"/uplot.css", style, live_uplot_css}};
  return assets;
}

std::string_view live_example_text() {
  return live_sprinkler_bif();
}

}  // namespace drover
