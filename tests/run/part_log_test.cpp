// Parts that are done: what was kept is recalled, whatever the end of the program left behind it in the file.
#include "drover/run/part_log.hpp"

#include <gtest/gtest.h>

#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using testing::read_whole;
using testing::TemporaryFolder;

std::string part(std::uint64_t number) {
  return std::string(10 * static_cast<std::size_t>(number), static_cast<char>('a' + number % 26));
}

TEST(PartLog, EveryCutLeavesTheWholePartsBeforeIt) {
  const TemporaryFolder folder;
  const std::string name = folder.file("log");
  std::vector<std::size_t> ends;
  {
    PartLog log({.file = name}, "a run\n", no_control());
    for (std::uint64_t k = 0; k < 5; ++k) {
      ends.push_back(read_whole(name).size());
      log.keep(4 - k, part(4 - k));
    }
  }
  const std::string whole = read_whole(name);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(name, std::ios::binary) << whole.substr(0, size);
    PartLog log({.file = name, .resume = true}, "a run\n", no_control());
    std::string bytes;
    for (std::uint64_t k = 0; k < 5; ++k) {
      const bool is_whole = k < 4 ? size >= ends[k + 1] : size == whole.size();
      ASSERT_EQ(log.recall(4 - k, bytes), is_whole) << size << " " << k;
      if (is_whole) {
        ASSERT_EQ(bytes, part(4 - k));
      } else {
        log.keep(4 - k, part(4 - k));
      }
    }
  }
  EXPECT_EQ(read_whole(name), whole);
}

TEST(PartLog, AnyCutOfAnyCheckpointCanBeBegunAnew) {
  const TemporaryFolder folder;
  const std::string name = folder.file("log");
  for (const std::string whole : {"drover parts of a run\n", "drover checkpoint a run\n12 bytes"})
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      std::ofstream(name, std::ios::binary) << whole.substr(0, size);
      PartLog log({.file = name}, "a run\n", no_control());
      ASSERT_EQ(read_whole(name), "drover parts of a run\n") << size;
    }
}

TEST(PartLog, ADamagedPartIsDoneAgain) {
  const TemporaryFolder folder;
  const std::string name = folder.file("log");
  {
    PartLog log({.file = name}, "a run\n", no_control());
    for (std::uint64_t k = 1; k < 4; ++k) log.keep(k, part(k));
  }
  std::string damaged = read_whole(name);
  damaged.back() ^= 1;
  std::ofstream(name, std::ios::binary) << damaged;
  PartLog log({.file = name, .resume = true}, "a run\n", no_control());
  std::string bytes;
  EXPECT_TRUE(log.recall(2, bytes));
  EXPECT_FALSE(log.recall(3, bytes));
}

TEST(PartLog, RefusesWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  const std::string name = folder.file("log");
  const auto kind_of = [&](bool resume, const char* run) {
    try {
      PartLog({.file = name, .resume = resume}, run, no_control());
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of(true, "a run\n"), ErrorKind::cannot_read);
  { PartLog log({.file = name}, "a run\n", no_control()); }
  EXPECT_EQ(kind_of(true, "another run\n"), ErrorKind::bad_data);
  std::ofstream(name) << "the only copy of something";
  EXPECT_EQ(kind_of(false, "a run\n"), ErrorKind::cannot_write);
  EXPECT_EQ(read_whole(name), "the only copy of something");
}

}  // namespace
}  // namespace drover
