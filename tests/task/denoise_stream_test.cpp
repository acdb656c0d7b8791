// Denoising, streams of edits and generated models through the task layer.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/io/model_file.hpp"
#include "drover/task/denoise.hpp"
#include "drover/task/generate.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/kernel_rates.hpp"
#include "drover/task/stream.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

GreyImage random_image(std::size_t width, std::size_t height, std::uint64_t seed) {
  GreyImage image{width, height, 255, {}};
  RandomSequence random(seed, Stream::generate);
  for (std::size_t p = 0; p < width * height; ++p)
    image.levels.push_back(std::round(255 * random.uniform()) / 255);
  return image;
}

TEST(DenoiseTask, ExactIsTheMeanOfTheModel) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const std::uint32_t levels : {2U, 3U}) {
      const GreyImage image = random_image(3, 2, seed);
      DenoiseOptions options{.levels = levels, .coupling = 0.7, .sigma = 0.8};
      options.inference.method = "exact";
      const Denoised result = denoise(image, options);
      const Model model = levels == 2 ? denoising_model(result.noisy, 0.8, 0.7)
                                      : grey_denoising_model(result.noisy, 0.8, levels, 0.7, 0.5);
      const Enumeration all = enumerate(compile(model));
      for (std::size_t p = 0; p < 6; ++p) {
        double mean = 0;
        for (std::uint32_t k = 0; k < levels; ++k) mean += all.marginals[p][k] * level_of_state(k, levels);
        EXPECT_NEAR(result.mean[p], mean, 1e-6) << seed << " " << levels << " " << p;
      }
    }
}

TEST(DenoiseTask, AModelBeyondTheMemoryLimitIsRefusedBeforeItIsMade) {
  DenoiseOptions options{.levels = 64};
  options.inference.method = "gibbs";
  options.inference.memory_limit = 0.001;
  try {
    denoise(random_image(64, 64, 1), options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::misfit);
    EXPECT_NE(std::string(error.what()).find("4096 pixels with 64 levels each: about 0.0021 GB"),
              std::string::npos)
        << error.what();
  }
  options.inference.method = "auto";
  EXPECT_EQ(denoise(random_image(64, 64, 1), options).mean.size(), 4096U);
}

TEST(DenoiseTask, MeasuresAndJudges) {
  GreyImage truth = random_image(24, 24, 1);
  for (std::size_t p = 0; p < truth.size(); ++p) truth.levels[p] = p % 24 < 12 ? 0 : 1;
  const Denoised result = denoise(truth, {.noise = 0.8});
  EXPECT_TRUE(result.sigma_estimated);
  EXPECT_NEAR(result.sigma, 0.8, 0.15);
  EXPECT_EQ(result.error, mean_squared_error(result.mean, result.truth));
  EXPECT_LT(result.error, result.error_before);
  EXPECT_NE(judge(result).verdict, Verdict::bad);
  EXPECT_EQ(judge(denoise(truth)).verdict, Verdict::caution);  // nothing to compare with
  EXPECT_THROW(denoise(truth, {.truth = random_image(3, 3, 1)}), Error);
}

class Kept : public AnswerSink {
 public:
  void take(std::string_view answer) override { answers.push_back(nlohmann::json::parse(answer)); }
  std::vector<nlohmann::json> answers;
};

TEST(StreamTask, AnswersAreTheMarginals) {
  const Model model = read_model(testing::model_path("grid-3x3.uai"));
  LineSource edits(
      "{\"op\": \"clamp\", \"variable\": 4, \"value\": 1}\n{\"op\": \"sweep\", \"count\": 4000}\n"
      "{\"op\": \"marginals\", \"variables\": [0]}\nnonsense\n",
      "edits");
  Kept kept;
  const StreamSummary summary = stream(model, edits, kept, {.half_life = 2000});
  EXPECT_EQ(summary.lines, 4U);
  EXPECT_EQ(summary.errors, 1U);
  EXPECT_EQ(judge(summary).verdict, Verdict::caution);
  const double exact = marginals(model, {.observe = {{"4", "1"}}, .method = "exact"}).probabilities[0][1];
  bool answered = false;
  for (const auto& answer : kept.answers)
    if (answer.contains("marginals")) {
      answered = true;
      EXPECT_NEAR(answer["marginals"][0][1].get<double>(), exact, 0.05);
    }
  EXPECT_TRUE(answered);
}

TEST(GenerateTask, IsWhatTheBuildersMake) {
  const Generated grid =
      generate_model({.kind = GenerateKind::grid, .seed = 5, .width = 3, .coupling_sd = 0.5, .field = 0.2});
  const Model built = ising(grid_edges(3, 3, false), Draw::normal(0, 0.5), Draw::constant(0.2), 5);
  EXPECT_EQ(log_z(grid.model).log_z, log_z(built).log_z);
  const Generated images = generate_model({.kind = GenerateKind::deconvolution, .width = 5, .images = 2});
  EXPECT_EQ(images.evidence.size(), 50U);
  EXPECT_THROW(generate_model({.kind = GenerateKind::grid, .coupling_sd = 1.0, .random_signs = true}), Error);
}

TEST(GenerateTask, StatesWhatItHeeds) {
  const Generated grid = generate_model({.kind = GenerateKind::grid, .width = 3, .hidden = 9, .images = 2});
  ASSERT_EQ(grid.provenance.warnings.size(), 2U);
  EXPECT_EQ(grid.provenance.warnings[0], "the option hidden has no effect: grid does not use it");
  EXPECT_NE(grid.provenance.options.find("width"), nullptr);
  EXPECT_EQ(grid.provenance.options.find("hidden"), nullptr);
  const Generated machine = generate_model({.kind = GenerateKind::rbm, .variables = 4, .hidden = 9});
  EXPECT_TRUE(machine.provenance.warnings.empty());
  EXPECT_NE(machine.provenance.options.find("hidden"), nullptr);
  EXPECT_EQ(machine.provenance.options.find("width"), nullptr);
}

// The model that the live page paints on is the one that denoise() runs its methods on.
TEST(DenoiseTask, TheModelOfAnImage) {
  GreyImage image;
  image.width = 5;
  image.height = 4;
  for (int k = 0; k < 20; ++k) image.levels.push_back(k % 3 == 0 ? 0.9 : 0.1);
  const ImageModel two = image_model(image, {.coupling = 0.5, .sigma = 0.7});
  EXPECT_EQ(two.noisy.values.size(), 20U);
  const Model built = denoising_model(noisy_image(two.noisy.values, 5, 4), 0.7, 0.5);
  EXPECT_EQ(log_z(two.model).log_z, log_z(built).log_z);
  const ImageModel grey = image_model(image, {.levels = 3, .noise = 0.2});
  EXPECT_EQ(grey.model.cardinalities, std::vector<std::uint32_t>(20, 3));
}

TEST(KernelRates, EndsInTheMidst) {
  RunControl control;
  control.request_stop();
  EXPECT_THROW(kernel_rates(control), Error);
}

}  // namespace
}  // namespace drover
