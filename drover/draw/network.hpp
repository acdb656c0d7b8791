// A model as a network of boxes with bars: its arcs, the size of its boxes, and the whole as a picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/core/distributions.hpp"
#include "drover/draw/layered_layout.hpp"
#include "drover/model/model.hpp"

namespace drover {

/// Of a Bayesian network: from every parent to its child. Of any other model: one per two variables that
/// share a factor, from the lower to the higher number; these have no direction. Sorted, each once.
std::vector<Arc> arcs_of(const Model& model);

/// A box shows so many states; of a variable with more, the first ones and how many are left out.
inline constexpr std::size_t network_max_rows = 12;

/// How a box is drawn: a head with the name, a row per state with its name, bar and percentage.
struct BoxShape {
  double width = 176, head = 25, row = 16, foot = 6;
  double state_end = 80, bar_begin = 86,
         bar_end = 136;  ///< from the left edge; the figure ends at `inset` from the right
  double inset = 9;
};

/// Rows of states in the box of a variable, the one that says how many are left out included.
std::size_t box_rows(std::size_t states);
NodeSize box_size(std::size_t states, const BoxShape& shape = {});

LayeredLayout network_layout(const Model& model);

/// One <svg> element without scripts that adapts to light and dark, to stand in a page or in a file. Bars are
/// left out where `probabilities` is empty. Observed variables are marked. Meant for up to some 60 variables;
/// a larger network is large.
std::string network_svg(const Model& model, const Distributions& probabilities,
                        const Evidence& evidence = {});

/// A curve through the points of an arc, as the `d` of an SVG path.
std::string arc_curve(const std::vector<Point>& path);

/// At most so many letters (of UTF-8), the last one replaced by an ellipsis when some are left out.
std::string shortened(std::string_view text, std::size_t letters);

}  // namespace drover
