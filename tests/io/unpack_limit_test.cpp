// Compressed files that grow out of proportion are refused early, others are read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "drover/core/error.hpp"
#include "drover/io/data_table.hpp"
#include "drover/io/model_archive.hpp"
#include "drover/io/model_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/io/unpack_limit.hpp"
#include "drover/io/whole_file.hpp"

namespace drover {
namespace {

TEST(UnpackLimit, CountsOnlyBeyondWhatIsAlwaysAllowed) {
  const std::uint64_t allowed = unpacked_text.always_allowed, ratio = unpacked_text.largest_ratio;
  EXPECT_NO_THROW(check_unpacked("f", 1, allowed));
  EXPECT_THROW(check_unpacked("f", 1, allowed + 1), Error);
  EXPECT_NO_THROW(check_unpacked("f", allowed, ratio * allowed));
  EXPECT_THROW(check_unpacked("f", allowed, ratio * (allowed + 1)), Error);
  EXPECT_NO_THROW(check_unpacked("f", 1 << 20, unpacked_draws.always_allowed, unpacked_draws));
}

class Bomb : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() /
             (fmt::format("drover-bomb-{}-", getpid()) +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".uai.gz"))
                .string();
    gzFile file = gzopen(path_.c_str(), "wb1");
    // Twice what is read, so that a reader that goes on is seen.
    std::string block(1 << 20, '0');
    block.replace(0, 11, std::string("\0\0\x08\x01\x7f\xff\xff\xff", 8) + "000");
    for (int k = 0; k < 128; ++k) {
      gzwrite(file, block.data(), static_cast<unsigned>(block.size()));
      std::fill(block.begin(), block.end(), ' ');
    }
    gzclose(file);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  template <class Read>
  std::string message(const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_data);
      return error.what();
    }
    return "read";
  }

  std::string path_;
};

TEST_F(Bomb, OfText) {
  const std::string what = message([&] {
    TextSource source(path_);
    while (source.get() >= 0) {
    }
  });
  EXPECT_NE(what.find("grows out of proportion"), std::string::npos) << what;
  EXPECT_EQ(what.find(path_), 0U) << what;
}

TEST_F(Bomb, OfAnArchive) {
  EXPECT_NE(message([&] { read_whole_file(path_); }).find("grows out of proportion"), std::string::npos);
}

TEST_F(Bomb, OfATable) {
  EXPECT_NE(message([&] { read_data_table(path_, {}, no_control()); }).find("grows out of proportion"),
            std::string::npos);
}

}  // namespace
}  // namespace drover
