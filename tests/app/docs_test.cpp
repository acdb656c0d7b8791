// What the documentation says is what the program does.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "app/command.hpp"
#include "drover/methods/method.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

const std::string source = DROVER_SOURCE_DIR;

TEST(Docs, CommandPagesAreThoseTheCommandMakes) {
  testing::TemporaryFolder folder;
  const std::string line = source + "/tools/make_docs " + DROVER_COMMAND + " " + folder.file("made");
  ASSERT_EQ(std::system(line.c_str()), 0);
  for (const app::Command& command : app::all_commands()) {
    std::string page = "/" + command.name + ".md";
    std::ranges::replace(page, ' ', '-');
    EXPECT_EQ(testing::read_whole(source + "/docs/commands" + page),
              testing::read_whole(folder.file("made") + page))
        << "run: tools/make_docs build/bin/drover docs/commands";
  }
}

TEST(Docs, EveryMethodHasItsPage) {
  for (const Method& method : all_methods()) {
    const std::string page = source + "/docs/methods/" + std::string(method.name) + ".md";
    ASSERT_TRUE(std::filesystem::exists(page)) << page;
    EXPECT_EQ(testing::read_whole(page).rfind("# " + std::string(method.name) + "\n", 0), 0U) << page;
  }
}

TEST(Docs, ExamplesRun) {
  testing::TemporaryFolder folder;
  std::filesystem::create_directory_symlink(source + "/models", folder.file("models"));
  const std::filesystem::path programs = std::filesystem::path(DROVER_COMMAND).parent_path();
  for (const app::Command& command : app::all_commands()) {
    if (command.name == "completion" || command.name == "man" || command.name == "bench") continue;
    if (command.name == "serve") continue;  // which goes on until it is stopped
    // The experiments are not built for sanitizers.
    if (command.name == "reproduce" && !std::filesystem::exists(programs / "drover-reproduce")) continue;
    const std::string example(command.example);
    const std::string line = "cd " + folder.file("") + " && export PATH=" + programs.string() +
                             ":$PATH && { " + example + "; } > out.txt 2> error.txt";
    EXPECT_EQ(std::system(line.c_str()), 0) << example << "\n"
                                            << testing::read_whole(folder.file("error.txt"));
  }
}

}  // namespace
}  // namespace drover
