// drover herd: the contract, end to end.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "drover/io/draws.hpp"
#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::drover_command;
using testing::expect_error;
using testing::TemporaryFolder;

const std::string binary_table = "a,b,c\n1,1,0\n1,1,0\n0,0,1\n1,0,1\n0,1,0\n0,0,0\n1,1,1\n0,0,1\n";

TEST(Herd, FieldsAndMoments) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table);
  const auto json = drover_command("herd " + data + " --json --samples 4000 --query \"a=1,c=0;b=1\" --out " +
                                   folder.file("d.npz"))
                        .json();
  for (const char* field : {"command", "version", "model", "seed", "warnings", "settings", "samples",
                            "moment_error_max", "weight_norm", "features", "count_distribution", "seconds"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["samples"], 4000);
  EXPECT_EQ(json["features"], 6);
  EXPECT_EQ(json["search"], "enumerate");
  EXPECT_TRUE(json["warnings"].empty());
  const double error = json["moment_error_max"].get<double>();
  EXPECT_LT(error, 0.005);
  EXPECT_LE(error * 4000, json["weight_norm"].get<double>() + 1e-9);
  // Both are fixed by singles and pairs: P(a=1, c=0) = 4/8 - 2/8, P(b=1) = 4/8.
  EXPECT_NEAR(json["expectations"][0]["probability"].get<double>(), 0.25, 2 * error + 1e-12);
  EXPECT_NEAR(json["expectations"][1]["probability"].get<double>(), 0.5, error + 1e-12);
  // The mean number of ones too: 12 / 8.
  double mean = 0, total = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    mean += static_cast<double>(k) * json["count_distribution"][k].get<double>();
    total += json["count_distribution"][k].get<double>();
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_NEAR(mean, 12.0 / 8, 3 * error + 1e-12);

  const DrawFile draws = read_draws(folder.file("d.npz"));
  ASSERT_EQ(draws.draws, 4000U);
  EXPECT_EQ(draws.variable_names, (std::vector<std::string>{"a", "b", "c"}));
  const auto& values = std::get<std::vector<std::uint8_t>>(draws.values);
  double ones = 0;
  for (std::size_t t = 0; t < 4000; ++t) ones += values[3 * t + 1];
  EXPECT_NEAR(ones / 4000, json["expectations"][1]["probability"].get<double>(), 1e-12);
  // What herding wrote, herding reads.
  EXPECT_EQ(drover_command("herd " + folder.file("d.npz") + " --json --samples 100").json()["rows"], 4000);
}

TEST(Herd, OrderThreeReproducesTheDataOfThreeVariables) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table);
  const auto json = drover_command("herd " + data + " --json --order 3 --samples 8000").json();
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(json["count_distribution"][k].get<double>(), json["data_count_distribution"][k].get<double>(),
                8 * json["moment_error_max"].get<double>() + 1e-9);
  for (const char* search : {"local", "tree"}) {
    const auto other =
        drover_command("herd " + data + " --json --samples 1000 --search " + std::string(search)).json();
    EXPECT_EQ(other["search"], search);
    EXPECT_LT(other["moment_error_max"].get<double>(), 0.01) << search;
  }
}

TEST(Herd, ChosenFeaturesAndCategories) {
  TemporaryFolder folder;
  const std::string garden = testing::model_path("garden.csv");
  const auto chosen =
      drover_command("herd " + garden + " --json --features \"rain;sky;sky,lawn\" --samples 1000").json();
  EXPECT_EQ(chosen["features"], 2 + 3 + 6);  // cells: either state of rain and of lawn
  EXPECT_EQ(drover_command("herd " + garden +
                           " --json --features \"rain;sky;sky,lawn\" --samples 100 --coding ones")
                .json()["features"],
            1 + 3 + 3);
  expect_error("herd " + garden + " --coding spins", 64, "--coding spins");
  EXPECT_TRUE(chosen["count_distribution"].empty());
  const std::string list = folder.write("f.txt", "rain\nsky\nsky,lawn\n");
  EXPECT_EQ(drover_command("herd " + garden + " --json --features @" + list + " --samples 1000")
                .json()["worst_feature"],
            chosen["worst_feature"]);
  const auto all =
      drover_command("herd " + garden + " --json --query lawn=wet,sky=grey --samples 6000").json();
  EXPECT_NEAR(all["expectations"][0]["probability"].get<double>(), 3.0 / 12,
              all["moment_error_max"].get<double>() + 1e-12);
}

TEST(Herd, InconsistentMomentsAreSaidAndHerded) {
  TemporaryFolder folder;
  const std::string bad = folder.write("bad.moments", "moments\n2 2\n0 0.3\n1 0.5\n0 1 0.5\n");
  const auto json = drover_command("herd " + bad + " --json --samples 5000").json();
  EXPECT_EQ(json["samples"], 5000);
  ASSERT_FALSE(json["inconsistent"].empty());
  EXPECT_EQ(json["inconsistent"][0]["features"], (std::vector<std::string>{"x0=1", "x0=1,x1=1"}));
  EXPECT_NEAR(json["inconsistent"][0]["excess"].get<double>(), 0.2, 1e-12);
  EXPECT_FALSE(json["growing"].empty());
  EXPECT_EQ(json["warnings"].size(), 2U);
  const std::string good = folder.write("good.moments", "moments\n2 2\n0 0.3\n1 0.5\n0 1 0.2\n");
  const auto fine = drover_command("herd " + good + " --json --samples 5000").json();
  EXPECT_TRUE(fine["warnings"].empty());
  EXPECT_LT(fine["moment_error_max"].get<double>(), 0.001);
}

TEST(Herd, Errors) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table);
  const std::string numbers = folder.write("n.csv", "a\n1\n2\n3\n");
  expect_error("herd " + folder.file("none.csv"), 66, "none.csv");
  expect_error("herd " + folder.write("e.csv", "a,b\n1\n"), 65, "e.csv:2");
  expect_error("herd " + numbers, 65, "choose binarise");
  expect_error("herd " + numbers + " --binarise middle", 64, "--binarise middle");
  expect_error("herd " + data + " --order 4", 64, "--order 4");
  expect_error("herd " + data + " --search best", 64, "--search best");
  expect_error("herd " + data + " --query d=1", 64, "d");
  expect_error("herd " + data + " --features a,b,c,a", 64, "--features");
  expect_error("herd " + data + " --out x.txt", 64, ".npz");
  expect_error("herd " + folder.write("m", "moments\n2\n0 .5\n") + " --order 3", 64, "--order");
  EXPECT_EQ(drover_command("herd " + numbers + " --binarise median --quiet").exit_code, 0);
}

/// 400 rows in which the class follows from two columns in nine rows of ten.
std::string labelled_table() {
  std::string text = "first,second,noise,class\n";
  for (int r = 0; r < 400; ++r) {
    const int first = r % 2, second = r / 2 % 2;
    const bool yes = (first + second == 2) != (r % 10 == 3);
    text += std::to_string(first) + "," + std::to_string(second) + "," + std::to_string(r / 4 % 3 == 0) +
            "," + (yes ? "yes" : "no") + "\n";
  }
  return text;
}

TEST(Herd, ClassifiesWithWhatItLearnedFromPseudoSamples) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", labelled_table());
  const auto json = drover_command("herd " + data + " --json --samples 20000 --classify class").json();
  const auto& found = json["classification"];
  EXPECT_EQ(found["column"], "class");
  EXPECT_EQ(found["classes"], 2);
  EXPECT_EQ(found["test_rows"], 80);
  EXPECT_EQ(json["rows"], 320);
  // One row in ten cannot be known; 80 rows have four standard deviations of 0.034.
  EXPECT_LT(found["error"].get<double>(), 0.1 + 4 * 0.034);
  // Three in ten are yes; four standard deviations of 0.051.
  EXPECT_GT(found["majority_error"].get<double>(), 0.3 - 4 * 0.051);
  // The same seed keeps the same rows apart, another seed others.
  const auto again = drover_command("herd " + data + " --json --samples 20000 --classify class").json();
  EXPECT_EQ(again["classification"], found);
  const auto other =
      drover_command("herd " + data + " --json --samples 2000 --classify 3 --test-rows 100 --seed 2").json();
  EXPECT_EQ(other["classification"]["test_rows"], 100);
  EXPECT_EQ(other["rows"], 300);

  expect_error("herd " + data + " --classify none", 64, "none");
  expect_error("herd " + data + " --classify first,second", 64, "--classify");
  expect_error("herd " + data + " --classify class --test-rows 400", 64, "--test-rows 400");
  expect_error("herd " + data + " --test-rows 4", 64, "classify");
  expect_error("herd " + folder.write("m", "moments\n2 2\n0 .5\n") + " --classify 0", 64, "--classify");
}

TEST(Herd, SeveralQueriesAreSeveralQuestions) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table);
  const auto json = drover_command("herd " + data + " --json --samples 100 --query a=1 --query b=1").json();
  ASSERT_EQ(json["expectations"].size(), 2U);
  EXPECT_EQ(json["expectations"][1]["query"], "b=1");
  EXPECT_EQ(json["expectations"][1]["in_data"], 0.5);
  EXPECT_EQ(json["settings"]["query"], "a=1;b=1");
}

TEST(Herd, PseudoSamplesHaveNoLogScore) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table);
  for (const char* name : {"d.csv", "d.npz", "d.nc"}) {
    ASSERT_EQ(drover_command("herd " + data + " --quiet --samples 50 --out " + folder.file(name)).exit_code,
              0);
    const DrawFile draws = read_draws(folder.file(name));
    EXPECT_EQ(draws.draws, 50U) << name;
    EXPECT_EQ(draws.variable_names, (std::vector<std::string>{"a", "b", "c"})) << name;
    EXPECT_TRUE(draws.log_scores.empty()) << name;
    EXPECT_EQ(drover_command("diagnose --json " + folder.file(name)).exit_code, 0) << name;
  }
  EXPECT_EQ(testing::read_whole(folder.file("d.csv")).find("nan"), std::string::npos);
}

TEST(Herd, MissingValuesAreNamedDroppedOrAState) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", "a,b\n1,0\n0,NaN\n1,1\n0,1\n0,0\n");
  expect_error("herd " + data, 65, "t.csv:3:3: expected a value in column b, found NaN");
  const auto dropped = drover_command("herd " + data + " --missing drop --json --samples 100").json();
  EXPECT_EQ(dropped["rows"], 4);
  EXPECT_EQ(dropped["dropped_rows"], 1);
  EXPECT_EQ(dropped["settings"]["missing"], "drop");
  const auto kept =
      drover_command("herd " + data + " --missing state --query b=missing --json --samples 100").json();
  EXPECT_EQ(kept["expectations"][0]["in_data"], 0.2);
}

TEST(Herd, ReportHasItsFigures) {
  TemporaryFolder folder;
  const std::string data = folder.write("t.csv", binary_table), page = folder.file("page.html");
  drover_command("herd " + data + " --samples 1000 --classify c --test-rows 2 --report " + page);
  std::ifstream file(page);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* part : {"P(k): how many ones at a time", "Weight norm", "Largest moment error",
                           "Moments with the largest errors", "Classification: c from the other columns"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace drover
