// Reads draws from NetCDF: drover's own files and those of ArviZ, CmdStanPy, PyMC and others that keep
// variables with dimensions chain, draw, ... in the group posterior (or in the root).
//
// HDF5 does not survive every damaged file, so the library runs in a child process (helper_process.hpp). What
// can be said without it, that the file is cut off or something else altogether, is said before.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/helper_process.hpp"
#include "drover/io/netcdf_draws_library.hpp"

namespace drover {

namespace {

// Of computing: the slowest step is 16 million numbers, 0.2 s. A damaged count can keep the library busy, or
// let it ask for gigabytes, while it opens a file of 500 bytes.
constexpr double seconds_per_step = 2, seconds_per_byte = 2e-7;
constexpr double memory_to_open = 1e8;
// No file of the usual compression (deflate) holds more than this many bytes in one.
constexpr std::size_t largest_ratio = 1032, always_allowed = 1 << 20;

/// A variable of the file with dimensions chain, draw, and any others.
struct NetcdfColumn {
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
  NetcdfFile(const std::string& path, std::size_t size)
      : netcdf_(netcdf_library()), path_(path), size_(size) {
    limit_computing(seconds_per_step + seconds_per_byte * static_cast<double>(size_));
    limit_growth(memory_to_open + 2 * static_cast<double>(size));
    check(netcdf_.nc_open(path.c_str(), NetcdfLibrary::read_only, &file_), "it");
    // From here on drover asks, and only for what the file can hold.
    limit_growth(64.0 * static_cast<double>(size * largest_ratio + always_allowed));
  }
  ~NetcdfFile() { netcdf_.nc_close(file_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  DrawFile read() {
    int group = file_;
    if (netcdf_.nc_inq_ncid(file_, "posterior", &group) != NetcdfLibrary::no_error) group = file_;
    const std::vector<NetcdfColumn> columns = find_columns(group);
    if (columns.empty()) fail_at({path_}, "expected a variable with dimensions chain and draw, found none");
    DrawFile file;
    file.chains = columns[0].extents[0];
    file.draws = columns[0].extents[1];
    std::size_t variables = 0;
    bool whole = true;
    for (const NetcdfColumn& column : columns) {
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
  /// `what` was to be read.
  void check(int code, const std::string& what) const {
    limit_computing(seconds_per_step + seconds_per_byte * static_cast<double>(size_));
    if (code == NetcdfLibrary::no_error) return;
    if (code == EACCES || code == ENOENT)
      throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path_, std::strerror(code)));
    fail_at({path_}, fmt::format("the file is damaged: the NetCDF library cannot read {} ({})", what,
                                 netcdf_.nc_strerror(code)));
  }

  /// How many numbers of so many bytes there are; refused when the file cannot hold them.
  std::size_t product(const std::string& name, const std::vector<std::size_t>& extents,
                      std::size_t bytes) const {
    const std::size_t most = size_ * largest_ratio + always_allowed;
    std::size_t count = 1;
    for (const std::size_t extent : extents) {
      if (extent != 0 && count > most / bytes / extent)
        fail_at({path_},
                fmt::format("the file is damaged: it has {} bytes, far too few for the extents of {}", size_,
                            name));
      count *= extent;
    }
    return count;
  }

  std::vector<NetcdfColumn> find_columns(int group) {
    int count = 0;
    check(netcdf_.nc_inq_varids(group, &count, nullptr), "the list of variables");
    std::vector<int> ids(static_cast<std::size_t>(std::max(0, count)));
    check(netcdf_.nc_inq_varids(group, &count, ids.data()), "the list of variables");
    std::vector<NetcdfColumn> columns;
    for (int id : ids) {
      NetcdfColumn column = describe(group, id);
      const bool numeric = column.type != NetcdfLibrary::text && column.type != NetcdfLibrary::character &&
                           column.type <= NetcdfLibrary::unsigned_whole;
      if (numeric && column.dimensions.size() >= 2 &&
          dimension_name(group, column.dimensions[0]) == "chain" &&
          dimension_name(group, column.dimensions[1]) == "draw")
        columns.push_back(std::move(column));
    }
    return columns;
  }

  NetcdfColumn describe(int group, int id) {
    NetcdfColumn column;
    char name[NetcdfLibrary::longest_name + 1] = "";
    int dimension_count = 0, dimensions[NetcdfLibrary::most_dimensions];
    check(netcdf_.nc_inq_var(group, id, name, &column.type, &dimension_count, dimensions, nullptr),
          fmt::format("variable {}", id));
    column.name = name;
    column.id = id;
    column.dimensions.assign(dimensions, dimensions + dimension_count);
    for (std::size_t d = 0; d < column.dimensions.size(); ++d) {
      std::size_t extent = 0;
      check(netcdf_.nc_inq_dim(group, column.dimensions[d], nullptr, &extent),
            "the extents of " + column.name);
      column.extents.push_back(extent);
    }
    product(column.name, column.extents, 1);
    for (std::size_t d = 2; d < column.extents.size(); ++d) column.width *= column.extents[d];
    return column;
  }

  std::string dimension_name(int group, int dimension) {
    char name[NetcdfLibrary::longest_name + 1] = "";
    check(netcdf_.nc_inq_dim(group, dimension, name, nullptr), "the name of a dimension");
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
    check(netcdf_.nc_get_vara_string(group, id, &start, &extent, texts.data()),
          "the labels of " + dimension_name(group, dimension));
    for (const char* text : texts) result.emplace_back(text == nullptr ? "" : text);
    netcdf_.nc_free_string(texts.size(), texts.data());
    return result;
  }

  void add_names(int group, const NetcdfColumn& column, std::vector<std::string>& names) {
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
  void read_columns(int group, const std::vector<NetcdfColumn>& columns, std::size_t variables,
                    DrawFile& file) {
    product("all variables together", {file.draws, file.chains, variables}, 1);
    std::vector<Item> values(file.draws * file.chains * variables), block;
    std::size_t first = 0;
    for (const NetcdfColumn& column : columns) {
      // Blocks of draws, about 16 million numbers each.
      const std::size_t row = std::max<std::size_t>(1, file.chains * column.width);
      const std::size_t step = std::max<std::size_t>(1, (1 << 24) / row);
      for (std::size_t begin = 0; begin < file.draws && column.width > 0; begin += step) {
        const std::size_t length = std::min(step, file.draws - begin);
        std::vector<std::size_t> start(column.extents.size(), 0), count = column.extents;
        start[1] = begin;
        count[1] = length;
        block.resize(length * row);
        check(get(group, column.id, start.data(), count.data(), block.data()),
              fmt::format("draws {} to {} of {}", begin, begin + length - 1, column.name));
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
    const NetcdfColumn column = describe(group, id);
    if (column.extents != std::vector{file.chains, file.draws}) return;
    std::vector<double> scores(file.chains * file.draws);
    const std::size_t start[2] = {0, 0};
    if (!scores.empty())
      check(netcdf_.nc_get_vara_double(group, id, start, column.extents.data(), scores.data()),
            "the scores of the draws");
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
    product("the metadata", {size}, 1);
    file.metadata.resize(size);
    check(netcdf_.nc_get_att_text(group, NetcdfLibrary::of_group, "metadata", file.metadata.data()),
          "the metadata");
  }

  const NetcdfLibrary& netcdf_;
  std::string path_;
  std::size_t size_;
  int file_ = 0;
};

/// The end of the data as the header of an HDF5 file states it (format specification, II.A: superblock),
/// where it is easily read: 8-byte addresses that count from the beginning of the file.
std::optional<std::uint64_t> stated_size(const std::string& header) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(header[at]); };
  const auto number = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t k = 8; k-- > 0;) value = value << 8 | byte(at + k);
    return value;
  };
  if (header.size() < 96) return std::nullopt;
  const unsigned version = byte(8);
  const std::size_t base = version == 0 ? 24 : version == 1 ? 28 : 12;
  if (version > 3 || byte(version < 2 ? 13 : 9) != 8 || number(base) != 0) return std::nullopt;
  return number(base + 16);
}

/// The size of the file. Refuses what cannot be read or is no whole NetCDF file by its first bytes.
std::size_t inspect(const std::string& path) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::cannot_read, fmt::format("cannot read {}: {}", path, why));
  };
  if (!std::filesystem::exists(status)) refuse("no such file");
  if (!std::filesystem::is_regular_file(status)) refuse("it is no regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  std::ifstream stream(path, std::ios::binary);
  if (code || !stream) refuse(std::strerror(errno));
  std::string header(96, '\0');
  stream.read(header.data(), static_cast<std::streamsize>(header.size()));
  header.resize(static_cast<std::size_t>(stream.gcount()));
  if (header.starts_with("\x89HDF\r\n\x1a\n")) {
    const std::optional<std::uint64_t> stated = stated_size(header);
    if (stated && *stated > size)
      fail_at({path}, fmt::format("the file is cut off or damaged: its header speaks of {} bytes, it has {}",
                                  *stated, size));
  } else if (!header.starts_with("CDF")) {
    fail_at({path}, "expected a NetCDF file, found neither its first bytes (CDF) nor those of HDF5");
  }
  return static_cast<std::size_t>(size);
}

void send(Channel& channel, const DrawFile& file) {
  channel.send_number(file.draws);
  channel.send_number(file.chains);
  channel.send_number(file.variable_names.size());
  for (const std::string& name : file.variable_names) channel.send_text(name);
  channel.send_number(file.values.index());
  std::visit([&](const auto& values) { channel.send_items(values); }, file.values);
  channel.send_items(file.log_scores);
  channel.send_text(file.metadata);
}

DrawFile receive(Channel& channel) {
  DrawFile file;
  file.draws = static_cast<std::size_t>(channel.receive_number());
  file.chains = static_cast<std::size_t>(channel.receive_number());
  file.variable_names.resize(static_cast<std::size_t>(channel.receive_number()));
  for (std::string& name : file.variable_names) name = channel.receive_text();
  switch (channel.receive_number()) {
    case 0:
      file.values = channel.receive_items<std::uint8_t>();
      break;
    case 1:
      file.values = channel.receive_items<std::uint16_t>();
      break;
    default:
      file.values = channel.receive_items<double>();
  }
  file.log_scores = channel.receive_items<double>();
  file.metadata = channel.receive_text();
  return file;
}

}  // namespace

DrawFile read_draws_netcdf(const std::string& path, const RunControl& control) {
  const std::size_t size = inspect(path);
  HelperProcess helper([&](Channel& channel) {
    const DrawFile file = NetcdfFile(path, size).read();
    reply_good(channel);
    send(channel, file);
  });
  StopCheck check(control, path, "was read");
  helper.while_waiting([&] { check.ask(); });
  DrawFile file;
  try {
    helper.receive([&](Channel& channel) { file = receive(channel); });
  } catch (const HelperCrashed& crash) {
    fail_at({path}, fmt::format("the file is damaged: the NetCDF library {} on it", crash.what()));
  }
  return file;
}

}  // namespace drover
