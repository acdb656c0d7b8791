#include "drover/io/atomic_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

// What a killed program left is removed by the next that writes the same file; what is in use stays.
TEST(AtomicFile, RemovesWhatKilledProgramsLeft) {
  TemporaryFolder folder;
  const std::string path = folder.file("out");
  for (const char* stale : {"out.123-0.tmp", "out.99999-17.tmp"}) std::ofstream(folder.file(stale)) << "half";
  for (const char* other : {"out.tmp", "out.a-1.tmp", "out.1-.tmp", "other.123-0.tmp", "xout.123-0.tmp"})
    std::ofstream(folder.file(other)) << "mine";
  AtomicFile first(path);
  EXPECT_EQ(folder.count(), 6U);
  AtomicFile second(path);  // the first one's file is locked
  EXPECT_EQ(folder.count(), 7U);
  first.write("first");
  first.commit();
  second.write("second");
  second.commit();
  EXPECT_EQ(read_whole(path), "second");
  EXPECT_EQ(folder.count(), 6U);
}

TEST(AtomicFile, FollowsLinksAlsoToFilesThatAreNotThereYet) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("sub"));
  std::filesystem::create_symlink("sub/b", folder.file("a"));
  std::filesystem::create_symlink("c", folder.file("sub/b"));
  write_file(folder.file("a"), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("a")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("sub/b")));
  EXPECT_EQ(read_whole(folder.file("sub/c")), "text");
}

TEST(AtomicFile, KeepsModeAndOwner) {
  TemporaryFolder folder;
  const std::string path = folder.file("out");
  write_file(path, "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chown(path.c_str(), 12, 34), 0);
  }
  write_file(path, "new");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  if (root) {
    EXPECT_EQ(status.st_uid, 12U);
    EXPECT_EQ(status.st_gid, 34U);
  }
}

TEST(AtomicFile, AppearsOnCommitOnly) {
  TemporaryFolder folder;
  const std::string path = folder.file("out");
  {
    AtomicFile file(path);
    file.write("half");
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(folder.count(), 0U);
  write_file(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
  }
  EXPECT_EQ(read_whole(path), "old");
  EXPECT_EQ(folder.count(), 1U);
  AtomicFile file(path);
  std::string expected;
  for (int k = 0; k < 200000; ++k) {
    file.write("line ");
    expected += "line ";
  }
  file.write(std::string(1000000, 'x'));
  expected += std::string(1000000, 'x');
  file.commit();
  EXPECT_EQ(read_whole(path), expected);
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, AControlThatStopsLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model.coo");
  write_file(path, "before");
  RunControl control;
  int asked = 0;
  control.stop_when([&] {
    if (++asked == 3) control.request_stop();
    return asked >= 3;
  });
  AtomicFile file(path, control);
  try {
    for (int k = 0; k < 100; ++k) file.write(std::string(100'000, 'x'));
    FAIL() << "the control was not asked";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    EXPECT_NE(std::string(error.what()).find(path + " was written"), std::string::npos) << error.what();
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(read_whole(path), "before");
  EXPECT_EQ(folder.count(), 2U);  // the temporary one goes with the object
}

TEST(AtomicFile, Gzip) {
  TemporaryFolder folder;
  const std::string path = folder.file("out.gz");
  write_file(path, "one two");
  EXPECT_EQ(read_whole(path).substr(0, 2), "\x1f\x8b");
  TextSource source(path);
  ASSERT_TRUE(source.next_token());
  ASSERT_TRUE(source.next_token());
  EXPECT_EQ(source.token(), "two");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, KeepsLinksAndModes) {
  TemporaryFolder folder;
  write_file(folder.file("real"), "a");
  chmod(folder.file("real").c_str(), 0640);
  std::filesystem::create_symlink("real", folder.file("link"));
  write_file(folder.file("link"), "b");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(read_whole(folder.file("real")), "b");
  struct stat status {};
  stat(folder.file("real").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, Unwritable) {
  TemporaryFolder folder;
  expect_error([&] { write_file(folder.file("none/out"), "x"); }, ErrorKind::cannot_write,
               {"none/out", "No such file"});
  expect_error([&] { write_file(folder.file(""), "x"); }, ErrorKind::cannot_write, {"directory"});
  EXPECT_EQ(folder.count(), 0U);
  if (std::filesystem::exists("/dev/full"))
    for (const std::string& text : {std::string("x"), std::string(10000000, 'x')})
      expect_error([&] { write_file("/dev/full", text); }, ErrorKind::cannot_write,
                   {"/dev/full", "No space"});
  write_file("/dev/null", "x");
}

}  // namespace
}  // namespace drover
