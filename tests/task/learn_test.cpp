// Learning by one call: the machine is that of the data, and the result says how it came about.
#include "drover/task/learn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/machine_file.hpp"
#include "drover/io/text_source.hpp"
#include "drover/machine/rbm_likelihood.hpp"
#include "drover/report/learn_page.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/score.hpp"

namespace drover {
namespace {

/// x1 copies x0 nine times in ten; x2 is a fair coin.
DataTable table(int rows = 200) {
  std::string text = "x0,x1,x2\n";
  for (int r = 0; r < rows; ++r) {
    const int first = r % 2, second = r % 20 < 2 ? 1 - first : first;
    text += std::to_string(first) + "," + std::to_string(second) + "," + std::to_string(r / 2 % 2) + "\n";
  }
  TextSource source(text, "t.csv");
  return parse_text_table(source);
}

TEST(LearnTask, TheMachineHasTheMomentsOfTheData) {
  const LearnResult result = learn(table(), {.method = TrainMethod::exact, .iterations = 3000});
  const Model model = model_of(machine_file(result));
  const Marginals given = marginals(model, {.observe = {{"x0", "1"}}});
  EXPECT_NEAR(given.of("x1")[1], 0.9, 0.01);
  EXPECT_NEAR(given.of("x2")[1], 0.5, 0.01);
  EXPECT_EQ(judge(result).verdict, Verdict::good) << judge(result).text;
}

TEST(LearnTask, HiddenUnitsByTheSizeOfTheData) {
  const auto hidden = [](std::size_t columns, std::size_t rows) {
    DataTable data;
    for (std::size_t v = 0; v < columns; ++v) data.names.push_back("x" + std::to_string(v));
    data.cardinalities.assign(columns, 2);
    data.rows = rows;
    for (std::size_t k = 0; k < rows * columns; ++k) data.values.push_back(k % 7 < 3);
    return learn(data, {.kind = MachineKind::rbm, .method = TrainMethod::block_gibbs, .iterations = 1})
        .machine.hidden;
  };
  EXPECT_EQ(hidden(60, 2000), 30U);  // one for two columns
  EXPECT_EQ(hidden(60, 900), 18U);   // one for fifty rows
  EXPECT_EQ(hidden(6, 100), 8U);
}

TEST(LearnTask, AHundredStepsOfASmallRbmLearn) {
  // Four pictures of 32 pixels, one pixel in twenty flipped: no machine can do better than two bits and 32
  // entropies of a flip a row, 7.7 nats. Pixels that know nothing of each other have 16.6, and so has a machine
  // that took its steps at a rate for large pictures.
  constexpr std::size_t columns = 32, rows = 800;
  RandomSequence random(5, Stream::start);
  DataTable data;
  for (std::size_t v = 0; v < columns; ++v) data.names.push_back("x" + std::to_string(v));
  data.cardinalities.assign(columns, 2);
  data.rows = rows;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t v = 0; v < columns; ++v) {
      const bool pixel = r % 4 < 2 ? (v / (1 + r % 4) % 2 == 1) : ((v + r) % 4 < 2);
      data.values.push_back(static_cast<Value>(pixel != (random.uniform() < 0.05)));
    }
  const LearnResult result = learn(data, {.kind = MachineKind::rbm, .hidden = 12, .iterations = 100});
  const std::vector<double> scores = rbm_log_scores(result.machine, data.values);
  const double found = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(rows) -
                       rbm_exact_log_z(result.machine);
  const double flip = -(0.05 * std::log(0.05) + 0.95 * std::log(0.95));
  EXPECT_GT(found, -(std::log(4) + columns * flip) - 3);
}

TEST(LearnTask, ResolvedOptionsAreStated) {
  const LearnResult result =
      learn(table(),
            {.kind = MachineKind::rbm, .method = TrainMethod::block_gibbs, .iterations = 30, .input = "d"});
  const auto json = nlohmann::json::parse(to_json(result).text());
  EXPECT_EQ(json["model"], "d");
  EXPECT_EQ(json["kind"], "rbm");
  EXPECT_EQ(json["method"], "block-gibbs");
  EXPECT_EQ(json["settings"]["hidden"], 8);
  EXPECT_EQ(json["settings"]["rate"], 1.0);  // three visible units
  EXPECT_EQ(json["settings"]["rule"], "sgd");
  EXPECT_EQ(json["settings"]["batch"], 100);
  EXPECT_EQ(json["settings"]["chains"], 100);
  EXPECT_EQ(json["settings"]["iterations"], 30);
  EXPECT_FALSE(json["settings"].contains("damping"));
  // What was chosen, and why; a rate of its own for enumeration.
  const LearnResult chosen = learn(table(), {.iterations = 30});
  const auto stated = nlohmann::json::parse(to_json(chosen).text());
  EXPECT_EQ(stated["method"], "exact");
  EXPECT_EQ(stated["settings"]["method"], "exact");
  EXPECT_EQ(stated["settings"]["rate"], 0.02);
  EXPECT_FALSE(stated["chosen_because"].get<std::string>().empty());
  // The same options make the same machine.
  const LearnResult again = learn(table(), {.kind = MachineKind::rbm,
                                            .hidden = 8,
                                            .method = TrainMethod::block_gibbs,
                                            .iterations = 30,
                                            .batch = 100,
                                            .rule = StepRule::sgd,
                                            .rate = 1,
                                            .chains = 100});
  EXPECT_EQ(again.machine.weights, result.machine.weights);
}

TEST(LearnTask, AnUntrainedMachineIsNoGoodVerdict) {
  // One tiny step: the coupling of x0 and x1 is not there yet, P(1, 1) is 0.25 instead of 0.45. By 1000 rows
  // on either side it is known to 0.022 or better, and the distance over the three pairs is 0.2 / sqrt(3).
  const LearnResult result =
      learn(table(1000), {.method = TrainMethod::exact, .iterations = 1, .rate = 1e-6});
  EXPECT_EQ(judge(result).verdict, Verdict::caution) << judge(result).text;
  EXPECT_GT(result.log_mmd, result.log_mmd_of_data);
  const LearnResult astray = learn(table(), {.kind = MachineKind::rbm,
                                             .method = TrainMethod::block_gibbs,
                                             .iterations = 2000,
                                             .rule = StepRule::sgd,
                                             .rate = 1000,
                                             .l2 = 1});
  EXPECT_TRUE(astray.fit.diverged);
  EXPECT_EQ(judge(astray).verdict, Verdict::bad);
  EXPECT_EQ(nlohmann::json::parse(to_json(astray).text())["verdict"], "bad");
  EXPECT_NE(page_of(astray, "{}").find("no longer finite"), std::string::npos);
}

TEST(LearnTask, TheWordsOfTheDataAreKept) {
  const DataOptions constant_too{.constant_columns = true};
  TextSource source("a,b,c\nyes,up,1\nyes,down,0\nyes,up,1\nyes,up,0\n", "t.csv");
  const DataTable data = parse_text_table(source, constant_too);
  const MachineFile file = machine_file(learn(data, {.kind = MachineKind::ising}));
  ASSERT_EQ(file.state_names.size(), 3U);
  EXPECT_EQ(file.state_names[0], (std::vector<std::string>{"yes", "other"}));
  EXPECT_EQ(file.state_names[1], data.state_names[1]);
  EXPECT_TRUE(file.state_names[2].empty());
  // Rows of which a column has one word only are what they say.
  TextSource likely("a,b,c\nyes,up,1\nyes,up,1\n", "likely.csv"),
      less("a,b,c\nyes,down,1\nyes,down,1\n", "less.csv");
  EXPECT_GT(score(file, parse_text_table(likely, constant_too), {}).log_likelihood,
            score(file, parse_text_table(less, constant_too), {}).log_likelihood);
}

// Samples that are the data, column for column, are as near to them as can be.
TEST(LearnTask, NoDifferenceIsAComparisonToo) {
  TextSource source("a,b\n" + std::string("1,0\n1,0\n1,0\n1,0\n1,0\n1,0\n"), "t.csv");
  const LearnResult result = learn(parse_text_table(source), {.kind = MachineKind::ising});
  EXPECT_EQ(result.log_mmd, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(judge(result).text.find("not compared"), std::string::npos) << judge(result).text;
}

TEST(LearnTask, HeldOutRowsAreNotLearntFrom) {
  const LearnResult result =
      learn(table(), {.kind = MachineKind::rbm, .hidden = 4, .iterations = 40, .held_out = 0.3});
  EXPECT_EQ(result.rows, 140U);
  EXPECT_EQ(result.held_out_rows, 60U);
  EXPECT_FALSE(result.fit.log_mmd.empty());
}

TEST(LearnTask, OptionsThatDoNotFit) {
  const auto refused = [](const LearnOptions& options, const char* name) {
    try {
      learn(table(), options);
      ADD_FAILURE() << name;
    } catch (const OptionError& error) {
      EXPECT_EQ(error.name(), name);
    }
  };
  refused({.hidden = 3}, "hidden");
  refused({.patience = 3}, "patience");
  try {
    learn(table(), {.kind = MachineKind::rbm, .method = TrainMethod::pseudo_likelihood});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::misfit);
  }
}

TEST(LearnTask, EndsAtTheDeadlineWithTheMachineSoFar) {
  DataTable wide;
  wide.rows = 2000;
  for (std::size_t v = 0; v < 60; ++v) wide.names.push_back("x" + std::to_string(v));
  wide.cardinalities.assign(60, 2);
  for (std::size_t k = 0; k < wide.rows * 60; ++k) wide.values.push_back((k * 2654435761U >> 7 & 3) == 0);
  for (const MachineKind kind : {MachineKind::rbm, MachineKind::boltzmann}) {
    RunControl control;
    control.limit_time(3);
    const LearnResult result = learn(wide, {.kind = kind, .iterations = 100'000'000}, control);
    EXPECT_GT(result.fit.iterations, 0U);
    EXPECT_EQ(judge(result).verdict, Verdict::caution);
  }
  RunControl stopped;
  stopped.request_stop();
  for (const TrainMethod method : {TrainMethod::pseudo_likelihood, TrainMethod::gibbs})
    EXPECT_THROW(learn(wide, {.method = method}, stopped), Error);
}

}  // namespace
}  // namespace drover
