// What happens at the edges: numbers beyond range, contradicting options, odd names, pipes, damaged files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "drover/io/draws.hpp"
#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::expect_error;
using testing::model_path;
using testing::read_whole;
using testing::TemporaryFolder;

bool warns_of_text(const nlohmann::json& json, const std::string& part) {
  return json["warnings"].dump().find(part) != std::string::npos;
}

/// Two spins and one coupling.
std::string coupled_spins(const TemporaryFolder& folder, const std::string& coupling) {
  return folder.write("spins.coo", "0 1 " + coupling + "\n");
}

TEST(EdgeCases, LogFactorsBeyondSinglePrecisionAreRefused) {
  TemporaryFolder folder;
  const std::string huge = coupled_spins(folder, "1e40");
  for (const char* method : {"gibbs", "blocked-gibbs", "tempering", "herded-gibbs"})
    expect_error("marginals " + huge + " --method " + method, 78, "1e+40");
  expect_error("logz " + huge + " --method ais", 78, "1e+40");
  expect_error("map " + huge + " --method annealed-gibbs", 78, "1e+40");
  const std::set<std::string> in_double = {"exact", "icm", "bp", "max-product", "trw", "mplp"};
  const auto info = drover_command("info " + huge + " --json").json();
  EXPECT_GT(info["methods"].size(), 20U);
  for (const auto& method : info["methods"])
    EXPECT_EQ(method["fits"], in_double.contains(method["name"])) << method.dump();
  EXPECT_NEAR(drover_command("logz " + huge + " --json").json()["log_z"].get<double>() / 1e40, 1, 1e-9);
  const auto large = drover_command("marginals " + coupled_spins(folder, "1e20") + " --json --method gibbs");
  EXPECT_EQ(large.exit_code, 0) << large.error;
}

/// A ring with an odd number of repulsive pairs: the field alone decides, P(s_0 = 1) = 2/3, and 1e16 swallows it.
TEST(EdgeCases, WhatRoundingLosesIsNotCalledExact) {
  TemporaryFolder folder;
  for (const std::string size : {"1e8", "1e16"}) {
    const std::string ring = folder.write("ring.coo", "0 1 " + size + "\n1 2 " + size + "\n2 3 " + size +
                                                          "\n3 0 -" + size + "\n0 0.34657359\n");
    const bool lost = size == "1e16";
    for (const char* question : {"marginals", "map", "sample"}) {
      const std::string out = question == std::string("sample") ? " --out " + folder.file("draws.npz") : "";
      const auto json =
          drover_command(std::string(question) + " " + ring + out + " --method exact --json").json();
      EXPECT_EQ(json["verdict"], lost ? "caution" : "good") << question << " " << size;
      EXPECT_EQ(warns_of_text(json, "rounded to steps of"), lost) << question << " " << size;
    }
    if (lost) continue;
    EXPECT_NEAR(drover_command("marginals " + ring + " --json").json()["marginals"][0][1].get<double>(),
                2.0 / 3, 1e-6);
  }
}

TEST(EdgeCases, LogZIsNeverInfinite) {
  TemporaryFolder folder;
  const std::string model = folder.write("spins.coo", "0 1 1.5e308\n1 2 1.5e308\n2 3 1.5e308\n");
  for (const char* command : {"logz", "marginals"})
    for (const char* method : {"exact", "auto"}) {
      const CommandResult result = drover_command(std::string(command) + " " + model + " --method " + method);
      EXPECT_EQ(result.exit_code, 78) << command << " " << method << " " << result.out << result.error;
    }
}

TEST(EdgeCases, DamagedCheckpointsAreRefused) {
  TemporaryFolder folder;
  const std::string file = folder.file("c");
  const std::string line = "marginals " + model_path("grid-3x3.uai") +
                           " --method gibbs --burn-in 50 --sweeps 100 --checkpoint " + file;
  ASSERT_EQ(drover_command(line).exit_code, 0);
  const std::string good = read_whole(file);
  const std::string resume = line + " --resume";
  ASSERT_EQ(drover_command(resume).exit_code, 0);
  for (std::size_t at : {good.size() - 1, good.size() / 2, good.find('\n', good.find('\n') + 1) + 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    folder.write("c", bad);
    expect_error(resume, 65, "damaged");
  }
  folder.write("c", good.substr(0, good.size() - 8));
  expect_error(resume, 65, "damaged");
  folder.write("c", good);
  expect_error("marginals " + model_path("odd-cycle.uai") +
                   " --method gibbs --burn-in 50 --resume --checkpoint " + file,
               65, "another run");
}

// The same shape, another number: the model itself is pinned.
TEST(EdgeCases, CheckpointsBelongToOneModel) {
  TemporaryFolder folder;
  const std::string one = folder.write("one.uai", "MARKOV\n1\n2\n1\n1 0\n2\n0.3 0.7\n");
  const std::string other = folder.write("other.uai", "MARKOV\n1\n2\n1\n1 0\n2\n0.4 0.6\n");
  const std::string rest = " --method gibbs --sweeps 50 --checkpoint " + folder.file("c");
  ASSERT_EQ(drover_command("marginals " + one + rest).exit_code, 0);
  expect_error("marginals " + other + rest + " --resume", 65, "another run");
}

TEST(EdgeCases, ResumedRunsKeepTheirBurnIn) {
  TemporaryFolder folder;
  for (const char* method : {"gibbs", "tempering"}) {
    const std::string line = "marginals " + model_path("grid-3x3.uai") + " --method " + method +
                             " --checkpoint " + folder.file(method);
    ASSERT_EQ(drover_command(line + " --burn-in 70 --sweeps 100").exit_code, 0);
    const CommandResult other = drover_command(line + " --burn-in 90 --sweeps 200 --resume");
    EXPECT_NE(other.exit_code, 0);
    const CommandResult same = drover_command(line + " --burn-in 70 --sweeps 200 --resume --json");
    ASSERT_EQ(same.exit_code, 0) << same.error;
    EXPECT_EQ(same.json()["burn_in"], 70);
    EXPECT_EQ(same.json()["sweeps"], 200);
  }
  expect_error("marginals " + model_path("grid-3x3.uai") +
                   " --method gibbs --burn-in 90 --resume --checkpoint " + folder.file("gibbs"),
               64, "burn-in");
}

TEST(EdgeCases, ExactInferenceStops) {
  TemporaryFolder folder;
  const std::string model = folder.file("grid.uai");
  ASSERT_EQ(drover_command("generate grid --width 14 --coupling-sd 1 --out " + model).exit_code, 0);
  for (const char* command : {"logz", "marginals", "map", "sample --out d.csv"})
    expect_error(std::string(command) + " " + model + " --method exact --time 0.000001", 75,
                 "the time limit came before");
}

TEST(EdgeCases, TuningAndPilotsStop) {
  expect_error(
      "marginals " + model_path("grid-3x3.uai") + " --method tempering --burn-in 1000000000 --time 0.3", 75,
      "the time limit came before");
  expect_error("logz " + model_path("grid-3x3.uai") + " --method ais --sweeps 1000000000000 --time 0.3", 75,
               "the time limit came before");
  const CommandResult map = drover_command("map " + model_path("grid-3x3.uai") +
                                           " --json --method annealed-gibbs --sweeps 1000000000000 --time 2");
  ASSERT_EQ(map.exit_code, 0) << map.error;
  EXPECT_LT(map.json()["seconds"], 60);
}

TEST(EdgeCases, InterruptedWithoutResultExitsWith130) {
  TemporaryFolder folder;
  const std::string line = "timeout --preserve-status -s INT 5 " + std::string(DROVER_COMMAND) + " logz " +
                           model_path("grid-3x3.uai") + " --method ais --sweeps 1000000000000 2> " +
                           folder.file("err");
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 130);
  EXPECT_NE(read_whole(folder.file("err")).find("interrupted before annealed importance sampling"),
            std::string::npos);
}

TEST(EdgeCases, ResumedSamplesAreAppended) {
  TemporaryFolder folder;
  for (const char* ending : {".npz", ".csv", ".csv.gz", ".nc"}) {
    const std::string line =
        "sample " + model_path("grid-3x3.uai") + " --method gibbs --chains 4 --burn-in 20 --json";
    const std::string out = folder.file(std::string("part") + ending);
    const std::string whole = folder.file(std::string("whole") + ending);
    const std::string checkpoint = " --checkpoint " + folder.file(std::string("c") + ending);
    ASSERT_EQ(drover_command(line + " --samples 200 --out " + whole).exit_code, 0);
    ASSERT_EQ(drover_command(line + " --samples 120 --out " + out + checkpoint).exit_code, 0);
    const CommandResult resumed = drover_command(line + " --samples 200 --resume --out " + out + checkpoint);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.error;
    EXPECT_EQ(resumed.json()["draws"], 200);
    const DrawFile a = read_draws(whole), b = read_draws(out);
    EXPECT_EQ(a.draws, 50U);
    EXPECT_EQ(a.values, b.values) << ending;
    EXPECT_EQ(a.log_scores, b.log_scores) << ending;
    EXPECT_EQ(read_whole(whole), read_whole(out)) << ending << ": the same bits";
    // Into another file, which is then whole too: the draws belong to the checkpoint.
    const std::string elsewhere = folder.file(std::string("new") + ending);
    ASSERT_EQ(drover_command(line + " --samples 40 --out " + elsewhere + checkpoint).exit_code, 0);
    ASSERT_EQ(drover_command(line + " --samples 200 --resume --out " + elsewhere + checkpoint).exit_code, 0);
    EXPECT_EQ(read_whole(whole), read_whole(elsewhere)) << ending;
  }
}

TEST(EdgeCases, DrawsOfAnotherRunAreRefused) {
  TemporaryFolder folder;
  const std::string line = "sample " + model_path("grid-3x3.uai") +
                           " --method gibbs --chains 4 --burn-in 20 --out " + folder.file("x.npz");
  const std::string a = folder.file("a"), b = folder.file("b");
  ASSERT_EQ(drover_command(line + " --samples 120 --checkpoint " + a).exit_code, 0);
  ASSERT_EQ(drover_command(line + " --seed 2 --samples 120 --checkpoint " + b).exit_code, 0);
  ASSERT_EQ(drover_command(line + " --samples 200 --resume --checkpoint " + a).exit_code, 0);
  std::filesystem::copy_file(b + ".draws", a + ".draws", std::filesystem::copy_options::overwrite_existing);
  expect_error(line + " --samples 200 --resume --checkpoint " + a, 65, "not the draws of the checkpoint");
  std::filesystem::remove(a + ".draws");
  expect_error(line + " --samples 200 --resume --checkpoint " + a, 66, "holds the draws of the checkpoint");
  // What has the name of the draws and is none of ours stays as it is.
  std::ofstream(folder.file("c.draws")) << "mine";
  expect_error(line + " --samples 120 --checkpoint " + folder.file("c"), 73, "has no draws");
  EXPECT_EQ(read_whole(folder.file("c.draws")), "mine");
}

TEST(EdgeCases, NothingThatIsReadIsWritten) {
  TemporaryFolder folder;
  const std::string model = folder.file("m.uai"), before = read_whole(model_path("grid-3x3.uai"));
  std::filesystem::copy_file(model_path("grid-3x3.uai"), model);
  std::filesystem::create_symlink(model, folder.file("link.MAR"));
  std::filesystem::create_hard_link(model, folder.file("hard.MAR"));
  std::filesystem::create_symlink(folder.file("later.MAR"), folder.file("dangling.MAR"));
  std::ofstream(folder.file("m.evid")) << "0";
  const std::string run = "marginals " + model;
  for (const std::string& options :
       {" --checkpoint " + model, " --report " + model, " --out " + folder.file("link.MAR"),
        " --out " + folder.file("hard.MAR"),
        " --evidence " + folder.file("m.evid") + " --report " + folder.file("m.evid"),
        " --out " + folder.file("a.MAR") + " --report " + folder.file("./a.MAR"),
        " --out " + folder.file("later.MAR") + " --report " + folder.file("dangling.MAR"),
        " --checkpoint " + folder.file("c") + " --report " + folder.file("c.draws")})
    expect_error(run + options, 64, "name the same file");
  EXPECT_EQ(read_whole(model), before);
  expect_error("convert " + model + " " + folder.file("hard.MAR"), 64, "name the same file");
  const std::string data = folder.file("g.csv");
  std::ofstream(data) << "a,b\n0,1\n1,0\n1,1\n";
  expect_error("herd " + data + " --out " + data, 64, "name the same file");
  EXPECT_EQ(read_whole(data), "a,b\n0,1\n1,0\n1,1\n");
  // A link that leads nowhere yet is followed and stays one.
  ASSERT_EQ(drover_command(run + " --out " + folder.file("dangling.MAR")).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("dangling.MAR")));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.file("later.MAR")));
}

TEST(EdgeCases, ClosedAndFullStreams) {
  TemporaryFolder folder;
  const std::string program(DROVER_COMMAND);
  const auto code = [&](const std::string& line) { return WEXITSTATUS(std::system(line.c_str())); };
  for (const char* words : {" --help", " --version", " --version --json", " marginals --help"})
    EXPECT_EQ(code(program + words + " > /dev/full 2> /dev/null"), 73) << words;
  // A warning goes to stderr in this run; wherever that leads, the result is there.
  const std::string run = program + " marginals " + model_path("grid-3x3.uai") +
                          " --method gibbs --sweeps 4 --burn-in 2 --out " + folder.file("r.MAR");
  for (const char* where : {" > /dev/null 2> /dev/full", " > /dev/null 2>&-", " > /dev/null 2>&- <&-"}) {
    std::filesystem::remove(folder.file("r.MAR"));
    EXPECT_EQ(code(run + where), 0) << where;
    EXPECT_TRUE(read_whole(folder.file("r.MAR")).starts_with("MAR\n")) << where;
  }
  EXPECT_EQ(code(run + " >&- 2> /dev/null"), 73);
}

TEST(EdgeCases, VersionAsJson) {
  const CommandResult result = drover_command("--version --json");
  ASSERT_EQ(result.exit_code, 0);
  for (const char* field : {"version", "compiler", "instruction_set", "libraries"})
    EXPECT_TRUE(result.json().contains(field)) << field;
}

TEST(EdgeCases, PipesAreWrittenOnce) {
  TemporaryFolder folder;
  const std::string pipe = folder.file("pipe.MAR");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string line = "timeout 20 sh -c 'cat " + pipe + " > " + folder.file("read") + " & " +
                           DROVER_COMMAND + " marginals " + model_path("grid-3x3.uai") +
                           " --method gibbs --time 1 --out " + pipe + " > /dev/null; wait'";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 0);
  EXPECT_EQ(read_whole(folder.file("read")).rfind("MAR\n9 2 ", 0), 0U);
}

TEST(EdgeCases, OneDocumentOnStandardOutput) {
  TemporaryFolder folder;
  expect_error("generate grid --width 2 --json", 64, "standard output");
  expect_error("generate grid --width 2 --json --out -", 64, "standard output");
  expect_error("convert " + model_path("grid-3x3.uai") + " - --json", 64, "standard output");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --json --report -", 64, "standard output");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --json --report /dev/stdout", 64,
               "standard output");
  const CommandResult page = drover_command("marginals " + model_path("grid-3x3.uai") + " --report -");
  EXPECT_EQ(page.exit_code, 0) << page.error;
  EXPECT_NE(page.out.find("</html>"), std::string::npos);
  EXPECT_EQ(page.out.find("VARIABLE  DISTRIBUTION"), std::string::npos);
  const std::string same = folder.file("same.json");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --out " + same + " --report " + same, 64,
               "same file");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --out " + same + " --checkpoint " +
                   folder.file("./same.json"),
               64, "same file");
}

TEST(EdgeCases, NamesNeedNotBeUtf8) {
  TemporaryFolder folder;
  const std::string model = folder.write("latin.bif",
                                         "variable \"caf\xe9\" { type discrete [ 2 ] { yes, no }; }\n"
                                         "probability ( \"caf\xe9\" ) { table 0.3, 0.7; }\n");
  const CommandResult result = drover_command("marginals " + model + " --json");
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(result.json()["variables"][0], "caf\xef\xbf\xbd");
  for (const char* ending : {".npz", ".csv", ".nc"}) {
    const CommandResult draws = drover_command("sample " + model + " --json --observe 'caf\xe9=yes' --out " +
                                               folder.file(std::string("d") + ending));
    EXPECT_EQ(draws.exit_code, 0) << draws.error;
    EXPECT_EQ(drover_command("diagnose --json " + folder.file(std::string("d") + ending)).exit_code, 0);
  }
}

TEST(EdgeCases, NamesWithMarksCanBeObserved) {
  TemporaryFolder folder;
  const std::string model = folder.write("marks.bif",
                                         "variable \"a=b,c\" { type discrete [ 2 ] { \"x,y\", \"z=1\" }; }\n"
                                         "probability ( \"a=b,c\" ) { table 0.3, 0.7; }\n");
  for (const char* observe : {R"('"a=b,c"="z=1"')", R"('a\=b\,c=z\=1')", R"('"a=b,c"=1')"}) {
    const CommandResult result = drover_command("marginals " + model + " --json --observe " + observe);
    ASSERT_EQ(result.exit_code, 0) << result.error;
    EXPECT_EQ(result.json()["marginals"][0][1], 1);
  }
  EXPECT_EQ(drover_command("marginals " + model + " --json --query '\"a=b,c\"'").exit_code, 0);
}

TEST(EdgeCases, ContradictingOptions) {
  TemporaryFolder folder;
  const std::string out = folder.file("d.csv");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --method gibbs --thin 50 --sweeps 10", 64,
               "--thin 50");
  expect_error(
      "sample " + model_path("grid-3x3.uai") + " --method gibbs --samples 10 --sweeps 10 --out " + out, 64,
      "sweeps");
  expect_error("marginals " + model_path("grid-3x3.uai") + " --method exact --scan sideways", 64,
               "expected fixed or random");
  const auto rounded = drover_command("sample " + model_path("grid-3x3.uai") +
                                      " --json --method gibbs --samples 10 --chains 3 --out " + out)
                           .json();
  EXPECT_EQ(rounded["draws"], 12);
  EXPECT_TRUE(warns_of_text(rounded, "not a multiple"));
}

TEST(EdgeCases, OptionsWithoutEffectAreNamed) {
  TemporaryFolder folder;
  const auto blocked = drover_command("marginals " + model_path("grid-3x3.uai") +
                                      " --json --method blocked-gibbs --scan random --sweeps 50")
                           .json();
  EXPECT_TRUE(warns_of_text(blocked, "option scan has no effect"));
  EXPECT_FALSE(warns_of_text(blocked, "option sweeps"));
  const auto exact = drover_command("marginals " + model_path("grid-3x3.uai") +
                                    " --json --chains 5 --checkpoint " + folder.file("c"))
                         .json();
  EXPECT_TRUE(warns_of_text(exact, "option chains has no effect"));
  EXPECT_TRUE(warns_of_text(exact, "option checkpoint has no effect"));
  EXPECT_EQ(drover_command("marginals " + model_path("grid-3x3.uai") + " --json --method gibbs --scan random")
                .json()["warnings"]
                .size(),
            0U);
}

// One chain: the first segments agree by chance long before it has seen the distribution.
TEST(EdgeCases, TargetsNeedEnoughDraws) {
  for (const char* target : {"--target-rhat 1.05", "--target-mcse 0.2"}) {
    const auto json = drover_command("marginals " + model_path("grid-3x3.uai") +
                                     " --json --method gibbs --chains 1 --burn-in 10 " + target)
                          .json();
    EXPECT_GE(json["diagnostics"]["ess_min"], 300) << target;
    EXPECT_LT(json["sweeps"], 100000) << target;
  }
}

TEST(EdgeCases, FixedVariablesAreNotObserved) {
  TemporaryFolder folder;
  const std::string model = folder.write("m.uai", "MARKOV\n2\n1 2\n1\n2 0 1\n2\n0.3 0.7\n");
  EXPECT_NE(drover_command("marginals " + model).out.find("(fixed)"), std::string::npos);
  const std::string both = drover_command("marginals " + model + " --observe 1=0").out;
  EXPECT_NE(both.find("(fixed)"), std::string::npos);
  EXPECT_NE(both.find("(observed)"), std::string::npos);
}

TEST(EdgeCases, SearchesSayWhatTheyCannotReach) {
  for (const char* method : {"annealed-gibbs", "icm"})
    EXPECT_TRUE(
        warns_of_text(drover_command("map " + model_path("xor.uai") + " --json --method " + method).json(),
                      "cannot reach every possible state"))
        << method;
}

// State 0 of the first variable is impossible, the others are not.
TEST(EdgeCases, VariablesThatSkipAStateMove) {
  TemporaryFolder folder;
  const std::string model =
      folder.write("skip.uai", "MARKOV\n2\n3 2\n2\n1 0\n2 0 1\n3\n0 0.5 0.5\n6\n1 1 1 2 2 1\n");
  const auto json = drover_command("marginals " + model + " --json --method gibbs").json();
  EXPECT_FALSE(warns_of_text(json, "never moved")) << json["warnings"].dump();
  EXPECT_EQ(json["marginals"][0][0], 0);
}

TEST(EdgeCases, CyclesOfBayesianNetworksAreNamed) {
  TemporaryFolder folder;
  const std::string row = " { (yes) 0.5, 0.5; (no) 0.1, 0.9; }\n";
  std::string text;
  for (const char* name : {"root", "a", "b", "c"})
    text += std::string("variable ") + name + " { type discrete [ 2 ] { yes, no }; }\n";
  text += "probability ( root ) { table 0.5, 0.5; }\n";
  expect_error("marginals " +
                   folder.write("cycle.bif", text + "probability ( a | b )" + row + "probability ( b | c )" +
                                                 row + "probability ( c | a )" + row),
               65, "cycle.bif:2: expected a network without cycles, found a <- b <- c <- a");
  EXPECT_EQ(drover_command("marginals " + folder.write("tree.bif", text + "probability ( a | b )" + row +
                                                                       "probability ( b | root )" + row +
                                                                       "probability ( c | a )" + row))
                .exit_code,
            0);
}

TEST(EdgeCases, ModelsWithoutVariables) {
  TemporaryFolder folder;
  const std::string model = folder.write("none.uai", "MARKOV\n0\n\n0\n");
  expect_error("marginals " + model + " --observe 0=1", 64, "the model has none");
  for (const char* ending : {".npz", ".csv", ".nc"}) {
    const std::string draws = folder.file(std::string("d") + ending);
    ASSERT_EQ(drover_command("sample " + model + " --samples 10 --out " + draws).exit_code, 0);
    const CommandResult result = drover_command("diagnose --json " + draws);
    ASSERT_EQ(result.exit_code, 0) << result.error;
    EXPECT_EQ(result.json()["variables"].size(), 0U) << ending;
    EXPECT_EQ(result.json()["draws"], 10) << ending;
    EXPECT_EQ(result.error, "");
  }
}

TEST(EdgeCases, FewIndependentDrawsAreFewNotUnconverged) {
  TemporaryFolder folder;
  const std::string draws = folder.file("d.npz");
  ASSERT_EQ(
      drover_command("sample " + model_path("grid-3x3.uai") + " --method exact --samples 200 --out " + draws)
          .exit_code,
      0);
  const auto json = drover_command("diagnose --json " + draws).json();
  ASSERT_LE(json["diagnostics"]["rhat_max"], 1.01);
  EXPECT_TRUE(warns_of_text(json, "too few draws"));
  EXPECT_FALSE(warns_of_text(json, "not converged"));
}

TEST(EdgeCases, SettingsOfOneCommandServeAnother) {
  TemporaryFolder folder;
  const std::string result = folder.file("r.json");
  ASSERT_EQ(drover_command("marginals " + model_path("grid-3x3.uai") +
                           " --method gibbs --burn-in 30 --seed 7 --out " + result)
                .exit_code,
            0);
  const std::string before = read_whole(result);
  const CommandResult logz =
      drover_command("logz " + model_path("grid-3x3.uai") + " --json --method exact --config " + result);
  ASSERT_EQ(logz.exit_code, 0) << logz.error;
  EXPECT_EQ(logz.json()["seed"], 7);
  EXPECT_EQ(read_whole(result), before);
}

TEST(EdgeCases, AisSpeaksOfItsWeights) {
  const auto json =
      drover_command("logz " + model_path("grid-3x3.uai") + " --json --method ais --chains 4").json();
  EXPECT_TRUE(warns_of_text(json, "carry the weight"));
}

TEST(EdgeCases, OneIsSingular) {
  TemporaryFolder folder;
  const std::string draws = folder.file("d.csv");
  const std::string alone = folder.write("alone.uai", "MARKOV\n1\n2\n1\n1 0\n2\n0.3 0.7\n");
  const CommandResult result = drover_command("sample " + alone + " --samples 1 --out " + draws);
  EXPECT_EQ(result.out.rfind("1 draw of 1 variable from 1 chain in ", 0), 0U) << result.out;
}

}  // namespace
}  // namespace drover
