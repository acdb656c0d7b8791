#include "drover/io/atomic_file.hpp"

#include <sys/stat.h>

#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using namespace drover::testing;

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
  EXPECT_EQ(slurp(path), "old");
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
  EXPECT_EQ(slurp(path), expected);
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, Gzip) {
  TemporaryFolder folder;
  const std::string path = folder.file("out.gz");
  write_file(path, "one two");
  EXPECT_EQ(slurp(path).substr(0, 2), "\x1f\x8b");
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
  EXPECT_EQ(slurp(folder.file("real")), "b");
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
