// drover denoise: the contract, end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drover/image/denoising.hpp"
#include "drover/image/image.hpp"
#include "tests/support/command.hpp"
#include "tests/support/expect_error.hpp"

namespace drover {
namespace {

using testing::CommandResult;
using testing::drover_command;
using testing::expect_error;
using testing::TemporaryFolder;

const std::string rings = testing::model_path("rings.pbm");

TEST(Denoise, FieldsOfTheContract) {
  TemporaryFolder folder;
  const auto json = drover_command("denoise " + rings + " " + folder.file("out.png") +
                                   " --noise 1 --json --report " + folder.file("page.html"))
                        .json();
  for (const char* field :
       {"command", "version", "model", "seed", "warnings", "settings", "method", "seconds", "error",
        "misclassified", "sigma", "width", "height", "coupling", "chosen_because"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["method"], "image-gibbs");
  EXPECT_EQ(json["sweeps"], 30);
  EXPECT_EQ(json["width"], 128);
  EXPECT_NEAR(json["sigma"].get<double>(), 1, 0.05);
  EXPECT_LT(json["error"].get<double>(), 0.25 * json["error_before"].get<double>());
  const GreyImage out = read_image(folder.file("out.png"));
  EXPECT_EQ(out.width, 128U);
  EXPECT_EQ(out.max_value, 1U);
  const GreyImage truth = read_image(rings);
  double wrong = 0;
  for (std::size_t p = 0; p < truth.size(); ++p) wrong += out.levels[p] != truth.levels[p];
  EXPECT_NEAR(wrong / static_cast<double>(truth.size()), json["misclassified"].get<double>(), 1e-12);
  const std::string page = testing::read_whole(folder.file("page.html"));
  for (const char* title : {"Before", "After", "Truth", "Posterior mean"})
    EXPECT_NE(page.find(title), std::string::npos) << title;
}

TEST(Denoise, SaysWhatDidTheWorkAndSettingsRepeatIt) {
  TemporaryFolder folder;
  const GreyImage clean = read_image(rings);
  std::vector<double> pixels;
  for (double level : clean.levels) pixels.push_back(2 * level - 1);
  GreyImage two{clean.width, clean.height, 1, {}};
  for (double y : add_noise(pixels, clean.width, clean.height, 0.8, 3).values)
    two.levels.push_back(y >= 0 ? 1 : 0);
  write_image(two, folder.file("two.pbm"));
  const auto run = [&](const std::string& options, const std::string& out) {
    return drover_command("denoise " + folder.file("two.pbm") + " " + folder.file(out) + " --report " +
                          folder.file("page.html") + " " + options);
  };
  const struct {
    std::string options, prior, words;
  } cases[] = {{"", "patterns", "patterns learnt from the image"},
               {"--coupling 0.7", "coupling", "coupling 0.7"},
               {"--method gibbs", "coupling", "(estimated)"},
               {"--levels 16", "scales", "on scales of their own"}};
  for (const auto& [options, prior, words] : cases) {
    const CommandResult json = run(options + " --json --quiet", "first.pgm");
    EXPECT_EQ(json.json()["prior"], prior) << options;
    EXPECT_NE(testing::read_whole(folder.file("page.html")).find(words), std::string::npos) << options;
    const std::string table = run(options + " --quiet", "first.pgm").out;
    EXPECT_NE(table.find(words), std::string::npos) << table;
    EXPECT_EQ(table.find("coupling") != std::string::npos, prior == "coupling") << table;
    // A result's settings are those of a run that makes the same image.
    ASSERT_EQ(run("--quiet --config " + folder.write("result.json", json.out), "second.pgm").exit_code, 0);
    EXPECT_EQ(testing::read_whole(folder.file("first.pgm")), testing::read_whole(folder.file("second.pgm")))
        << options;
  }
}

TEST(Denoise, EveryMethodImprovesAndSeedsDecide) {
  TemporaryFolder folder;
  for (const char* method :
       {"herded-gibbs", "herded-gibbs --share exact", "gibbs", "mean-field", "mean-field --damping 0.5",
        "icm", "blocked-gibbs", "annealed-gibbs", "bp", "max-product"}) {
    const std::string line = "denoise " + rings + " " + folder.file("out.pbm") +
                             " --noise 1 --sweeps 20 --json --quiet --method " + method;
    const auto json = drover_command(line).json();
    EXPECT_LT(json["error"].get<double>(), 0.4 * json["error_before"].get<double>()) << method;
    const std::string first = testing::read_whole(folder.file("out.pbm"));
    const auto again = drover_command(line + " --threads 1").json();
    EXPECT_EQ(again["error"], json["error"]) << method;
    EXPECT_EQ(testing::read_whole(folder.file("out.pbm")), first) << method;
    EXPECT_NE(drover_command(line + " --seed 2").json()["error"], json["error"]) << method;
  }
}

// A file cannot hold what lies beyond black and white; the noise is found all the same.
TEST(Denoise, NoisyFiles) {
  TemporaryFolder folder;
  const GreyImage clean = read_image(rings);
  std::vector<double> pixels;
  for (double level : clean.levels) pixels.push_back(2 * level - 1);
  const NoisyImage noisy = add_noise(pixels, clean.width, clean.height, 1.2, 3);
  GreyImage grey{clean.width, clean.height, 255, {}}, two{clean.width, clean.height, 1, {}};
  for (double y : noisy.values) {
    grey.levels.push_back(std::clamp(0.5 * (y + 1), 0.0, 1.0));
    two.levels.push_back(y >= 0 ? 1 : 0);
  }
  write_image(grey, folder.file("grey.png"));
  write_image(two, folder.file("two.pbm"));
  for (const char* name : {"grey.png", "two.pbm"}) {
    const auto json = drover_command("denoise " + folder.file(name) + " " + folder.file("out.pgm") +
                                     " --json --quiet --truth " + rings)
                          .json();
    EXPECT_NEAR(json["sigma"].get<double>(), 1.2, 0.12) << name;
    EXPECT_LT(json["error"].get<double>(), 0.3 * json["error_before"].get<double>()) << name;
  }
  const auto without =
      drover_command("denoise " + folder.file("grey.png") + " " + folder.file("out.pgm") + " --json --quiet")
          .json();
  EXPECT_FALSE(without.contains("error"));
}

TEST(Denoise, GreyLevels) {
  TemporaryFolder folder;
  GreyImage ramp{60, 50, 255, {}};
  for (std::size_t p = 0; p < 3000; ++p)
    ramp.levels.push_back(p % 60 < 20 ? 0.2 : p % 60 < 40 ? 0.5 : p / 60 < 25 ? 0.9 : 0.1);
  write_image(ramp, folder.file("ramp.png"));
  const std::string line = "denoise " + folder.file("ramp.png") + " " + folder.file("out.png") +
                           " --noise 0.3 --levels 11 --json --quiet --method ";
  for (const char* method : {"gibbs", "mean-field", "herded-gibbs"}) {
    const auto json = drover_command(line + method).json();
    EXPECT_NEAR(json["sigma"].get<double>(), 0.3, 0.05);
    EXPECT_LT(json["error"].get<double>(), 0.5 * json["error_before"].get<double>()) << method;
    EXPECT_EQ(read_image(folder.file("out.png")).max_value, 255U);
  }
}

TEST(Denoise, Errors) {
  TemporaryFolder folder;
  const std::string out = folder.file("out.png");
  expect_error("denoise " + folder.file("none.png") + " " + out, 66, "none.png");
  expect_error("denoise " + folder.write("bad.png", "no image") + " " + out, 65, "bad.png");
  expect_error("denoise " + rings + " " + folder.file("out.jpg"), 64, "out.jpg");
  expect_error("denoise " + rings + " /no-such-folder/out.png", 73, "out.png");
  expect_error("denoise " + rings + " " + out + " --method mean-feild", 64, "mean-field");
  expect_error("denoise " + rings + " " + out + " --method ais", 78, "ais");
  expect_error("denoise " + rings + " " + out + " --levels 1", 64, "--levels 1");
  expect_error("denoise " + rings + " " + out + " --method mean-field --damping -0.5", 64, "--damping -0.5");
  expect_error("denoise " + rings + " " + out + " --truth " + folder.write("small.pbm", "P1 2 1\n01"), 65,
               "small.pbm");
  EXPECT_EQ(folder.count(), 2U);
}

TEST(MeanFieldCommand, LogZIsALowerBoundAndMarginalsSaySo) {
  const std::string model = testing::model_path("grid-3x3.uai");
  const auto exact = drover_command("logz " + model + " --method exact --json").json();
  const auto bound = drover_command("logz " + model + " --method mean-field --json --quiet").json();
  EXPECT_LE(bound["lower"].get<double>(), exact["log_z"].get<double>());
  EXPECT_GT(bound["lower"].get<double>(), exact["log_z"].get<double>() - 2);
  EXPECT_TRUE(bound["upper"].is_null());
  const auto marginals =
      drover_command("marginals " + model + " --method mean-field --json --quiet --check").json();
  EXPECT_EQ(marginals["converged"], true);
  EXPECT_LT(marginals["details"]["check"]["max_abs_error"].get<double>(), 0.5);
  EXPECT_FALSE(marginals["warnings"].empty());
}

}  // namespace
}  // namespace drover
