#include "drover/sample/herded/herded_gibbs_tables.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "drover/core/error.hpp"
#include "drover/core/parallel.hpp"
#include "drover/sample/herded/herded_gibbs_weights.hpp"

namespace drover {

namespace {

/// The values of the neighbours in a configuration: the digits of a number in mixed radix.
void digits_of(const HerdedLayout& layout, std::size_t position, std::size_t configuration, Value* y) {
  const auto near = layout.neighbours(position);
  for (std::size_t j = near.size(); j-- > 0;) {
    y[j] = static_cast<Value>(configuration % layout.states(near[j]));
    configuration /= layout.states(near[j]);
  }
}

/// Asks for pages of 2 MB before the first touch: a sweep strides through all of the tables, a tenth faster
/// so. A hint only.
void use_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = 4096;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  if (end >= begin + (std::uintptr_t{1} << 22))
    madvise(static_cast<char*>(memory) + (begin - address), end - begin, MADV_HUGEPAGE);
#endif
}

/// The configuration in which the neighbours are, all of them binary.
inline std::size_t binary_configuration(std::span<const std::uint32_t> near, const Value* values) {
  if (near.size() == 4)  // grids: no loop, and four loads at once
    return 8U * values[near[0]] + 4U * values[near[1]] + 2U * values[near[2]] + values[near[3]];
  std::size_t configuration = 0;
  for (std::uint32_t u : near) configuration = 2 * configuration + values[u];
  return configuration;
}

}  // namespace

HerdedGibbsTables::HerdedGibbsTables(const Graph& graph, HerdedSharing sharing, HerdedOptions options)
    : layout_(graph, std::move(options)),
      binary_(graph.is_binary()),
      shared_(sharing == HerdedSharing::exact) {
  const std::size_t most = shared_ ? std::size_t{1} << 16 : most_rows;
  for (std::size_t p = 0; p < size(); ++p)
    if (layout_.configurations(p) > static_cast<double>(most))
      throw Error(
          ErrorKind::misfit,
          fmt::format("the neighbours of {} have {:.3g} configurations, a table holds at most {}; use "
                      "hashed weights or bins",
                      graph.name(layout_.variable(p)), layout_.configurations(p), most));
  if (shared_) share();
  bases_.push_back(0);
  for (std::size_t p = 0; p < size(); ++p) {
    row_count_ += row_count(p);
    bases_.push_back(bases_.back() + row_count(p) * 2 * herded_weight_count(layout_.states(p)));
  }
}

std::size_t HerdedGibbsTables::row_count(std::size_t position) const {
  return shared_ ? maps_[map_of_[position]].rows : static_cast<std::size_t>(layout_.configurations(position));
}

// Sorts the configurations of a variable by their rounded log weights and cuts where they differ.
void HerdedGibbsTables::share() {
  std::map<std::vector<std::uint16_t>, std::uint32_t> known;
  std::vector<Value> y(layout_.max_degree() + 1);
  std::vector<double> logs;
  std::vector<std::size_t> order;
  std::vector<std::uint16_t> rows_of;
  map_of_.resize(size());
  for (std::size_t p = 0; p < size(); ++p) {
    const auto configurations = static_cast<std::size_t>(layout_.configurations(p));
    const std::size_t states = layout_.states(p);
    logs.resize(configurations * states);
    for (std::size_t c = 0; c < configurations; ++c) {
      double* row = logs.data() + c * states;
      digits_of(layout_, p, c, y.data());
      layout_.log_weights(p, y.data(), 1, row);
      herded_round_logs({row, states});
    }
    const auto row_of = [&](std::size_t c) { return std::span(logs).subspan(c * states, states); };
    order.resize(configurations);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(row_of(a), row_of(b));
    });
    rows_of.assign(configurations, 0);
    std::uint32_t rows = 0;
    for (std::size_t i = 0; i < configurations; ++i) {
      if (i > 0 && !std::ranges::equal(row_of(order[i - 1]), row_of(order[i]))) ++rows;
      rows_of[order[i]] = static_cast<std::uint16_t>(rows);
    }
    ++rows;
    const auto [place, added] = known.try_emplace(rows_of, static_cast<std::uint32_t>(maps_.size()));
    map_of_[p] = place->second;
    if (!added) continue;
    maps_.push_back({rows_of_.size(), representatives_.size(), rows});
    representatives_.resize(representatives_.size() + rows);
    for (std::size_t c = configurations; c-- > 0;)  // the lowest configuration of a row stays
      representatives_[maps_.back().representative + rows_of[c]] = static_cast<std::uint16_t>(c);
    rows_of_.insert(rows_of_.end(), rows_of.begin(), rows_of.end());
  }
}

// Works out the probabilities at the state's temperature, and the first weights when `fresh`.
void HerdedGibbsTables::fill(State& state, bool fresh) const {
  const Random random(state.seed, Stream::weights);
  parallel_for(IndexRange(0, size(), 256), [&](const IndexRange& range) {
    std::vector<Value> y(layout_.max_degree() + 1);
    std::vector<double> scratch(layout_.max_states());
    for (std::size_t p = range.begin(); p != range.end(); ++p) {
      const std::size_t width = herded_weight_count(layout_.states(p));
      const std::size_t rows = row_count(p);
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t c = shared_ ? representatives_[maps_[map_of_[p]].representative + r] : r;
        std::int32_t* weights = state.numbers.data() + bases_[p] + r * 2 * width;
        std::int32_t* probabilities = weights + width;
        digits_of(layout_, p, c, y.data());
        layout_.conditional(p, y.data(), state.inverse_temperature, scratch.data(), probabilities);
        if (!fresh) continue;
        if (width == 1)
          *weights = herded_start(random, state.chain, layout_.variable(p), c, *probabilities);
        else
          herded_start(random, state.chain, layout_.variable(p), c, {probabilities, width}, {weights, width});
      }
    }
  });
}

HerdedGibbsTables::State HerdedGibbsTables::start(std::uint64_t seed, std::uint32_t first_chain) const {
  State state;
  state.seed = seed;
  state.chain = first_chain;
  state.values = layout_.start(seed, first_chain);
  if (layout_.schedule() == HerdedSchedule::jacobi) state.scratch = state.values;
  state.numbers.reserve(bases_.back());
  use_large_pages(state.numbers.data(), state.numbers.capacity() * sizeof(std::int32_t));
  state.numbers.resize(bases_.back());
  fill(state, true);
  return state;
}

void HerdedGibbsTables::run(State& state, float* sums) const {
  // Variables of a range do not depend on one another: find the rows of one block and ask for them, then
  // update the block before it. A lone variable (sequential schedule) is a range of one.
  constexpr std::size_t block = 64;
  std::int32_t* const numbers = state.numbers.data();
  const auto row_of = [&](std::size_t p, const Value* from) {
    std::size_t c = binary_configuration(layout_.neighbours(p), from);
    if (shared_) c = rows_of_[maps_[map_of_[p]].rows_of + c];
    return numbers + bases_[p] + 2 * c;
  };
  const auto update = [&](std::size_t p, std::int32_t* row, Value* to) {
    to[p] = herd(row[0], row[1]);
    if (sums != nullptr) sums[layout_.entry(p)] += to[p];
  };
  const auto binary = [&](std::size_t begin, std::size_t end, const Value* from, Value* to) {
    if (end - begin == 1) return update(begin, row_of(begin, from), to);
    std::int32_t* rows[2][block];
    const std::size_t blocks = (end - begin + block - 1) / block;
    const auto first = [&](std::size_t b) { return std::min(begin + b * block, end); };
    for (std::size_t b = 0; b <= blocks; ++b) {
      if (b < blocks)
        for (std::size_t p = first(b); p < first(b + 1); ++p) {
          rows[b % 2][p - first(b)] = row_of(p, from);
          __builtin_prefetch(rows[b % 2][p - first(b)], 1);
        }
      if (b > 0)
        for (std::size_t p = first(b - 1); p < first(b); ++p)
          update(p, rows[(b - 1) % 2][p - first(b - 1)], to);
    }
  };
  const auto general = [&](std::size_t begin, std::size_t end, const Value* from, Value* to) {
    for (std::size_t p = begin; p < end; ++p) {
      std::size_t c = 0;
      for (std::uint32_t u : layout_.neighbours(p)) c = c * layout_.states(u) + from[u];
      if (shared_) c = rows_of_[maps_[map_of_[p]].rows_of + c];
      const std::size_t width = herded_weight_count(layout_.states(p));
      std::int32_t* weights = state.numbers.data() + bases_[p] + 2 * width * c;
      to[p] = width == 1 ? herd(weights[0], weights[1]) : herd({weights, width}, {weights + width, width});
      if (sums == nullptr) continue;
      if (width > 1)
        sums[layout_.entry(p) + to[p]] += 1;
      else
        sums[layout_.entry(p)] += to[p];
    }
  };
  if (binary_)
    layout_.run(state.values, state.scratch, binary);
  else
    layout_.run(state.values, state.scratch, general);
}

void HerdedGibbsTables::sweep(State& state, std::uint64_t) const {
  run(state, nullptr);
}

void HerdedGibbsTables::sweep(State& state, std::uint64_t, ConditionalSums sums) const {
  run(state, sums.sums.data());
}

void HerdedGibbsTables::read(const State& state, std::uint32_t, std::span<Value> values) const {
  layout_.read(state.values, values);
}

void HerdedGibbsTables::write(State& state, std::uint32_t, std::span<const Value> values) const {
  layout_.write(state.values, values);
}

void HerdedGibbsTables::log_scores(const State& state, std::span<double> scores) const {
  scores[0] = layout_.score(state.values);
}

void HerdedGibbsTables::set_inverse_temperatures(State& state,
                                                 std::span<const float> inverse_temperatures) const {
  if (state.inverse_temperature == inverse_temperatures[0]) return;
  state.inverse_temperature = inverse_temperatures[0];
  fill(state, false);
}

static_assert(Kernel<HerdedGibbsTables>);

}  // namespace drover
