// drover tag: the contract, end to end, on a corpus that the program makes itself.
#include <gtest/gtest.h>

#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::expect_error;
using testing::TemporaryFolder;

class Tag : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    ASSERT_EQ(drover_command("generate conll --sentences 400 --out " + file("train.conll")).exit_code, 0);
    ASSERT_EQ(
        drover_command("generate conll --sentences 200 --seed 2 --out " + file("test.conll.gz")).exit_code,
        0);
    trained_ = new CommandResult(
        drover_command("tag train " + file("train.conll") + " --json --no-skip --out " + file("model.drv")));
    ASSERT_EQ(trained_->exit_code, 0) << trained_->error;
    ASSERT_EQ(
        drover_command("tag train " + file("train.conll") + " --quiet --scheme iobes --skip --skip-data " +
                       file("test.conll.gz") + " --out " + file("skip.drv"))
            .exit_code,
        0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete trained_;
  }
  static std::string file(const std::string& name) { return folder_->file(name); }
  static std::string write(const std::string& name, const std::string& text) {
    return folder_->write(name, text);
  }

  static TemporaryFolder* folder_;
  static CommandResult* trained_;
};

TemporaryFolder* Tag::folder_ = nullptr;
CommandResult* Tag::trained_ = nullptr;

TEST_F(Tag, TrainSaysWhatItDid) {
  const auto json = trained_->json();
  for (const char* field : {"command", "version", "model", "seed", "warnings", "settings", "kind", "method",
                            "iterations", "objective_trace", "seconds", "features", "labels", "scheme"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["kind"], "crf");
  EXPECT_EQ(json["scheme"], "iobes");
  EXPECT_EQ(json["objective_trace"].size(), json["iterations"].get<std::size_t>());
  EXPECT_LT(json["objective_trace"].back().get<double>(), json["objective_trace"].front().get<double>());
  EXPECT_TRUE(json["converged"].get<bool>());
}

TEST_F(Tag, EvalScores) {
  const auto json =
      drover_command("tag eval " + file("model.drv") + " " + file("test.conll.gz") + " --json").json();
  for (const char* field : {"f1", "precision", "recall", "accuracy", "types", "method", "chosen_because"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["method"], "viterbi");
  EXPECT_GT(json["f1"].get<double>(), 0.75);
  const double p = json["precision"].get<double>(), r = json["recall"].get<double>();
  EXPECT_NEAR(json["f1"].get<double>(), 2 * p * r / (p + r), 1e-12);
  const auto skip =
      drover_command("tag eval " + file("skip.drv") + " " + file("test.conll.gz") + " --json").json();
  EXPECT_EQ(skip["method"], "max-product");
  EXPECT_GT(skip["f1"].get<double>(), json["f1"].get<double>());
  const CommandResult table = drover_command("tag eval " + file("model.drv") + " " + file("test.conll.gz"));
  EXPECT_NE(table.out.find("PER"), std::string::npos);
  // The order of score of two searches for the same maximum.
  const auto herded = drover_command("tag eval " + file("model.drv") + " " + file("test.conll.gz") +
                                     " --json --method herded-gibbs")
                          .json();
  EXPECT_LE(herded["log_score"].get<double>(), json["log_score"].get<double>() + 1e-3);
  for (const char* method : {"gibbs", "bp", "max-product"})
    EXPECT_EQ(drover_command("tag eval " + file("model.drv") + " " + file("test.conll.gz") +
                             " --json --sweeps 50 --method " + method)
                  .json()["method"],
              method);
}

TEST_F(Tag, LabelsTextAndColumns) {
  const std::string text = write("a.txt", "Mary Miller works for Globex Bank in Paris. It rained.\n");
  const CommandResult plain = drover_command("tag " + file("model.drv") + " " + text + " --json --report " +
                                             file("page.html") + " --out " + file("a.conll"));
  const auto json = plain.json();
  EXPECT_FALSE(json.contains("f1"));
  ASSERT_EQ(json["entities"].size(), 3U) << plain.out;
  EXPECT_EQ(json["entities"][0]["text"], "Mary Miller");
  EXPECT_EQ(json["entities"][0]["type"], "PER");
  EXPECT_EQ(json["entities"][2]["type"], "LOC");
  EXPECT_GT(json["entities"][0]["confidence"].get<double>(), 0.5);
  EXPECT_EQ(json["sentences"], 2);
  const std::string page = testing::read_whole(file("page.html"));
  EXPECT_NE(page.find("Globex"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  const std::string columns = testing::read_whole(file("a.conll"));
  EXPECT_EQ(columns.substr(0, columns.find('\n')).substr(0, 11), "Mary\tB-PER\t");
  // Not on a terminal: the columns, without colours.
  const CommandResult shown = drover_command("tag " + file("model.drv") + " " + text);
  EXPECT_EQ(shown.out, columns);
  // Columns without labels are labelled, columns with labels are scored as well.
  EXPECT_FALSE(
      drover_command("tag " + file("model.drv") + " " + write("b.conll", "Mary\nMiller\n") + " --json")
          .json()
          .contains("f1"));
  EXPECT_TRUE(drover_command("tag " + file("model.drv") + " " + file("test.conll.gz") + " --json")
                  .json()
                  .contains("f1"));
}

// A checkpoint belongs to what stood in the files that options name, and not to their names.
TEST_F(Tag, ACheckpointKnowsTemplatesAndLists) {
  const std::string names = write("people.txt", "mary\njohn\n");
  const std::string templates = write("t.txt", "word[0]\nword[-1]\ngazetteer[0]\nlabels\n");
  const std::string line =
      "tag train " + file("train.conll") + " --quiet --scheme iobes --iterations 4 --templates " + templates +
      " --gazetteers people=" + names + " --out " + file("c.drv") + " --checkpoint " + file("c.state");
  ASSERT_EQ(drover_command(line).exit_code, 0);
  EXPECT_EQ(drover_command(line + " --resume").exit_code, 0);
  write("people.txt", "mary\nanna\n");
  expect_error(line + " --resume", 65, "another");
  write("people.txt", "mary\njohn\n");
  EXPECT_EQ(drover_command(line + " --resume").exit_code, 0);
  write("t.txt", "word[0]\nword[1]\ngazetteer[0]\nlabels\n");
  expect_error(line + " --resume", 65, "another");
}

TEST_F(Tag, TrainingOptions) {
  const std::string names = write("people.txt", "mary\njohn\nanna\n");
  const std::string templates = write("t.txt", "word[0]\nshape[0]\ngazetteer[0]\nlabels\n");
  const auto json =
      drover_command("tag train " + file("train.conll") + " --json --held-out 0.2 --patience 3 --templates " +
                     templates + " --gazetteers people=" + names + " --scheme iobes --out " + file("m.drv"))
          .json();
  EXPECT_EQ(json["scheme"], "iobes");
  EXPECT_EQ(json["f1_trace"].size(), json["iterations"].get<std::size_t>());
  EXPECT_LE(json["best_iteration"], json["iterations"]);
  EXPECT_GT(drover_command("tag eval " + file("m.drv") + " " + file("test.conll.gz") + " --json")
                .json()["f1"]
                .get<double>(),
            0.4);
  EXPECT_EQ(drover_command("tag train " + file("train.conll") +
                           " --json --algorithm sgd --iterations 3 --out " + file("s.drv"))
                .json()["method"],
            "sgd");
  EXPECT_EQ(drover_command("tag train " + file("train.conll") + " --json --l1 1 --iterations 5 --out " +
                           file("s.drv"))
                .json()["method"],
            "owl-qn");
}

// Documents that name words again: the factors between these are worth points, without being asked for.
TEST_F(Tag, SkipFactorsWhereDocumentsRepeatWords) {
  const auto json =
      drover_command("tag train " + file("train.conll") + " --json --out " + file("usual.drv")).json();
  EXPECT_GT(json["skip_pairs"].get<std::size_t>(), 100U);
  EXPECT_EQ(json["settings"]["skip"], true);
  const auto f1 = [&](const char* model) {
    return drover_command("tag eval " + file(model) + " " + file("test.conll.gz") + " --json")
        .json()["f1"]
        .get<double>();
  };
  EXPECT_GT(f1("usual.drv"), f1("model.drv"));
  // One document, or none that repeats a word: a chain.
  const auto one = drover_command("tag train " + write("one.conll", "Mary B-PER\nruns O\n\nMary B-PER\n") +
                                  " --json --out " + file("one.drv"))
                       .json();
  EXPECT_EQ(one["skip_pairs"], 0);
  EXPECT_EQ(drover_command("tag eval " + file("one.drv") + " " + file("test.conll.gz") + " --json")
                .json()["method"],
            "viterbi");
}

TEST_F(Tag, LabelsThatTheModelDoesNotKnowAreErrorsAndNoEnd) {
  const CommandResult run = drover_command("tag eval " + file("model.drv") + " " +
                                           write("o.conll", "Mary B-PER\nx B-MISC\n") + " --json");
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(run.json()["unknown_labels"], 1);
  EXPECT_EQ(run.json()["types"]["MISC"]["truth"], 1);
  EXPECT_EQ(run.json()["types"]["MISC"]["right"], 0);
}

// Columns that no feature looks at are not needed to label plain text; two strays among IOB1 do not make it
// BIO.
TEST_F(Tag, PlainTextForModelsOfColumnsAndStrayLabels) {
  std::string columns;
  for (int k = 0; k < 40; ++k)
    columns += "Mary NNP I-PER\nsleeps VB O\n\nin IN O\nParis NNP I-LOC\n. . O\n\n";
  columns += "Oslo NNP B-LOC\n";
  const CommandResult trained =
      drover_command("tag train " + write("iob1.conll", columns) + " --json --report " +
                     file("training.html") + " --out " + file("columns.drv"));
  ASSERT_EQ(trained.exit_code, 0) << trained.error;
  EXPECT_NE(trained.json()["warnings"][0].get<std::string>().find("iob1"), std::string::npos);
  EXPECT_NE(testing::read_whole(file("training.html")).find("Tagger learnt from"), std::string::npos);
  const auto json = drover_command("tag " + file("columns.drv") + " " +
                                   write("p.txt", "Mary sleeps in Paris.\n") + " --json")
                        .json();
  ASSERT_EQ(json["entities"].size(), 2U);
  EXPECT_EQ(json["entities"][1]["type"], "LOC");
}

TEST_F(Tag, Errors) {
  const std::string out = " --out " + file("x.drv");
  expect_error("tag train " + file("none.conll") + out, 66, "none.conll");
  expect_error("tag train " + write("e.conll", "") + out, 65, "e.conll: expected at least one token");
  expect_error("tag train " + write("c.conll", "a O\nb c O\n") + out, 65, "c.conll:2: expected 2 fields");
  expect_error("tag train " + write("u.conll", "a O\n\xff O\n") + out, 65, "u.conll:2:1: expected UTF-8");
  expect_error("tag train " + write("l.conll", "a B-PER\nb PER\n") + out, 65,
               "l.conll:2: expected the label O");
  expect_error("tag train " + file("train.conll"), 64, "--out");
  expect_error("tag train " + file("train.conll") + " --out x.model", 64, ".drv");
  expect_error("tag train " + file("train.conll") + " --algorithm newton" + out, 64, "--algorithm newton");
  expect_error("tag train " + file("train.conll") + " --templates " + write("bad.txt", "wort[0]\n") + out, 65,
               "bad.txt:1:1");
  expect_error("tag train " + file("train.conll") + " --patience 3" + out, 64, "--patience");
  expect_error("tag eval " + file("model.drv") + " " + write("w.conll", "a b c O\n"), 65,
               "w.conll:1: expected 1 field");
  expect_error("tag eval " + file("model.drv"), 64, "FILE is required");
  expect_error("tag eval " + file("train.conll") + " " + file("train.conll"), 65, "train.conll");
  expect_error("tag eval " + file("skip.drv") + " " + file("test.conll.gz") + " --method viterbi", 78,
               "skip factors");
  expect_error("tag " + file("model.drv") + " " + file("test.conll.gz") + " --method best", 64,
               "--method best");
  expect_error("tag " + file("model.drv") + " " + file("test.conll.gz") + " --l2 3", 64,
               "drover tag train has it");
}

}  // namespace
}  // namespace drover
