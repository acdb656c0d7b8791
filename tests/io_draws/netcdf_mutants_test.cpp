// Damaged NetCDF files, made at random from sound ones: each is read or refused with its name and a reason,
// whatever happens inside HDF5, in bounded memory; and a disk that is full is an error, not a crash.
//
// DROVER_MUTANTS=100000 in the environment asks for so many (make mutants), instead of a few hundred.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include "drover/core/error.hpp"
#include "drover/io/draws.hpp"
#include "drover/io/netcdf_draws_library.hpp"
#include "tests/io_draws/temporary_folder.hpp"

namespace drover {
namespace {

using testing::TemporaryFolder;

std::string own_file(const TemporaryFolder& folder, int compression, std::size_t draws) {
  DrawFileHeader header;
  header.variable_names = {"a", "b", "c", "d"};
  header.evidence_names = {"e"};
  header.evidence_values = {1};
  header.chains = 3;
  header.compression = compression;
  header.metadata = "{\"seed\": 1}";
  const auto writer = make_draw_writer(folder.file("own.nc"), header);
  for (std::size_t t = 0; t < draws; ++t)
    for (std::size_t c = 0; c < 3; ++c)
      writer->append(c, std::vector<Value>{Value(t % 2), Value(t / 3 % 2), Value(c % 2), 1}, 0.5);
  writer->finish();
  return folder.read("own.nc");
}

/// As others write it: the classic format, numbers in the root.
std::string classic_file(const TemporaryFolder& folder) {
  const NetcdfLibrary& netcdf = netcdf_library();
  int file = 0, chain = 0, draw = 0, variable = 0;
  netcdf.nc_create(folder.file("classic.nc").c_str(), NetcdfLibrary::overwrite, &file);
  netcdf.nc_def_dim(file, "chain", 2, &chain);
  netcdf.nc_def_dim(file, "draw", 25, &draw);
  const int dimensions[2] = {chain, draw};
  netcdf.nc_def_var(file, "theta", NetcdfLibrary::real, 2, dimensions, &variable);
  netcdf.nc_enddef(file);
  std::vector<double> values(50);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0 / static_cast<double>(i + 1);
  const std::size_t start[2] = {0, 0}, count[2] = {2, 25};
  netcdf.nc_put_vara_double(file, variable, start, count, values.data());
  netcdf.nc_close(file);
  return folder.read("classic.nc");
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    const std::size_t changes = 1 + below(4);
    for (std::size_t k = 0; k < changes && !bytes.empty(); ++k) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

  void change(std::string& bytes) {
    const std::size_t at = below(bytes.size()), length = std::min(1 + below(16), bytes.size() - at);
    switch (below(8)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(below(256));
        break;
      case 3:
        for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(below(2) == 0 ? 0 : 0xff);
        break;
      case 4:
        if (below(4) == 0) bytes.resize(at);
        break;
      case 5:
        bytes.insert(at, length, static_cast<char>(below(256)));
        break;
      case 6:
        bytes.erase(at, length);
        break;
      default:
        bytes.replace(at, length, bytes.substr(below(bytes.size()), length));
    }
  }

  std::mt19937_64 random_;
};

TEST(NetcdfMutants, AreReadOrRefused) {
  const char* asked = std::getenv("DROVER_MUTANTS");
  const int count = asked == nullptr ? 200 : std::atoi(asked);
  const TemporaryFolder folder;
  // Loaded here once, so that the children need not.
  const std::vector<std::string> seeds = {own_file(folder, 1, 40), own_file(folder, 0, 3),
                                          classic_file(folder)};
  Mutator mutate(17);
  std::map<std::string, int> seen;
  for (int number = 0; number < count; ++number) {
    const std::string bytes = mutate(seeds[static_cast<std::size_t>(number) % seeds.size()]);
    folder.write("mutant.nc", bytes);
    try {
      const DrawFile file = read_draws(folder.file("mutant.nc"));
      ++seen["read"];
      std::visit(
          [&](const auto& values) { ASSERT_EQ(values.size(), file.draws * file.chains * file.variables()); },
          file.values);
    } catch (const Error& error) {
      const std::string message = error.what();
      ASSERT_EQ(error.kind(), ErrorKind::bad_data) << number << ": " << message;
      ASSERT_EQ(message.find(folder.file("mutant.nc")), 0U) << number << ": " << message;
      const std::size_t reason = message.find(": ") + 2;
      ++seen[message.find("library crashed") != std::string::npos ? "crashed in the child"
             : message.find("not come to an end") != std::string::npos
                 ? "endless in the child"
                 : "refused: " + message.substr(reason, 40)];
    }
  }
  for (const auto& [what, times] : seen) RecordProperty(what, times);
  for (const auto& [what, times] : seen) GTEST_LOG_(INFO) << times << " " << what;
  EXPECT_GT(seen["read"], 0);
}

TEST(NetcdfWriter, AFullDiskIsAnError) {
  const TemporaryFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {100, 5000, 20000, 60000}) {
    rlimit limit = before;
    limit.rlim_cur = room;
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string message;
    try {
      DrawFileHeader header;
      header.variable_names.assign(100, "x");
      header.chains = 8;
      header.compression = 0;
      const auto writer = make_draw_writer(folder.file("full.nc"), header);
      const std::vector<Value> x(100, 1);
      for (std::size_t t = 0; t < 5000; ++t)
        for (std::size_t c = 0; c < 8; ++c) writer->append(c, x);
      writer->finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::cannot_write);
      message = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_NE(message.find("full.nc"), std::string::npos) << room << message;
    EXPECT_NE(message.find("File too large"), std::string::npos) << room << " " << message;
    EXPECT_TRUE(std::filesystem::is_empty(folder.file(""))) << room;
  }
  std::signal(SIGXFSZ, old_handler);
}

TEST(NetcdfReader, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string bytes = own_file(folder, 1, 40);
  const auto message = [&](const std::string& content) {
    folder.write("bad.nc", content);
    try {
      read_draws(folder.file("bad.nc"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_NE(message(bytes.substr(0, bytes.size() - 1)).find("cut off"), std::string::npos);
  EXPECT_NE(message("chain,draw\n0,0\n").find("expected a NetCDF file"), std::string::npos);
  EXPECT_NE(message("").find("expected a NetCDF file"), std::string::npos);
}

}  // namespace
}  // namespace drover
