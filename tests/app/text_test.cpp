// drover text: the contract, end to end, on the corpus the program makes itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::drover_command;
using testing::expect_error;
using testing::TemporaryFolder;

TEST(Text, ContractOnTheDemo) {
  const auto json = drover_command("text --demo --labelled-share 0.2 --sweeps 200 --json").json();
  for (const char* field : {"command", "version", "model", "seed", "warnings", "settings", "documents",
                            "labels", "probabilities", "top_words", "accuracy", "diagnostics", "seconds"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["documents"], 400);
  EXPECT_EQ(json["labels"].size(), 400U);
  EXPECT_EQ(json["probabilities"].size(), 400U);
  EXPECT_EQ(json["classes"], (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(json["labelled"], 80);
  EXPECT_GT(json["accuracy"].get<double>(), 0.7);
  EXPECT_EQ(json["top_words"]["pos"].size(), 10U);
  double documents = 0;
  for (const auto& bin : json["calibration"]) documents += bin["documents"].get<double>();
  EXPECT_EQ(documents, 320);
  // The same command again, with other threads, gives the same.
  const auto again =
      drover_command("text --demo --labelled-share 0.2 --sweeps 200 --json --threads 1").json();
  EXPECT_EQ(json["probabilities"], again["probabilities"]);
  const auto collapsed = drover_command(
                             "text --demo --labelled-share 0.2 --sweeps 200 --json --method collapsed-gibbs "
                             "--sample-pseudo-counts")
                             .json();
  EXPECT_GT(collapsed["accuracy"].get<double>(), 0.7);
  EXPECT_NE(collapsed["word_pseudo_count"].get<double>(), 1);
}

TEST(Text, FitAndPredict) {
  TemporaryFolder folder;
  ASSERT_EQ(drover_command("generate corpus --documents 600 --out " + folder.file("train.tsv")).exit_code, 0);
  ASSERT_EQ(drover_command("generate corpus --documents 200 --seed 2 --out " + folder.file("test.tsv.gz"))
                .exit_code,
            0);
  const std::string model = folder.file("m.drv");
  ASSERT_EQ(drover_command("text fit " + folder.file("train.tsv") +
                           " --quiet --stop-words english --ngrams 2 --out " + model)
                .exit_code,
            0);
  const auto json =
      drover_command("text predict " + model + " " + folder.file("test.tsv.gz") + " --json --out " +
                     folder.file("labels.tsv") + " --report " + folder.file("labels.html"))
          .json();
  EXPECT_EQ(json["documents"], 200);
  EXPECT_GT(json["accuracy"].get<double>(), 0.75);
  EXPECT_NE(testing::read_whole(folder.file("labels.html"))
                .find(fmt::format("{:.4f} on the known labels", json["accuracy"].get<double>())),
            std::string::npos);
  const std::string table = testing::read_whole(folder.file("labels.tsv"));
  EXPECT_EQ(table.rfind("document\tlabel\tP(neg)\tP(pos)\n", 0), 0U) << table.substr(0, 60);
  // Plain files are documents without label.
  const auto plain =
      drover_command("text predict " + model + " " +
                     folder.write("a", "A wonderful, moving and clever film that shines and delights.") +
                     " " + folder.write("b", "Dull, clumsy and tedious: it fails and drags.") + " --json")
          .json();
  EXPECT_EQ(plain["labels"], (std::vector<std::string>{"pos", "neg"}));
  EXPECT_FALSE(plain.contains("accuracy"));
  expect_error("text predict " + model + " " + folder.write("c.tsv", "good\tfine\n"), 65,
               "unknown label \"good\"");
  expect_error("text predict " + model, 64, "FILES is required");
  expect_error("text predict " + folder.file("train.tsv") + " " + folder.file("a"), 65,
               "expected a drover model");
  expect_error("text predict " + model + " " + folder.file("a") + " --ngrams 3", 64, "--ngrams");
  expect_error("text fit " + folder.file("train.tsv"), 64, "--out MODEL.drv");
}

TEST(Text, UnsupervisedAndManyClasses) {
  TemporaryFolder folder;
  std::string text;
  for (int d = 0; d < 60; ++d)
    text += "?\t" +
            std::string(d % 3 == 0   ? "sun sand sea swim beach"
                        : d % 3 == 1 ? "snow ski ice cold slope"
                                     : "code bug test merge build") +
            "\n";
  const auto json = drover_command("text " + folder.write("t.tsv", text) +
                                   " --classes 3 --json --sweeps 50 --method collapsed-gibbs --report " +
                                   folder.file("r.html"))
                        .json();
  EXPECT_EQ(json["classes"], (std::vector<std::string>{"class 1", "class 2", "class 3"}));
  EXPECT_FALSE(json.contains("accuracy"));
  for (std::size_t d = 3; d < 60; ++d) EXPECT_EQ(json["labels"][d], json["labels"][d % 3]);
  EXPECT_NE(testing::read_whole(folder.file("r.html")).find("Text classes"), std::string::npos);
}

TEST(Text, Errors) {
  TemporaryFolder folder;
  const std::string good = folder.write("t.tsv", "a\tx y\nb\ty z\n");
  expect_error("text", 64, "needs documents");
  expect_error("text " + good + " --demo", 64, "--demo");
  expect_error("text " + folder.file("none.tsv"), 66, "none.tsv");
  expect_error("text " + folder.write("e.tsv", ""), 65, "e.tsv: the file is empty");
  expect_error("text " + folder.write("w.tsv", "a\tx\nb\n"), 65, "w.tsv:2:1");
  expect_error("text " + folder.write("u.tsv", "a\tx\nb\tgr\xfc\xdf\n"), 65, "u.tsv:2:5");
  expect_error("text " + good + " --classes a,c", 65, "unknown label \"b\"");
  expect_error("text " + good + " --classes 1", 64, "--classes 1");
  expect_error("text " + good + " --method exact", 64, "--method exact");
  expect_error("text " + good + " --labelled-share 2", 64, "--labelled-share");
  expect_error("text " + good + " --out x.npz", 64, ".drv");
  expect_error("text " + good + " --labelled-share 0 --sweeps 5 --thin 6", 64, "--thin 6");
}

}  // namespace
}  // namespace drover
