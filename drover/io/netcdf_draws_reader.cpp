// Reads draws from NetCDF: drover's own files and those of ArviZ, CmdStanPy, PyMC and others that keep
// variables with dimensions chain, draw, ... in the group posterior (or in the root).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/netcdf_draws_library.hpp"

namespace drover {

namespace {

/// A variable of the file with dimensions chain, draw, and any others.
struct Column {
  std::string name;
  int id = 0;
  NetcdfLibrary::Type type = NetcdfLibrary::real;
  std::vector<int> dimensions;
  std::vector<std::size_t> extents;
  std::size_t width = 1;  ///< numbers per chain and draw

  bool whole() const { return type == NetcdfLibrary::byte || type == NetcdfLibrary::word; }
};

class NetcdfFile {
 public:
  explicit NetcdfFile(const std::string& path) : netcdf_(netcdf_library()), path_(path) {
    if (!std::filesystem::is_regular_file(path))
      throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: no such file", path));
    check(netcdf_.nc_open(path.c_str(), NetcdfLibrary::read_only, &file_));
  }
  ~NetcdfFile() { netcdf_.nc_close(file_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  DrawFile read() {
    int group = file_;
    if (netcdf_.nc_inq_ncid(file_, "posterior", &group) != NetcdfLibrary::no_error) group = file_;
    const std::vector<Column> columns = find_columns(group);
    if (columns.empty()) fail_at({path_}, "expected a variable with dimensions chain and draw, found none");
    DrawFile file;
    file.chains = columns[0].extents[0];
    file.draws = columns[0].extents[1];
    std::size_t variables = 0;
    bool whole = true;
    for (const Column& column : columns) {
      if (column.extents[0] != file.chains || column.extents[1] != file.draws)
        fail_at({path_}, column.name + " has another number of chains or draws than " + columns[0].name);
      variables += column.width;
      whole &= column.whole();
      add_names(group, column, file.variable_names);
    }
    if (whole)
      read_columns<std::uint16_t>(group, columns, variables, file);
    else
      read_columns<double>(group, columns, variables, file);
    // The column without a name that the writer puts where there are no variables.
    if (file.variable_names == std::vector<std::string>{""}) {
      file.variable_names.clear();
      file.values = std::vector<std::uint8_t>();
    }
    read_scores(file);
    read_metadata(group, file);
    return file;
  }

 private:
  void check(int code) const {
    if (code == NetcdfLibrary::no_error) return;
    throw Error(code == EACCES || code == ENOENT ? ErrorKind::cannot_read : ErrorKind::bad_data,
                fmt::format("{}: {}", path_, netcdf_.nc_strerror(code)));
  }

  std::vector<Column> find_columns(int group) {
    int count = 0;
    check(netcdf_.nc_inq_varids(group, &count, nullptr));
    std::vector<int> ids(static_cast<std::size_t>(count));
    check(netcdf_.nc_inq_varids(group, &count, ids.data()));
    std::vector<Column> columns;
    for (int id : ids) {
      Column column = describe(group, id);
      const bool numeric = column.type != NetcdfLibrary::text && column.type != NetcdfLibrary::character &&
                           column.type <= NetcdfLibrary::unsigned_whole;
      if (numeric && column.dimensions.size() >= 2 &&
          dimension_name(group, column.dimensions[0]) == "chain" &&
          dimension_name(group, column.dimensions[1]) == "draw")
        columns.push_back(std::move(column));
    }
    return columns;
  }

  Column describe(int group, int id) {
    Column column;
    char name[NetcdfLibrary::longest_name + 1] = "";
    int dimension_count = 0, dimensions[NetcdfLibrary::most_dimensions];
    check(netcdf_.nc_inq_var(group, id, name, &column.type, &dimension_count, dimensions, nullptr));
    column.name = name;
    column.id = id;
    column.dimensions.assign(dimensions, dimensions + dimension_count);
    for (std::size_t d = 0; d < column.dimensions.size(); ++d) {
      std::size_t extent = 0;
      check(netcdf_.nc_inq_dim(group, column.dimensions[d], nullptr, &extent));
      column.extents.push_back(extent);
      if (d >= 2) column.width *= extent;
    }
    return column;
  }

  std::string dimension_name(int group, int dimension) {
    char name[NetcdfLibrary::longest_name + 1] = "";
    check(netcdf_.nc_inq_dim(group, dimension, name, nullptr));
    return name;
  }

  /// The labels of a dimension, when it has a coordinate variable of texts.
  std::vector<std::string> labels(int group, int dimension, std::size_t extent) {
    std::vector<std::string> result;
    int id = 0;
    if (netcdf_.nc_inq_varid(group, dimension_name(group, dimension).c_str(), &id) != NetcdfLibrary::no_error)
      return result;
    if (describe(group, id).type != NetcdfLibrary::text || describe(group, id).extents != std::vector{extent})
      return result;
    std::vector<char*> texts(extent, nullptr);
    const std::size_t start = 0;
    check(netcdf_.nc_get_vara_string(group, id, &start, &extent, texts.data()));
    for (const char* text : texts) result.emplace_back(text == nullptr ? "" : text);
    netcdf_.nc_free_string(texts.size(), texts.data());
    return result;
  }

  void add_names(int group, const Column& column, std::vector<std::string>& names) {
    if (column.dimensions.size() == 2) {
      names.push_back(column.name);
    } else if (column.dimensions.size() == 3) {
      const std::vector<std::string> texts = labels(group, column.dimensions[2], column.width);
      for (std::size_t i = 0; i < column.width; ++i)
        names.push_back(texts.empty()        ? fmt::format("{}[{}]", column.name, i)
                        : column.name == "x" ? texts[i]
                                             : fmt::format("{}[{}]", column.name, texts[i]));
    } else {
      for (std::size_t i = 0; i < column.width; ++i) {
        std::string index;
        for (std::size_t d = column.extents.size(), rest = i; d-- > 2; rest /= column.extents[d])
          index = fmt::format("{}{}{}", rest % column.extents[d], index.empty() ? "" : ",", index);
        names.push_back(fmt::format("{}[{}]", column.name, index));
      }
    }
  }

  int get(int group, int id, const std::size_t* start, const std::size_t* count, std::uint16_t* out) {
    return netcdf_.nc_get_vara_ushort(group, id, start, count, out);
  }
  int get(int group, int id, const std::size_t* start, const std::size_t* count, double* out) {
    return netcdf_.nc_get_vara_double(group, id, start, count, out);
  }

  template <typename Item>
  void read_columns(int group, const std::vector<Column>& columns, std::size_t variables, DrawFile& file) {
    std::vector<Item> values(file.draws * file.chains * variables), block;
    std::size_t first = 0;
    for (const Column& column : columns) {
      // Blocks of draws, about 16 million numbers each.
      const std::size_t row = std::max<std::size_t>(1, file.chains * column.width);
      const std::size_t step = std::max<std::size_t>(1, (1 << 24) / row);
      for (std::size_t begin = 0; begin < file.draws && column.width > 0; begin += step) {
        const std::size_t length = std::min(step, file.draws - begin);
        std::vector<std::size_t> start(column.extents.size(), 0), count = column.extents;
        start[1] = begin;
        count[1] = length;
        block.resize(length * row);
        check(get(group, column.id, start.data(), count.data(), block.data()));
        for (std::size_t c = 0; c < file.chains; ++c)
          for (std::size_t t = 0; t < length; ++t)
            std::copy_n(block.data() + (c * length + t) * column.width, column.width,
                        values.data() + ((begin + t) * file.chains + c) * variables + first);
      }
      first += column.width;
    }
    if constexpr (std::is_same_v<Item, double>) {
      set_values(file, std::move(values));
    } else if (std::all_of(values.begin(), values.end(), [](Item value) { return value < 256; })) {
      file.values = std::vector<std::uint8_t>(values.begin(), values.end());
    } else {
      file.values = std::move(values);
    }
  }

  void read_scores(DrawFile& file) {
    int group = 0, id = 0;
    if (netcdf_.nc_inq_ncid(file_, "sample_stats", &group) != NetcdfLibrary::no_error ||
        netcdf_.nc_inq_varid(group, "lp", &id) != NetcdfLibrary::no_error)
      return;
    const Column column = describe(group, id);
    if (column.extents != std::vector{file.chains, file.draws}) return;
    std::vector<double> scores(file.chains * file.draws);
    const std::size_t start[2] = {0, 0};
    if (!scores.empty())
      check(netcdf_.nc_get_vara_double(group, id, start, column.extents.data(), scores.data()));
    file.log_scores.resize(scores.size());
    for (std::size_t c = 0; c < file.chains; ++c)
      for (std::size_t t = 0; t < file.draws; ++t)
        file.log_scores[t * file.chains + c] = scores[c * file.draws + t];
  }

  void read_metadata(int group, DrawFile& file) {
    NetcdfLibrary::Type type = 0;
    std::size_t size = 0;
    if (netcdf_.nc_inq_att(group, NetcdfLibrary::of_group, "metadata", &type, &size) !=
            NetcdfLibrary::no_error ||
        type != NetcdfLibrary::character)
      return;
    file.metadata.resize(size);
    check(netcdf_.nc_get_att_text(group, NetcdfLibrary::of_group, "metadata", file.metadata.data()));
  }

  const NetcdfLibrary& netcdf_;
  std::string path_;
  int file_ = 0;
};

}  // namespace

DrawFile read_draws_netcdf(const std::string& path) {
  return NetcdfFile(path).read();
}

}  // namespace drover
