// How models get into folders of parts: laid out from the whole, or a grid or torus part by part without it.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <set>

#include "drover/compile/dual.hpp"
#include "drover/compile/lattice.hpp"
#include "drover/compile/stoppable.hpp"
#include "drover/core/error.hpp"
#include "drover/io/spin_parts.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/task/parts.hpp"

namespace drover {

namespace {

constexpr std::uint32_t unit_size = 64;

void make_folder(const std::string& folder) {
  struct stat status {};
  if (mkdir(folder.c_str(), 0777) == 0) return;
  if (errno == EEXIST && stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
  throw Error(ErrorKind::cannot_write,
              fmt::format("cannot write {}: {}", folder, std::strerror(errno == EEXIST ? ENOTDIR : errno)));
}

/// Beside the variables of dual_spin_graph(): fields, then couplings.
std::vector<float> terms_of(const SpinEdges& spins) {
  std::vector<float> terms = spins.field;
  for (const SpinEdges::Edge& edge : spins.edges) terms.push_back(edge.coupling);
  return terms;
}

/// Which units of a grid, or of a torus of even sides, hold what: the order of GibbsSpinChain (colour, degree, number) by
/// counting.
class GridPlaces {
 public:
  GridPlaces(std::uint32_t width, std::uint32_t height, bool periodic, bool duals)
      : width_(width),
        height_(height),
        periodic_(periodic),
        duals_(duals),
        pairs_(periodic ? 2 * width * height : (width - 1) * height + width * (height - 1)) {
    const std::uint32_t groups = duals ? 1 : 2;
    begin_.push_back(0);
    if (duals) begin_.push_back(units_of(pairs_));
    for (std::uint32_t group = 0; group < groups; ++group) {
      std::uint32_t all = 0;
      for (std::uint32_t degree = 2; degree <= 4; ++degree) {
        std::vector<std::uint32_t>& before = before_[group][degree - 2];
        before.push_back(all);
        for (std::uint32_t y = 0; y < height; ++y)
          before.push_back(before.back() + count_before(group, degree, y, width));
        all = before.back();
      }
      begin_.push_back(begin_.back() + units_of(all));
    }
  }

  const std::vector<std::uint32_t>& colour_begin() const { return begin_; }
  std::uint32_t position_of(std::uint32_t variable) const {
    const std::uint32_t size = width_ * height_;
    if (variable >= size) return variable - size;  // a dual
    const std::uint32_t x = variable % width_, y = variable / width_, group = group_of(x, y),
                        d = degree(x, y);
    return first_position(group) + before_[group][d - 2][y] + count_before(group, d, y, x);
  }
  std::uint32_t variable_at(std::uint32_t position) const {
    if (duals_ && position < unit_size * begin_[1])
      return position < pairs_ ? width_ * height_ + position : no_variable;
    const std::uint32_t group = !duals_ && position >= unit_size * begin_[1] ? 1 : 0;
    const std::uint32_t place = position - first_position(group);
    for (std::uint32_t d = 2; d <= 4; ++d) {
      const std::vector<std::uint32_t>& before = before_[group][d - 2];
      if (place >= before.back()) continue;
      const auto row = std::ranges::upper_bound(before, place) - before.begin() - 1;
      const auto y = static_cast<std::uint32_t>(row);
      std::uint32_t x = 0, end = width_;  // the last x with no more than `place` before it
      while (end - x > 1) {
        const std::uint32_t middle = x + (end - x) / 2;
        (before[y] + count_before(group, d, y, middle) <= place ? x : end) = middle;
      }
      return y * width_ + x;
    }
    return no_variable;
  }
  /// The number of the pair of a variable and the one to its right, or below it; around a torus the first is the
  /// leftmost, or the topmost. They stand by direction: 1, width - 1 (around), width, (height - 1) width (around).
  std::uint32_t dual_of(std::uint32_t first, std::uint32_t second) const {
    const std::uint32_t x = first % width_, y = first / width_, size = width_ * height_;
    if (second == first + 1) return size + y * (width_ - 1) + x;
    const std::uint32_t right = height_ * (width_ - 1);
    if (second - first == width_ - 1) return size + right + y;
    const std::uint32_t across = right + (periodic_ ? height_ : 0);
    return size + across + (second - first == width_ ? first : (height_ - 1) * width_ + x);
  }

 private:
  static std::uint32_t units_of(std::uint32_t variables) { return (variables + unit_size - 1) / unit_size; }
  std::uint32_t first_position(std::uint32_t group) const { return unit_size * begin_[duals_ ? 1 : group]; }
  std::uint32_t group_of(std::uint32_t x, std::uint32_t y) const { return duals_ ? 0 : (x + y) % 2; }
  bool is_border(std::uint32_t y) const { return y == 0 || y + 1 == height_; }
  std::uint32_t degree(std::uint32_t x, std::uint32_t y) const {
    return periodic_ ? 4U : 4U - (x == 0 || x + 1 == width_ ? 1U : 0U) - (is_border(y) ? 1U : 0U);
  }
  /// Those of a row with this group and degree that stand before column x.
  std::uint32_t count_before(std::uint32_t group, std::uint32_t d, std::uint32_t y, std::uint32_t x) const {
    std::uint32_t count = 0;
    for (const std::uint32_t end : {0U, width_ - 1})
      if (end < x && degree(end, y) == d && group_of(end, y) == group) ++count;
    if (degree(1, y) != d || x <= 1) return count;
    const std::uint32_t inner = std::min(x, width_ - 1) - 1;  // columns 1 .. inner
    if (duals_) return count + inner;
    return count + (group_of(1, y) == group ? (inner + 1) / 2 : inner / 2);
  }

  std::uint32_t width_, height_;
  bool periodic_, duals_;
  std::uint32_t pairs_;
  std::vector<std::uint32_t> begin_;                                 ///< units of colours
  std::array<std::array<std::vector<std::uint32_t>, 3>, 2> before_;  ///< by group, degree, row
};

std::uint32_t band_of(std::uint32_t row, std::uint32_t height, std::uint32_t parts) {
  auto part = static_cast<std::uint32_t>(static_cast<std::uint64_t>(row) * parts / height);
  while (part + 1 < parts && part_begin(height, part + 1, parts) <= row) ++part;
  while (part > 0 && part_begin(height, part, parts) > row) --part;
  return part;
}

}  // namespace

std::vector<std::uint32_t> divide_by_reach(const WorkGraph& graph, std::uint32_t parts) {
  const std::size_t units = graph.work.size();
  std::vector<std::uint32_t> order;
  std::vector<bool> reached(units, false);
  std::uint64_t all_work = 0;
  for (std::size_t root = 0; root < units; ++root) {
    all_work += graph.work[root];
    if (reached[root]) continue;
    reached[root] = true;
    std::size_t next = order.size();
    order.push_back(static_cast<std::uint32_t>(root));
    for (; next < order.size() && graph.offsets.size() == units + 1; ++next)
      for (std::size_t k = graph.offsets[order[next]]; k < graph.offsets[order[next] + 1]; ++k) {
        const std::uint32_t other = graph.neighbours[k];
        if (reached[other]) continue;
        reached[other] = true;
        order.push_back(other);
      }
  }
  std::vector<std::uint32_t> part_of(units, 0);
  std::uint64_t work = 0;
  for (std::uint32_t unit : order) {
    part_of[unit] = static_cast<std::uint32_t>(work * parts / all_work);
    work += graph.work[unit];
  }
  return part_of;
}

void write_parts(const Model& model, const std::string& folder, const PartsOptions& options,
                 const RunControl& control, const Divide& divide) {
  const Graph compiled = compile(model, {}, PairTables::recognised, control);
  if (!compiled.is_spin() || compiled.size() != model.variable_count() || compiled.size() == 0)
    throw Error(
        ErrorKind::misfit,
        "parts are of models whose variables all have two states, with strictly positive factors of one "
        "or two variables");
  const SpinGraph pairs = spin_graph(compiled, control);
  PartRows rows;
  Colouring colouring;
  PartsLayout layout;
  if (options.duals) {
    const SpinEdges spins = PrimalDualChain::edges_by_direction(pairs);
    rows.graph = dual_spin_graph(spins);
    rows.terms = terms_of(spins);
    rows.log_constant = spins.log_constant;
    colouring = PrimalDualChain::duals_then_variables(spins.size(), spins.edges.size());
    layout.twice = {1, 0};
  } else {
    rows.graph = pairs;
    rows.log_constant = pairs.log_constant;
    colouring = colour_variables(pairs.offsets, pairs.neighbour, control);
    layout.twice.assign(colouring.count(), 0);
  }
  const GibbsSpinChain::Places places = GibbsSpinChain::places(rows.graph, std::move(colouring));
  std::vector<std::uint32_t> units;
  for (std::size_t c = 0; c < layout.twice.size(); ++c)
    for (std::size_t u = places.colour_begin[c]; layout.twice[c] == 0 && u < places.colour_begin[c + 1]; ++u)
      units.push_back(static_cast<std::uint32_t>(u));
  std::vector<std::uint32_t> part_of(places.units(), 0);
  if (const auto lattice = recognise_lattice(pairs)) {
    for (std::uint32_t u : units)
      part_of[u] = band_of(static_cast<std::uint32_t>(places.variable_of[unit_size * u] / lattice->width),
                           static_cast<std::uint32_t>(lattice->height), options.parts);
  } else {
    const std::vector<std::uint32_t> parts = divide(unit_graph(pairs, places, units), options.parts);
    for (std::size_t k = 0; k < units.size(); ++k) part_of[units[k]] = parts[k];
  }
  layout.parts = options.parts;
  layout.variables = static_cast<std::uint32_t>(pairs.size());
  layout.colour_begin.assign(places.colour_begin.begin(), places.colour_begin.end());
  layout.part_of = [&](std::uint32_t unit) { return part_of[unit]; };
  layout.variable_at = [&](std::uint32_t position) { return places.variable_of[position]; };
  layout.position_of = [&](std::uint32_t variable) { return places.position_of[variable]; };
  rows.whole = rows.here = [](std::uint32_t variable) { return variable; };
  make_folder(folder);
  for (std::uint32_t part = 0; part < options.parts; ++part) {
    fail_if_stopped(control, "writing " + folder);
    write_part(folder, layout, part, rows);
    rows.log_constant = 0;  // the first has it all
  }
}

void generate_parts(const GenerateModelOptions& asked, const std::string& folder, const PartsOptions& options,
                    const RunControl& control) {
  const GenerateOptions model = generator_options(asked);
  constexpr std::uint64_t most = 1'400'000'000;  // with duals positions stay below 2^32
  const bool periodic = model.kind == GenerateKind::torus;
  if ((model.kind != GenerateKind::grid && !periodic) || model.states.value_or(2) > 2)
    throw Error(ErrorKind::usage,
                fmt::format("generate {} does not make parts by themselves: write the model to a file, and "
                            "'drover convert' it",
                            choice_name(asked.kind)));
  if (model.width < 3 || model.height < 3 || model.width > most / model.height)
    throw OptionError("width", fmt::format("{} by {}", model.width, model.height),
                      fmt::format("at least 3 by 3 and at most {} variables", most));
  if (periodic && (model.width % 2 == 1 || model.height % 2 == 1))
    throw OptionError("width", fmt::format("{} by {}", model.width, model.height),
                      "even numbers: parts of a torus are of two colours");
  const auto width = static_cast<std::uint32_t>(model.width),
             height = static_cast<std::uint32_t>(model.height);
  if (model.coupling.shape == Draw::Shape::constant && model.coupling.a == 0)
    throw OptionError("coupling", "0", "another number: a grid without pairs needs no ranks");
  const Ranks& ranks = control.ranks();
  if (ranks.is_first()) make_folder(folder);
  ranks.vote(0);  // it is there
  const GridPlaces places(width, height, periodic, options.duals);
  PartsLayout layout;
  layout.parts = options.parts;
  layout.variables = width * height;
  layout.colour_begin = places.colour_begin();
  layout.twice = options.duals ? std::vector<std::uint8_t>{1, 0} : std::vector<std::uint8_t>{0, 0};
  layout.variable_at = [&](std::uint32_t position) { return places.variable_at(position); };
  layout.position_of = [&](std::uint32_t variable) { return places.position_of(variable); };
  std::vector<std::uint32_t> part_of(layout.colour_begin.back(), 0);
  const std::uint32_t first_unit = layout.colour_begin[options.duals ? 1 : 0];
  for (std::uint32_t unit = first_unit; unit < part_of.size(); ++unit)
    part_of[unit] = band_of(places.variable_at(unit * unit_size) / width, height, options.parts);
  layout.part_of = [&](std::uint32_t unit) { return part_of[unit]; };
  for (std::uint32_t part = ranks.rank(); part < options.parts; part += ranks.size()) {
    fail_if_stopped(control, "generating");
    std::set<std::uint32_t> needed;
    for (std::uint32_t unit = first_unit; unit < part_of.size(); ++unit) {
      if (part_of[unit] != part) continue;
      for (std::uint32_t p = unit * unit_size; p < (unit + 1) * unit_size; ++p) {
        const std::uint32_t variable = places.variable_at(p);
        if (variable == no_variable) break;
        const std::uint32_t y = variable / width;
        for (const std::uint32_t row : {y + height - 1, y + height, y + height + 1})
          if (periodic || (row >= height && row < 2 * height)) needed.insert(row % height);
      }
    }
    const std::vector<std::uint32_t> list(needed.begin(), needed.end());
    const auto whole = [&](std::uint32_t variable) {
      return list[variable / width] * width + variable % width;
    };
    const auto here = [&](std::uint32_t variable) {
      const auto row = std::ranges::lower_bound(list, variable / width) - list.begin();
      return static_cast<std::uint32_t>(row) * width + variable % width;
    };
    const auto is_own = [&](std::uint32_t variable) {
      return part_of[places.position_of(whole(variable)) / unit_size] == part;
    };
    const Graph compiled =
        compile(grid_rows(width, height, periodic, list, model.coupling, model.field, model.seed));
    const SpinGraph pairs = spin_graph(compiled, control);
    PartRows rows;
    for (std::uint32_t v = 0; v < pairs.size(); ++v)
      if (is_own(v)) rows.log_constant += compiled.unary[2 * v];
    for (std::size_t k = 0; k < compiled.spin_pairs.size(); ++k)
      if (is_own(compiled.spin_pairs.first[k])) rows.log_constant += compiled.spin_pairs.couplings[k];
    if (!options.duals) {
      rows.graph = pairs;
      rows.whole = whole;
      rows.here = here;
      write_part(folder, layout, part, rows);
      continue;
    }
    const SpinEdges spins = PrimalDualChain::edges_by_direction(pairs);
    std::vector<std::uint32_t>
        numbers;  // of the duals here; ascending, as here and there they stand by direction
    for (const SpinEdges::Edge& edge : spins.edges) {
      numbers.push_back(places.dual_of(whole(edge.first), whole(edge.second)));
      if (is_own(edge.first)) rows.log_constant -= edge.coupling;
    }
    const auto size = static_cast<std::uint32_t>(pairs.size());
    rows.graph = dual_spin_graph(spins);
    rows.terms = terms_of(spins);
    rows.whole = [&](std::uint32_t variable) {
      return variable < size ? whole(variable) : numbers[variable - size];
    };
    rows.here = [&](std::uint32_t variable) {
      if (variable < width * height) return here(variable);
      return size + static_cast<std::uint32_t>(std::ranges::lower_bound(numbers, variable) - numbers.begin());
    };
    write_part(folder, layout, part, rows);
  }
  ranks.vote(0);  // all parts are there
}

}  // namespace drover
