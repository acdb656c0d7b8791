// Model files: what is written is read; whatever is damaged is refused.
#include "drover/io/model_archive.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "drover/core/error.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

ModelArchive example() {
  ModelArchive archive("text");
  archive.header["classes"] = {"neg", "pos"};
  archive.header["note"] = "two\nlines, and ünicode";
  archive.add("weights", std::vector<double>{1.5, -0.0, std::numeric_limits<double>::denorm_min()});
  archive.add("small", std::vector<float>{});
  archive.add("counts", std::vector<std::uint32_t>{1, 2, 4000000000U});
  archive.add("big", std::vector<std::uint64_t>{~std::uint64_t{0}});
  archive.add("words", std::vector<std::string>{"", "été", "a\nb", ""});
  return archive;
}

TEST(ModelArchive, RoundTrip) {
  testing::TemporaryFolder folder;
  for (const std::string name : {"m.drv", "m.drv.gz"}) {
    write_model_archive(folder.file(name), example());
    const ModelArchive read = read_model_archive(folder.file(name), "text");
    EXPECT_EQ(read.header, example().header);
    EXPECT_EQ(read.array<double>("weights", 3), example().array<double>("weights"));
    EXPECT_EQ(read.array<float>("small", 0).size(), 0U);
    EXPECT_EQ(read.array<std::uint32_t>("counts"), example().array<std::uint32_t>("counts"));
    EXPECT_EQ(read.array<std::uint64_t>("big"), example().array<std::uint64_t>("big"));
    EXPECT_EQ(read.array<std::string>("words"), example().array<std::string>("words"));
    EXPECT_EQ(read.member<std::vector<std::string>>("classes"), (std::vector<std::string>{"neg", "pos"}));
    EXPECT_EQ(read_model_archive(folder.file(name), "").kind(), "text");
    EXPECT_EQ(model_archive_bytes(read), model_archive_bytes(example()));
  }
}

template <class Call>
void expect_bad(Call call, const std::string& part) {
  try {
    call();
    FAIL() << "nothing was refused; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(ModelArchive, WrongKindsTypesAndSizes) {
  testing::TemporaryFolder folder;
  write_model_archive(folder.file("m.drv"), example());
  expect_bad([&] { read_model_archive(folder.file("m.drv"), "crf"); }, "expected a model of kind crf");
  const ModelArchive archive = example();
  expect_bad([&] { archive.array<float>("weights"); }, "unexpected type");
  expect_bad([&] { archive.array<double>("weights", 4); }, "unexpected size");
  expect_bad([&] { archive.array<double>("none"); }, "missing");
  expect_bad([&] { archive.member<int>("none"); }, "\"none\"");
  expect_bad([&] { archive.member<int>("note"); }, "\"note\"");
  expect_bad([&] { read_model_archive(folder.write("x", "MARKOV\n"), "text"); }, "expected a drover model");
  expect_bad([&] { read_model_archive(folder.write("y", "drover model 9\n{}\n"), "text"); }, "version");
  EXPECT_THROW(read_model_archive(folder.file("absent"), "text"), Error);
}

TEST(ModelArchive, EveryDamagedByteAndEveryCutIsRefused) {
  const std::string bytes = model_archive_bytes(example());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    EXPECT_THROW(parse_model_archive(damaged, "m"), Error) << at;
    EXPECT_THROW(parse_model_archive(bytes.substr(0, at), "m"), Error) << at;
  }
}

}  // namespace
}  // namespace drover
