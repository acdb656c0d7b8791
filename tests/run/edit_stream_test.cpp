#include "drover/run/edit_stream.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace drover {
namespace {

using nlohmann::json;

struct Session {
  explicit Session(EditStreamOptions options = {})
      : model(1, 200), stream(model, {}, options, [this](std::string_view answer) {
          answers.push_back(json::parse(answer.begin(), answer.end()));
        }) {}
  json say(const std::string& line) {
    answers.clear();
    stream.take(line);
    return answers.empty() ? json() : answers.back();
  }
  DynamicModel model;
  std::vector<json> answers;
  EditStream stream;
};

TEST(EditStream, BuildsAndAsks) {
  Session session;
  EXPECT_EQ(session.say(R"({"op":"add_variable"})")["variable"], 0);
  EXPECT_TRUE(session.say(R"({"op":"add_variable","name":"b","field":0.5})").is_null());
  EXPECT_EQ(session.say(R"({"op":"add_factor","variables":[0,"b"],"coupling":0.4})")["factor"], 0);
  EXPECT_TRUE(
      session.say(R"({"op":"add_factor","variables":["b",0],"table":[1,2,3,4],"name":"f"})").is_null());
  session.say(R"({"op":"set_unary","variable":0,"unary":[1,3]})");
  session.say(R"({"op":"sweep","count":3000})");
  const json answer = session.say(R"({"op":"marginals","variables":["b"]})");
  EXPECT_EQ(answer["line"], 7);
  EXPECT_EQ(answer["sweeps"], 3000);
  EXPECT_EQ(answer["variables"], json({"b"}));
  double z = 0, p = 0;
  const double table[4] = {1, 2, 3, 4};  // at 2 b + a
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const double weight =
          std::exp(0.5 * (2 * b - 1) + (a == b ? 0.4 : -0.4)) * table[2 * b + a] * (a == 1 ? 3 : 1);
      z += weight;
      p += b * weight;
    }
  // 64 chains over some 300 sweeps, hardly correlated: below 0.01 in all.
  EXPECT_NEAR(answer["marginals"][0][1].get<double>(), p / z, 0.03);
  EXPECT_NEAR(answer["marginals"][0][0].get<double>(), 1 - p / z, 0.03);
  session.say(R"({"op":"clamp","variable":"b","value":1})");
  EXPECT_EQ(session.say(R"({"op":"marginals","variables":["b"]})")["marginals"][0][1], 1.0);
  session.say(R"({"op":"release","variable":"b"})");
  session.say(R"({"op":"remove_factor","factor":"f"})");
  EXPECT_EQ(session.model.factor_count(), 1U);
  session.say(R"({"op":"remove_variable","variable":"b"})");
  EXPECT_EQ(session.model.factor_count(), 0U);
  EXPECT_EQ(session.model.variable_count(), 1U);
  EXPECT_EQ(session.stream.errors(), 0U);
  // The name is free again.
  EXPECT_TRUE(session.say(R"({"op":"add_variable","name":"b"})").is_null());
}

// Variables of three, two and three states: a Potts pair, a table between unlike variables, all in lines.
TEST(EditStream, ManyStates) {
  Session session;
  session.say(R"({"op":"add_variable","name":"a","unary":[1,2,1]})");
  session.say(R"({"op":"add_variable","name":"b","field":0.3})");
  session.say(R"({"op":"add_variable","name":"c","states":3})");
  session.say(R"({"op":"add_factor","variables":["a","c"],"potts":0.8,"name":"ac"})");
  session.say(R"({"op":"add_factor","variables":["a","b"],"table":[1,3,2,1,1,2],"name":"ab"})");
  session.say(R"({"op":"set_unary","variable":"c","unary":[3,1,1]})");
  session.say(R"({"op":"sweep","count":3000})");
  const json answer = session.say(R"({"op":"marginals"})");
  EXPECT_EQ(session.stream.errors(), 0U);
  std::vector<std::vector<double>> exact = {{0, 0, 0}, {0, 0}, {0, 0, 0}};
  const double table[6] = {1, 3, 2, 1, 1, 2}, unary[3] = {1, 2, 1}, of_c[3] = {3, 1, 1};
  double z = 0;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c) {
        const double weight = unary[a] * of_c[c] * table[2 * a + b] * std::exp(0.3 * (2 * b - 1)) *
                              (a == c ? std::exp(0.8) : 1);
        z += weight;
        exact[0][static_cast<std::size_t>(a)] += weight;
        exact[1][static_cast<std::size_t>(b)] += weight;
        exact[2][static_cast<std::size_t>(c)] += weight;
      }
  // 64 chains over some 300 sweeps, hardly correlated: below 0.01 in all.
  for (std::size_t v = 0; v < 3; ++v) {
    ASSERT_EQ(answer["marginals"][v].size(), exact[v].size());
    for (std::size_t k = 0; k < exact[v].size(); ++k)
      EXPECT_NEAR(answer["marginals"][v][k].get<double>(), exact[v][k] / z, 0.03) << v << " " << k;
  }
  session.say(R"({"op":"clamp","variable":"a","value":2})");
  EXPECT_EQ(session.say(R"({"op":"marginals","variables":["a"]})")["marginals"][0], json({0, 0, 1}));
  session.say(R"({"op":"remove_variable","variable":"a"})");
  EXPECT_EQ(session.model.factor_count(), 0U);
  EXPECT_TRUE(session.say(R"({"op":"remove_factor","factor":"ac"})").contains("error"));
}

TEST(EditStream, NamesOfFactorsGoWithTheirVariable) {
  Session session;
  for (const char* name : {"a", "b", "c"}) session.say(json{{"op", "add_variable"}, {"name", name}}.dump());
  session.say(R"({"op":"add_factor","variables":["a","b"],"coupling":1,"name":"f"})");
  session.say(R"({"op":"remove_variable","variable":"a"})");
  EXPECT_TRUE(session.say(R"({"op":"remove_factor","factor":"f"})").contains("error"));
  EXPECT_TRUE(session.say(R"({"op":"add_factor","variables":["b","c"],"coupling":1,"name":"f"})").is_null());
  EXPECT_TRUE(session.say(R"({"op":"remove_factor","factor":"f"})").is_null());
}

TEST(EditStream, MalformedLinesChangeNothing) {
  Session session;
  session.say(R"({"op":"add_variable","name":"a"})");
  session.say(R"({"op":"add_variable","name":"b"})");
  session.say(R"({"op":"add_variable","name":"c","states":3})");
  session.say(R"({"op":"add_factor","variables":["a","b"],"coupling":1,"name":"f"})");
  const std::uint64_t word = session.model.word(0);
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"{", "JSON"},
      {"[1]", "\"op\""},
      {"{}", "\"op\""},
      {R"({"op":7})", "\"op\""},
      {R"({"op":"add_factr"})", "did you mean add_factor"},
      {R"({"op":"add_factor"})", "two variables"},
      {R"({"op":"marginals","vars":[0]})", "found \"vars\""},
      {R"({"op":"clamp","variable":0,"value":1,"state":1})", "found \"state\""},
      {R"({"op":"add_factor","variables":["a"],"coupling":1})", "two variables"},
      {R"({"op":"add_factor","variables":["a","a"],"coupling":1})", "different"},
      {R"({"op":"add_factor","variables":["a","z"],"coupling":1})", "\"z\""},
      {R"({"op":"add_factor","variables":[0,99],"coupling":1})", "99"},
      {R"({"op":"add_factor","variables":[0,-1],"coupling":1})", "-1"},
      {R"({"op":"add_factor","variables":[0,1]})", "table"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1,"table":[1,1,1,1]})", "one of"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1,"potts":1})", "one of"},
      {R"({"op":"add_factor","variables":["a","c"],"coupling":1})", "binary"},
      {R"({"op":"add_factor","variables":["a","c"],"potts":1})", "2 and 3"},
      {R"({"op":"add_factor","variables":["a","c"],"table":[1,2,3,4]})", "6 positive numbers"},
      {R"({"op":"add_factor","variables":["a","c"],"table":[1,2,3,4,5,0]})", "6 positive numbers"},
      {R"({"op":"add_factor","variables":["a","c"],"table":[1,2,3,4,5,1e30]})", "exp(60)"},
      {R"({"op":"add_variable","states":1})", "2 to 64 states"},
      {R"({"op":"add_variable","states":65})", "2 to 64 states"},
      {R"({"op":"add_variable","states":"x"})", "whole number"},
      {R"({"op":"add_variable","states":3,"unary":[1,1]})", "3 positive numbers"},
      {R"({"op":"add_variable","states":3,"field":1})", "two states"},
      {R"({"op":"set_unary","variable":"c","unary":[1,2]})", "3 positive numbers"},
      {R"({"op":"set_unary","variable":"c","field":1})", "two states"},
      {R"({"op":"clamp","variable":"c","value":3})", "0 to 2"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":"x"})", "number"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1e300})", "10000"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1e999})", "JSON"},
      {R"({"op":"add_factor","variables":[0,1],"table":[1,2,3]})", "4 positive numbers"},
      {R"({"op":"add_factor","variables":[0,1],"table":[1,2,3,0]})", "4 positive numbers"},
      {R"({"op":"add_factor","variables":[0,1],"table":[1,2,3,"4"]})", "4 positive numbers"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1,"name":"f"})", "taken"},
      {R"({"op":"add_factor","variables":[0,1],"coupling":1,"name":""})", "name"},
      {R"({"op":"add_variable","name":"a"})", "taken"},
      {R"({"op":"add_variable","unary":[1]})", "2 to 64 states"},
      {R"({"op":"add_variable","unary":[1,1],"field":0})", "both"},
      {R"({"op":"remove_factor","factor":5})", "factor"},
      {R"({"op":"remove_factor"})", "factor"},
      {R"({"op":"set_unary","variable":"a"})", "unary"},
      {R"({"op":"clamp","variable":"a","value":2})", "0 or 1"},
      {R"({"op":"clamp","value":1})", "variable"},
      {R"({"op":"release","variable":[]})", "variable"},
      {R"({"op":"remove_variable","variable":"q"})", "\"q\""},
      {R"({"op":"sweep","count":-3})", "whole number"},
      {R"({"op":"marginals","variables":["a","q"]})", "\"q\""},
      {R"({"op":"marginals","variables":3})", "list"},
      {"{\"op\":\"\xff\"}", "JSON"},
  };
  std::uint64_t line = 4;
  for (const auto& [text, part] : bad) {
    const json answer = session.say(text);
    ++line;
    ASSERT_TRUE(answer.is_object()) << text;
    EXPECT_EQ(answer["line"], line) << text;
    EXPECT_NE(answer["error"].get<std::string>().find(part), std::string::npos) << text << "\n" << answer;
  }
  EXPECT_EQ(session.stream.errors(), bad.size());
  EXPECT_EQ(session.model.variable_count(), 3U);
  EXPECT_EQ(session.model.factor_count(), 1U);
  EXPECT_EQ(session.model.sweeps(), 0U);
  EXPECT_FALSE(session.model.is_clamped(0));
  EXPECT_EQ(session.model.word(0), word);
}

TEST(EditStream, SweepsAndAnswersOnItsOwn) {
  Session session({.edits_per_sweep = 2, .every = 3});
  session.say(R"({"op":"add_variable","name":"a"})");
  EXPECT_EQ(session.model.sweeps(), 0U);
  for (int edit = 0; edit < 4; ++edit) session.say(R"({"op":"set_unary","variable":"a","field":1})");
  EXPECT_EQ(session.model.sweeps(), 2U);
  const json answer = session.say(R"({"op":"sweep"})");
  EXPECT_EQ(answer["sweeps"], 3);
  EXPECT_EQ(answer["variables"], json({"a"}));
  EXPECT_TRUE(session.say("").is_null());
}

}  // namespace
}  // namespace drover
