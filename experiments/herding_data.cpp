#include "experiments/herding_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/text_source.hpp"

namespace drover::experiments {

namespace {

/// The sizes in the paper; `ones` is the share of ones.
struct Shape {
  std::string_view name;
  std::size_t variables, rows, train, test;
  double ones;
};
constexpr Shape shapes[4] = {{"bowling", 10, 298, 150, 148, 0.5},
                             {"abalone", 8, 4177, 2000, 2177, 0.5},
                             {"digits", 64, 2200, 1600, 600, 0.3},
                             {"news", 100, 16242, 10000, 6242, 0.04}};

/// Rows whose columns depend on three hidden causes; the first of these is the label in nine rows of ten.
HerdingData make_up(const Shape& shape, std::size_t rows, std::uint64_t seed) {
  HerdingData data;
  data.variables = data.inputs = shape.variables;
  data.made_up = true;
  const Random random(seed, Stream::generate);
  const double level = std::log(shape.ones / (1 - shape.ones));
  std::vector<std::array<double, 3>> effects(shape.variables);
  for (std::uint32_t v = 0; v < shape.variables; ++v)
    for (std::uint32_t c = 0; c < 3; ++c) effects[v][c] = 0.8 + 0.6 * random.normal(2, v, c);
  for (std::uint32_t r = 0; r < rows; ++r) {
    double cause[3];
    for (std::uint32_t c = 0; c < 3; ++c) cause[c] = random.uniform(1, r, c) < 0.5 ? -1 : 1;
    for (std::uint32_t v = 0; v < shape.variables; ++v) {
      double field = level;
      for (std::uint32_t c = 0; c < 3; ++c) field += effects[v][c] * cause[c];
      data.values.push_back(random.uniform(0, r, v) < 1 / (1 + std::exp(-field)) ? 1 : 0);
    }
    data.labels.push_back((cause[0] > 0) != (random.uniform(3, r, 0) < 0.1) ? 1 : 0);
  }
  return data;
}

HerdingData read_bowling(const std::filesystem::path& path) {
  const DataTable table = read_data_table(path);
  HerdingData data;
  data.variables = table.variables();
  data.inputs = table.variables() - 1;
  data.values = table.values;
  for (std::size_t r = 0; r < table.rows; ++r)
    data.labels.push_back(table.values[r * table.variables() + data.inputs]);
  return data;
}

HerdingData read_abalone(const std::filesystem::path& path) {
  const DataTable table = read_data_table(path, {.binarise = Binarise::mean});
  // The mean of M = 1, F = 2, I = 3 lies between M and F; the states are F, I, M.
  if (table.names.size() != 9 || table.state_names[0] != std::vector<std::string>{"F", "I", "M"})
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: expected sex (F, I, M), seven measurements and rings", path.string()));
  HerdingData data;
  data.variables = data.inputs = 8;
  for (std::size_t r = 0; r < table.rows; ++r) {
    const Value* row = &table.values[r * 9];
    data.values.push_back(row[0] == 2 ? 0 : 1);
    data.values.insert(data.values.end(), row + 1, row + 8);
    data.labels.push_back(row[8]);
  }
  return data;
}

/// The numbers behind the states of a table that was read without binarising.
std::vector<std::vector<double>> state_numbers(const DataTable& table) {
  std::vector<std::vector<double>> numbers;
  for (const std::vector<std::string>& states : table.state_names) {
    numbers.emplace_back();
    for (const std::string& state : states) numbers.back().push_back(std::stod(state));
  }
  return numbers;
}

HerdingData read_digits(const std::filesystem::path& folder) {
  constexpr std::size_t side = 16, half = 8;
  const DataTable images =
      read_data_table(folder / "usps11000-images-idx3-ubyte.gz", {.binarise = Binarise::none});
  const DataTable digits =
      read_data_table(folder / "usps11000-labels-idx1-ubyte.gz", {.binarise = Binarise::none});
  if (images.variables() != side * side || images.rows != digits.rows)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: expected images of 16x16 and a label for each", folder.string()));
  const auto greys = state_numbers(images), names = state_numbers(digits);
  HerdingData data;
  data.variables = data.inputs = half * half;
  for (std::size_t r = 0; r < images.rows; ++r) {
    const double digit = names[0][digits.values[r]];
    if (digit != 3 && digit != 5) continue;
    data.labels.push_back(digit == 5 ? 1 : 0);
    for (std::size_t y = 0; y < half; ++y) {
      for (std::size_t x = 0; x < half; ++x) {
        double sum = 0;
        for (std::size_t corner = 0; corner < 4; ++corner) {
          const std::size_t pixel = (2 * y + corner / 2) * side + 2 * x + corner % 2;
          sum += greys[pixel][images.values[r * side * side + pixel]];
        }
        data.values.push_back(sum / 4 > 102 ? 1 : 0);
      }
    }
  }
  return data;
}

HerdingData read_news(const std::filesystem::path& path) {
  HerdingData data;
  data.variables = data.inputs = 100;
  TextSource source(path.string());
  while (source.next_token()) {  // group, then the words that occur, to the end of the line
    data.labels.push_back(source.token_as_count("a group 1 .. 4", 4) == 1 ? 1 : 0);
    data.values.resize(data.values.size() + 100, 0);
    while (source.next_token_on_line())
      data.values[data.values.size() - 100 + source.token_as_count("a word 0 .. 99", 99)] = 1;
  }
  return data;
}

}  // namespace

std::vector<HerdingData> load_herding_data(const Options& options, std::vector<std::string>& notes) {
  using Reader = HerdingData (*)(const std::filesystem::path&);
  const std::pair<const char*, Reader> sources[4] = {{"duckpin-bowling/pins-down.csv", read_bowling},
                                                     {"abalone/abalone.csv", read_abalone},
                                                     {"usps", read_digits},
                                                     {"20news_w100/docs.txt.gz", read_news}};
  const std::size_t most_rows = options.quick ? 3000 : 100'000;  // of made-up data
  std::vector<HerdingData> all;
  for (std::size_t k = 0; k < 4; ++k) {
    const auto path = find_data(options, sources[k].first);
    HerdingData data = path ? sources[k].second(*path)
                            : make_up(shapes[k], std::min(shapes[k].rows, most_rows), options.seed + k);
    data.name = shapes[k].name;
    data.train = shapes[k].train;
    data.test = shapes[k].test;
    if (!path)
      notes.push_back(
          fmt::format("{}: no {} below --data, so rows drawn from hidden causes stand in ({} of {} "
                      "columns)",
                      data.name, sources[k].first, data.rows(), data.variables));
    else if (k == 0)
      notes.push_back("bowling: duckpin rolls stand in for the paper's games, which are lost");
    all.push_back(std::move(data));
  }
  return all;
}

}  // namespace drover::experiments
