#include "drover/io/spin_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "drover/core/archive.hpp"
#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover {

namespace {

constexpr std::uint32_t unit_size = 64;
constexpr std::uint64_t most_head = std::uint64_t{1} << 36;

/// Everything of a part but its rows. Units are called by their numbers in the whole.
struct PartHead {
  std::uint32_t parts = 0, part = 0, variables = 0;
  std::vector<std::uint32_t> colour_begin;
  std::vector<std::uint8_t> twice;
  double log_constant = 0;
  std::uint8_t moderate = 1;
  std::vector<std::uint32_t> own, duals;       ///< units, ascending
  std::vector<std::uint32_t> members, degree;  ///< of these, own ones first
  std::vector<std::uint32_t> read, read_from;  ///< units of other parts, and whose they are
  std::vector<std::uint32_t> told, told_to;    ///< own units, and who reads them

  template <class Archive>
  void visit(Archive& archive) {
    archive(parts);
    archive(part);
    archive(variables);
    archive(colour_begin);
    archive(twice);
    archive(log_constant);
    archive(moderate);
    for (auto* list : {&own, &duals, &members, &degree, &read, &read_from, &told, &told_to}) archive(*list);
  }
};

/// A variable that is drawn here, as its file has it.
struct Row {
  std::uint32_t variable = no_variable;  ///< none: another part draws it
  float bias = 0, term = 0;
  std::vector<std::uint32_t> positions;
  std::vector<float> weights;
};

std::string first_line(std::uint32_t part, std::uint32_t parts) {
  return fmt::format("drover part {} of {}\n", part, parts);
}

/// Adds up what is written.
class PartWriter {
 public:
  explicit PartWriter(const std::string& path) : file_(path) {}
  void write(std::string_view bytes) {
    sum_.add(bytes.data(), bytes.size());
    file_.write(bytes);
  }
  template <class Number>
  void number(Number value) {
    write({reinterpret_cast<const char*>(&value), sizeof(value)});
  }
  template <class Number>
  void numbers(const std::vector<Number>& values) {
    write({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number)});
  }
  void commit() {
    const std::uint64_t value = sum_.value();
    file_.write({reinterpret_cast<const char*>(&value), sizeof(value)});
    file_.commit();
  }

 private:
  AtomicFile file_;
  Checksum sum_;
};

/// Reads from front to back, a chunk at a time.
class PartReader {
 public:
  explicit PartReader(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
    if (!file_)
      throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  void read(void* to, std::size_t size) {
    if (size > 0 && std::fread(to, 1, size, file_.get()) != size) fail("it ends too soon");
    sum_.add(to, size);
  }
  template <class Number>
  Number number() {
    Number value{};
    read(&value, sizeof(value));
    return value;
  }
  std::string line() {
    std::string text;
    for (char c = 0; c != '\n' && text.size() < 100; text += c) c = number<char>();
    return text;
  }
  PartHead head() {
    const std::string line_found = line();
    if (!line_found.starts_with("drover part ")) fail("this is no part of a model");
    const auto size = number<std::uint64_t>();
    if (size > most_head) fail("its head has no possible size");
    std::string bytes;
    constexpr std::size_t chunk = std::size_t{1} << 24;  // so that a wrong size asks for no memory
    while (bytes.size() < size) {
      const std::size_t at = bytes.size(), more = std::min<std::uint64_t>(chunk, size - at);
      bytes.resize(at + more);
      read(bytes.data() + at, more);
    }
    PartHead head;
    LoadArchive archive(std::move(bytes));
    head.visit(archive);
    const std::size_t units = head.own.size() + head.duals.size();
    const std::uint32_t all = head.colour_begin.empty() ? 0 : head.colour_begin.back();
    const auto known = [&](const std::vector<std::uint32_t>& list) {
      return std::ranges::all_of(list, [&](std::uint32_t unit) { return unit < all; });
    };
    if (!archive.at_end() || head.parts == 0 || head.part >= head.parts ||
        line_found != first_line(head.part, head.parts) ||
        head.colour_begin.size() != head.twice.size() + 1 || !std::ranges::is_sorted(head.colour_begin) ||
        head.members.size() != units || head.degree.size() != units ||
        head.read.size() != head.read_from.size() || head.told.size() != head.told_to.size() ||
        !known(head.own) || !known(head.duals) || !known(head.read) || !known(head.told) ||
        std::ranges::any_of(head.members, [](std::uint32_t count) { return count > unit_size; }))
      fail("its head contradicts itself");
    return head;
  }
  /// use(lane, row) for the rows of the next unit.
  template <class Use>
  void unit(const PartHead& head, std::size_t index, bool has_terms, Use use) {
    for (std::uint32_t lane = 0; lane < head.members[index]; ++lane) {
      row_.variable = number<std::uint32_t>();
      if (row_.variable == no_variable) continue;
      row_.bias = number<float>();
      row_.term = has_terms ? number<float>() : 0.0F;
      const auto degree = number<std::uint32_t>();
      if (degree > head.degree[index]) fail("a row is longer than its unit");
      row_.positions.resize(degree);
      row_.weights.resize(degree);
      read(row_.positions.data(), degree * sizeof(std::uint32_t));
      read(row_.weights.data(), degree * sizeof(float));
      use(lane, row_);
    }
  }
  /// The checksum.
  std::uint64_t end() {
    const std::uint64_t expected = sum_.value();
    if (number<std::uint64_t>() != expected) fail("its checksum is not that of its content");
    return expected;
  }
  [[noreturn]] void fail(const char* why) const { fail_at({path_}, fmt::format("damaged: {}", why)); }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  Checksum sum_;
  Row row_;
};

}  // namespace

bool PartsLayout::is_twice(std::uint32_t unit) const {
  std::size_t c = 0;
  while (unit >= colour_begin[c + 1]) ++c;
  return twice[c] != 0;
}

std::string part_name(const std::string& folder, std::uint32_t part) {
  return fmt::format("{}{}part-{:05}", folder, folder.ends_with('/') ? "" : "/", part);
}

void write_part(const std::string& folder, const PartsLayout& layout, std::uint32_t part,
                const PartRows& rows) {
  const SpinGraph& graph = rows.graph;
  const bool has_duals = !rows.terms.empty();
  PartHead head;
  head.parts = layout.parts;
  head.part = part;
  head.variables = layout.variables;
  head.colour_begin = layout.colour_begin;
  head.twice = layout.twice;
  head.log_constant = rows.log_constant;
  std::vector<std::uint32_t> duals;  // positions, of those that this part draws
  std::set<std::pair<std::uint32_t, std::uint32_t>> read, told;
  const auto for_members = [&](std::uint32_t unit, auto see) {
    for (std::uint32_t p = unit * unit_size; p < (unit + 1) * unit_size; ++p)
      if (const std::uint32_t variable = layout.variable_at(p); variable != no_variable) see(variable);
  };
  double largest = 0;
  const auto add_unit = [&](std::uint32_t unit, bool all) {
    std::uint32_t members = 0, degree = 0;
    for_members(unit, [&](std::uint32_t variable) {
      ++members;
      if (!all && !std::ranges::binary_search(duals, layout.position_of(variable))) return;
      const std::uint32_t v = rows.here(variable);
      degree = std::max(degree, static_cast<std::uint32_t>(graph.degree(v)));
      double bound = std::abs(graph.bias[v]);
      for (float weight : graph.weights(v)) bound += std::abs(weight);
      largest = std::max(largest, bound);
    });
    head.members.push_back(members);
    head.degree.push_back(degree);
  };
  for (std::size_t c = 0; c < layout.twice.size(); ++c)
    for (std::uint32_t unit = layout.colour_begin[c]; unit < layout.colour_begin[c + 1]; ++unit) {
      if (layout.twice[c] != 0 || layout.part_of(unit) != part) continue;
      head.own.push_back(unit);
      const auto meet = [&](std::uint32_t neighbour) {
        const std::uint32_t other = layout.position_of(rows.whole(neighbour)) / unit_size;
        const std::uint32_t of = layout.part_of(other);
        if (of == part) return;
        read.insert({other, of});
        told.insert({unit, of});
      };
      for_members(unit, [&](std::uint32_t variable) {
        const std::uint32_t v = rows.here(variable);
        for (std::uint32_t neighbour : graph.neighbours(v)) {
          if (!has_duals) {
            meet(neighbour);
            continue;
          }
          duals.push_back(layout.position_of(rows.whole(neighbour)));
          for (std::uint32_t end : graph.neighbours(neighbour))
            if (end != v) meet(end);
        }
      });
      add_unit(unit, true);
    }
  std::ranges::sort(duals);
  duals.erase(std::unique(duals.begin(), duals.end()), duals.end());
  for (std::uint32_t position : duals)
    if (head.duals.empty() || head.duals.back() != position / unit_size) {
      head.duals.push_back(position / unit_size);
      add_unit(position / unit_size, false);
    }
  head.moderate = largest <= GibbsSpinChain::most_moderate ? 1 : 0;
  for (const auto& [unit, of] : read) {
    head.read.push_back(unit);
    head.read_from.push_back(of);
  }
  for (const auto& [unit, to] : told) {
    head.told.push_back(unit);
    head.told_to.push_back(to);
  }

  PartWriter file(part_name(folder, part));
  file.write(first_line(part, layout.parts));
  SaveArchive archive;
  head.visit(archive);
  file.number(static_cast<std::uint64_t>(archive.bytes().size()));
  file.write(archive.bytes());
  std::vector<std::uint32_t> positions;
  const auto write_row = [&](std::uint32_t variable, bool here) {
    file.number(here ? variable : no_variable);
    if (!here) return;
    const std::uint32_t v = rows.here(variable);
    file.number(graph.bias[v]);
    if (has_duals) file.number(rows.terms[v]);
    positions.clear();
    for (std::uint32_t neighbour : graph.neighbours(v))
      positions.push_back(layout.position_of(rows.whole(neighbour)));
    file.number(static_cast<std::uint32_t>(positions.size()));
    file.numbers(positions);
    file.write({reinterpret_cast<const char*>(graph.weights(v).data()), positions.size() * sizeof(float)});
  };
  for (std::uint32_t unit : head.own)
    for_members(unit, [&](std::uint32_t variable) { write_row(variable, true); });
  for (std::uint32_t unit : head.duals)
    for_members(unit, [&](std::uint32_t variable) {
      write_row(variable, std::ranges::binary_search(duals, layout.position_of(variable)));
    });
  file.commit();
}

PartsFolder parts_folder(const std::string& folder) {
  const PartHead head = PartReader(part_name(folder, 0)).head();
  const bool has_duals = std::ranges::find(head.twice, 1) != head.twice.end();
  return {head.parts, head.variables, static_cast<std::uint32_t>(head.twice.size()), has_duals};
}

LoadedParts load_parts(const std::string& folder, const RunControl& control) {
  const Ranks& ranks = control.ranks();
  const PartsFolder facts = parts_folder(folder);
  if (facts.parts < ranks.size())
    throw Error(ErrorKind::misfit, fmt::format("{} has {} parts, for at most as many ranks; here are {}",
                                               folder, facts.parts, ranks.size()));
  std::vector<std::uint32_t> rank_of(facts.parts);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    for (std::size_t p = part_begin(facts.parts, rank, ranks.size());
         p < part_begin(facts.parts, rank + 1, ranks.size()); ++p)
      rank_of[p] = rank;
  const std::string reading = "reading " + folder;
  LoadedParts loaded;
  std::vector<PartHead> heads;
  for (std::uint32_t p = 0; p < facts.parts; ++p) {
    if (rank_of[p] != ranks.rank()) continue;
    fail_if_stopped(control, reading);
    PartReader reader(part_name(folder, p));
    heads.push_back(reader.head());
    const PartHead& head = heads.back();
    if (head.part != p || head.parts != facts.parts || head.variables != facts.variables ||
        head.colour_begin != heads.front().colour_begin || head.twice != heads.front().twice)
      reader.fail("it belongs to another folder");
    loaded.parts.push_back(p);
  }

  // Places of the units, in the order of their numbers.
  HeldPart& held = loaded.held;
  GibbsSpinChain::Held& graph = held.graph;
  held.variables = facts.variables;
  const std::vector<std::uint32_t>& colour_begin = heads.front().colour_begin;
  held.twice.assign(heads.front().twice.begin(), heads.front().twice.end());
  for (const PartHead& head : heads)
    for (const auto* list : {&head.own, &head.duals, &head.read})
      graph.numbers.insert(graph.numbers.end(), list->begin(), list->end());
  std::ranges::sort(graph.numbers);
  graph.numbers.erase(std::unique(graph.numbers.begin(), graph.numbers.end()), graph.numbers.end());
  std::size_t last = 0;  // neighbours of neighbours are near one another
  const auto place_of = [&](std::uint32_t unit) -> std::optional<std::uint32_t> {
    if (last < graph.numbers.size() && graph.numbers[last] == unit) return static_cast<std::uint32_t>(last);
    const auto found = std::ranges::lower_bound(graph.numbers, unit);
    if (found == graph.numbers.end() || *found != unit) return std::nullopt;
    last = static_cast<std::size_t>(found - graph.numbers.begin());
    return static_cast<std::uint32_t>(last);
  };
  graph.units.assign(graph.numbers.size(), {0, 0, 0, 0, 0});
  std::vector<bool> own(graph.numbers.size(), false);
  bool moderate = true;
  for (const PartHead& head : heads) {
    std::size_t index = 0;
    for (const auto* list : {&head.own, &head.duals})
      for (std::uint32_t number : *list) {
        const std::uint32_t place = *place_of(number);
        GibbsSpinChain::Unit& unit = graph.units[place];
        unit.members = std::max(unit.members, head.members[index]);  // a damaged file may name it twice
        unit.degree = std::max(unit.degree, head.degree[index++]);
        own[place] = list == &head.own;
      }
    moderate = moderate && head.moderate != 0;
  }
  std::size_t slots = 0, runs = 0;
  for (GibbsSpinChain::Unit& unit : graph.units) {
    unit.stride = (unit.members + 15) / 16 * 16;
    unit.slots = slots;
    unit.runs = runs;
    slots += std::size_t{unit.stride} * unit.degree;
    runs += unit.degree;
  }

  // Who draws and tells what, by colour.
  held.plan.shares.resize(held.twice.size());
  held.plan.routes.resize(held.twice.size());
  const auto colour_of = [&](std::uint32_t number) {
    return static_cast<std::size_t>(std::ranges::upper_bound(colour_begin, number) - colour_begin.begin() -
                                    1);
  };
  std::vector<bool> is_told(graph.numbers.size(), false);
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>>>
      routes;
  for (const PartHead& head : heads) {
    for (std::size_t k = 0; k < head.told.size(); ++k) {
      if (head.told_to[k] >= facts.parts || !place_of(head.told[k]))
        throw Error(ErrorKind::bad_data,
                    part_name(folder, head.part) + ": damaged: it tells what it does not have");
      const std::uint32_t to = rank_of[head.told_to[k]];
      if (to == ranks.rank()) continue;
      const std::uint32_t place = *place_of(head.told[k]);
      is_told[place] = true;
      routes[{colour_of(head.told[k]), to}].first.insert(place);
    }
    for (std::size_t k = 0; k < head.read.size(); ++k) {
      if (head.read_from[k] >= facts.parts)
        throw Error(ErrorKind::bad_data,
                    part_name(folder, head.part) + ": damaged: it reads a part beyond the last");
      const std::uint32_t from = rank_of[head.read_from[k]];
      if (from != ranks.rank())
        routes[{colour_of(head.read[k]), from}].second.insert(*place_of(head.read[k]));
    }
  }
  for (auto& [where, units] : routes)
    held.plan.routes[where.first].push_back(
        {where.second, {units.first.begin(), units.first.end()}, {units.second.begin(), units.second.end()}});
  for (std::uint32_t place = 0; place < graph.numbers.size(); ++place) {
    const std::size_t colour = colour_of(graph.numbers[place]);
    const bool drawn = own[place] || (held.twice[colour] && graph.units[place].members > 0);
    if (own[place]) held.plan.own.push_back(place);
    if (drawn)
      (is_told[place] ? held.plan.shares[colour].boundary : held.plan.shares[colour].inner).push_back(place);
  }

  // The rows.
  std::size_t own_count = 0;
  for (std::uint32_t place : held.plan.own) own_count += graph.units[place].members;
  held.own_variables.reserve(own_count);
  graph.neighbours.assign(slots, 0);
  graph.weights.assign(slots, 0.0F);
  graph.bias.assign(graph.numbers.size() * unit_size, 0.0F);
  graph.entry_of.assign(graph.numbers.size() * unit_size, 0);
  if (facts.has_duals) {
    held.terms.assign(graph.numbers.size() * unit_size, 0.0F);
    held.counted.assign(graph.numbers.size(), 0);
  }
  for (const PartHead& head : heads) {
    const std::string path = part_name(folder, head.part);
    PartReader reader(path);
    reader.head();
    std::vector<std::uint32_t>& variables = loaded.variables.emplace_back();
    std::size_t index = 0;
    for (const auto* list : {&head.own, &head.duals})
      for (std::uint32_t number : *list) {
        const std::uint32_t place = *place_of(number);
        const GibbsSpinChain::Unit& unit = graph.units[place];
        reader.unit(head, index++, facts.has_duals, [&](std::uint32_t lane, const Row& row) {
          const std::size_t p = std::size_t{place} * unit_size + lane;
          graph.bias[p] = row.bias;
          for (std::size_t slot = 0; slot < row.positions.size(); ++slot) {
            const std::optional<std::uint32_t> other = place_of(row.positions[slot] / unit_size);
            if (!other) reader.fail("it reads a unit that it does not name");
            const std::size_t e = unit.slots + slot * unit.stride + lane;
            graph.neighbours[e] =
                static_cast<std::int32_t>(*other * unit_size + row.positions[slot] % unit_size);
            graph.weights[e] = row.weights[slot];
          }
          if (facts.has_duals) held.terms[p] = row.term;
          if (list == &head.own) {
            graph.entry_of[p] = row.variable;  // until all are known
            variables.push_back(row.variable);
          } else if (!row.positions.empty() && own[*place_of(row.positions[0] / unit_size)]) {
            held.counted[place] |= std::uint64_t{1} << lane;
          }
        });
        fail_if_stopped(control, reading);
      }
    Checksum sum;
    for (std::uint64_t number : {std::uint64_t{head.part}, reader.end()}) sum.add(&number, sizeof(number));
    loaded.fingerprint += sum.value();
    LoadedParts::Units& units = loaded.units.emplace_back();
    for (const auto* list : {&head.own, &head.read})
      for (std::uint32_t number : *list) {
        units.numbers.push_back(number);
        units.places.push_back(*place_of(number));
      }
    std::ranges::sort(variables);
    held.own_variables.insert(held.own_variables.end(), variables.begin(), variables.end());
  }
  std::ranges::sort(held.own_variables);
  for (std::uint32_t place : held.plan.own)
    for (std::uint32_t lane = 0; lane < graph.units[place].members; ++lane) {
      std::uint32_t& entry = graph.entry_of[std::size_t{place} * unit_size + lane];
      entry = static_cast<std::uint32_t>(std::ranges::lower_bound(held.own_variables, entry) -
                                         held.own_variables.begin());
    }

  graph.moderate = ranks.vote(moderate ? 0 : 1) == 0;
  WholeSum sum;
  for (const PartHead& head : heads) sum.add(head.log_constant);
  WholeSum::Parts sums = sum.parts();
  ranks.add_up(sums);
  graph.log_constant = WholeSum::of(sums).value();
  const std::size_t positions = graph.numbers.size() * unit_size;
  loaded.kernel_bytes =
      slots * (sizeof(std::int32_t) + 2 * sizeof(float)) + runs * sizeof(std::uint32_t) +
      positions * (2 * sizeof(float) + sizeof(std::uint32_t) + (facts.has_duals ? sizeof(float) : 0)) +
      graph.units.size() * (sizeof(GibbsSpinChain::Unit) + 16) +
      2 * held.own_variables.size() * sizeof(std::uint32_t);
  return loaded;
}

}  // namespace drover
