// Pictures: which models are some, and that their samplers draw from the model as it was changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/model/binary_machine.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/live_picture.hpp"

namespace drover {
namespace {

using nlohmann::json;

TEST(PictureShape, GridsAndMachinesAreFound) {
  const auto shape = [](const Model& model) { return picture_shape(model); };
  const auto grid = shape(grid_ising(7, 4, false, 0.3, 0.1));
  ASSERT_TRUE(grid);
  EXPECT_TRUE(grid->is_grid);
  EXPECT_EQ(grid->width, 7u);
  EXPECT_EQ(grid->height, 4u);
  for (const auto& [width, height] : {std::pair{5u, 9u}, {8u, 3u}, {3u, 3u}, {4u, 4u}}) {
    const auto torus = shape(ising(grid_edges(width, height, true), Draw::sign(1), Draw::constant(0), 1));
    ASSERT_TRUE(torus) << width;
    EXPECT_EQ(torus->width, width);
    EXPECT_EQ(torus->height, height);
  }
  const auto colours = shape(potts(grid_edges(6, 5, false), 4, Draw::constant(1), Draw::constant(0), 1));
  ASSERT_TRUE(colours);
  EXPECT_EQ(colours->states, 4u);
  EXPECT_EQ(colours->width, 6u);
  const auto machine = shape(to_model(restricted_machine(28 * 28, 30)));
  ASSERT_TRUE(machine);
  EXPECT_FALSE(machine->is_grid);
  EXPECT_EQ(machine->width, 28u);
  EXPECT_EQ(machine->height, 28u);
  EXPECT_FALSE(shape(ising(chain_edges(20), Draw::constant(1), Draw::constant(0), 1)));
  EXPECT_FALSE(shape(ising(complete_edges(16), Draw::constant(1), Draw::constant(0), 1)));
  EXPECT_FALSE(shape(random_tables(30, 3, 20, 3, Draw::normal(0, 1), 0, 1)));
  EXPECT_FALSE(shape(Model{}));
  EXPECT_EQ(sheet_shape(grid_ising(7, 4, false, 0.3, 0.1), 5, 5).size(), 25u);
  EXPECT_THROW(sheet_shape(grid_ising(7, 4, false, 0.3, 0.1), 6, 5), Error);
}

/// A grid of many blocks of 3 x 3 pixels, all alike, with nothing between them: each is small enough to be
/// enumerated, and together they are as many independent chains.
struct Blocks {
  std::uint32_t across, states;
  Model model;
  std::vector<double> unary;               // of a pixel of the block and its state
  std::vector<std::vector<double>> pairs;  // right and down of a pixel, tables or none

  std::uint32_t side() const { return 3 * across; }
  VariableId pixel(std::uint32_t block, std::uint32_t p) const {
    return (block / across * 3 + p / 3) * side() + block % across * 3 + p % 3;
  }
  Blocks(std::uint32_t across_, std::uint32_t states_, std::uint64_t seed)
      : across(across_), states(states_) {
    RandomSequence random(seed, Stream::generate);
    const auto number = [&](double scale) { return scale * (2 * random.uniform() - 1); };
    for (std::uint32_t i = 0; i < 9 * states; ++i) unary.push_back(number(1));
    for (std::uint32_t i = 0; i < 18; ++i) {
      std::vector<double> table;
      const double coupling = number(0.8);
      for (std::uint32_t a = 0; a < states; ++a)
        for (std::uint32_t b = 0; b < states; ++b)
          table.push_back(states == 2 ? (a == b ? coupling : -coupling) : number(0.8));
      const std::uint32_t p = i / 2;
      const bool inside = i % 2 == 0 ? p % 3 < 2 : p / 3 < 2;
      pairs.push_back(inside ? table : std::vector<double>(states * states, 0.0));
    }
    model.cardinalities.assign(std::size_t{side()} * side(), states);
    for (std::uint32_t block = 0; block < across * across; ++block)
      for (std::uint32_t p = 0; p < 9; ++p) {
        const VariableId here = pixel(block, p);
        model.unaries.add(here, std::span(unary).subspan(p * states, states));
        for (std::uint32_t way = 0; way < 2; ++way) {
          const VariableId next = here + (way == 0 ? 1 : side());
          if (way == 0 ? here % side() == side() - 1 : next >= side() * side()) continue;
          const VariableId scope[2] = {here, next};
          model.tables.add(scope, pairs[2 * p + way]);
        }
      }
  }
  /// The mean level of each pixel of a block, 0 .. 1, with the middle one held.
  std::vector<double> truth(const PictureTerms& terms, std::int32_t middle) const {
    std::vector<double> sums(9, 0.0);
    double total = 0;
    std::vector<std::uint32_t> x(9, 0);
    for (bool more = true; more;) {
      double score = 0;
      for (std::uint32_t p = 0; p < 9; ++p) {
        score += unary[p * states + x[p]] + terms.field * (2.0 * x[p] / (states - 1) - 1);
        if (p % 3 < 2) score += pairs[2 * p][x[p] * states + x[p + 1]];
        if (p / 3 < 2) score += pairs[2 * p + 1][x[p] * states + x[p + 3]];
      }
      const double weight =
          middle >= 0 && x[4] != static_cast<std::uint32_t>(middle) ? 0 : std::exp(score / terms.temperature);
      total += weight;
      for (std::uint32_t p = 0; p < 9; ++p) sums[p] += weight * x[p] / (states - 1);
      std::uint32_t p = 0;
      while (p < 9 && ++x[p] == states) x[p++] = 0;
      more = p < 9;
    }
    for (double& sum : sums) sum /= total;
    return sums;
  }
};

void expect_mean(const Blocks& blocks, PictureMethod method, const std::string& summary) {
  PictureShape shape = *picture_shape(blocks.model);
  EXPECT_EQ(shape.levels, blocks.states == 2);  // a few states need have no order,
  shape.levels = true;                          // unless one is told
  ASSERT_EQ(shape.width, blocks.side());
  const auto sampler = make_picture_sampler(blocks.model, shape, method, 3);
  EXPECT_NE(sampler->summary().find(summary), std::string::npos) << sampler->summary();
  const std::uint32_t count = blocks.across * blocks.across;
  const auto check = [&](const PictureTerms& terms, std::int32_t middle) {
    for (int sweep = 0; sweep < 100; ++sweep) sampler->sweep();
    sampler->set_terms(terms);  // and the mean forgets what came before
    for (int sweep = 0; sweep < 800; ++sweep) sampler->sweep();
    std::vector<std::uint8_t> levels(shape.size()), values(shape.size());
    sampler->mean(levels);
    sampler->read(0, values);
    const std::vector<double> truth = blocks.truth(terms, middle);
    for (std::uint32_t p = 0; p < 9; ++p) {
      double sum = 0, squares = 0;
      for (std::uint32_t block = 0; block < count; ++block) {
        const double level = levels[blocks.pixel(block, p)] / 255.0;
        sum += level;
        squares += level * level;
        ASSERT_LT(values[blocks.pixel(block, p)], blocks.states);
        if (p == 4 && middle >= 0) {
          ASSERT_EQ(values[blocks.pixel(block, p)], middle);
        }
      }
      // Blocks are independent; a level is rounded to 1 / 255.
      const double mean = sum / count,
                   error = std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1));
      EXPECT_NEAR(mean, truth[p], 5 * error + 0.5 / 255) << summary << ", pixel " << p;
    }
  };
  check({}, -1);
  const PictureTerms warmer{1.6, 0.3};
  sampler->set_terms(warmer);
  check(warmer, -1);
  std::vector<PixelChange> held, free;
  for (std::uint32_t block = 0; block < count; ++block) {
    held.push_back({blocks.pixel(block, 4), 1});
    free.push_back({blocks.pixel(block, 4), -1});
  }
  sampler->hold(held);
  check(warmer, 1);
  sampler->set_terms({0.8, -0.2});
  check({0.8, -0.2}, 1);
  sampler->hold(free);
  sampler->set_terms({});
  check({}, -1);
}

TEST(PictureSampler, EditedChainsFollowTheModel) {
  expect_mean(Blocks(8, 2, 1), PictureMethod::chains, "primal-dual");
}
TEST(PictureSampler, OneChainOnALargeGrid) {
  expect_mean(Blocks(34, 2, 2), PictureMethod::gibbs, "Gibbs by colours");
}
TEST(PictureSampler, ChainsOnASmallGrid) {
  expect_mean(Blocks(6, 2, 3), PictureMethod::gibbs, "Gibbs, 64 chains");
}
TEST(PictureSampler, PixelsOfThreeStates) {
  expect_mean(Blocks(5, 3, 4), PictureMethod::gibbs, "Gibbs, 64 chains");
}

/// Pixels that know nothing of each other: what they were drawn from is the same in every sweep.
TEST(PictureSampler, StatesWithoutAnOrderShowTheMostProbableOne) {
  Model model;
  model.cardinalities.assign(16, 3);
  for (VariableId p = 0; p < 16; ++p) {
    std::vector<double> logs(3, std::log(0.1));
    logs[p % 3] = std::log(0.8);
    model.unaries.add(p, logs);
    for (const VariableId next : {p + 1, p + 4})
      if (next < 16 && (next == p + 4 || next % 4 != 0))
        model.tables.add(std::vector<VariableId>{p, next}, std::vector<double>(9, 0.0));
  }
  const PictureShape shape = *picture_shape(model);
  ASSERT_FALSE(shape.levels);
  const auto sampler = make_picture_sampler(model, shape, PictureMethod::gibbs, 1);
  const PixelChange held[] = {{5, 1}};
  sampler->hold(held);
  for (int sweep = 0; sweep < 20; ++sweep) sampler->sweep();
  std::vector<std::uint8_t> bytes(16);
  sampler->mean(bytes);
  for (std::uint32_t p = 0; p < 16; ++p)
    EXPECT_EQ(bytes[p], p == 5 ? 32 + 31 : 32 * (p % 3) + std::lround(31 * 0.8)) << p;
}

TEST(PictureSampler, EverythingCanBeHeld) {
  const Model model = grid_ising(4, 4, false, 0.3, 0);
  const auto sampler = make_picture_sampler(model, *picture_shape(model), PictureMethod::gibbs, 1);
  std::vector<PixelChange> all;
  for (std::uint32_t p = 0; p < 16; ++p) all.push_back({p, static_cast<std::int32_t>(p % 2)});
  sampler->hold(all);
  sampler->sweep();
  std::vector<std::uint8_t> values(16), levels(16);
  sampler->read(0, values);
  sampler->mean(levels);
  for (std::uint32_t p = 0; p < 16; ++p) {
    EXPECT_EQ(values[p], p % 2);
    EXPECT_EQ(levels[p], p % 2 * 255);
  }
}

/// A frame taken apart.
struct Frame {
  json said;
  std::string state, mean;
};
/// Bits as bytes of 0 and 127, so that states are the same either way.
Frame frame_of(const std::string& bytes) {
  Frame frame;
  std::size_t length = 0;
  for (unsigned byte = 0; byte < 4; ++byte)
    length |= std::size_t{static_cast<unsigned char>(bytes[byte])} << 8 * byte;
  frame.said = json::parse(bytes.substr(4, length));
  const std::size_t pixels = frame.said["across"].get<std::size_t>() * frame.said["down"].get<std::size_t>();
  const bool bits = frame.said["bits"];
  const std::size_t taken = bits ? (pixels + 7) / 8 : pixels;
  frame.state = bytes.substr(4 + length, taken);
  frame.mean = bytes.substr(4 + length + taken);
  if (bits) {
    std::string levels(pixels, '\0');
    for (std::size_t p = 0; p < pixels; ++p)
      levels[p] = static_cast<char>(127 * (static_cast<unsigned char>(frame.state[p / 8]) >> p % 8 & 1));
    frame.state = levels;
  }
  return frame;
}
/// The first frame from now on that passes.
template <class Test>
Frame wait_for_picture(LivePicture& picture, Test test) {
  PictureView view;
  for (int tries = 0; tries < 2000; ++tries) {
    view.mean = 0;  // with every frame
    const std::string bytes = picture.frame(view, 0.5);
    if (bytes.empty()) continue;
    Frame frame = frame_of(bytes);
    if (test(frame)) return frame;
  }
  ADD_FAILURE() << "no such frame came";
  return {};
}

TEST(LivePicture, StrokesHoldPixelsAndClearSetsThemFree) {
  const Model model = grid_ising(20, 10, false, 0.3, 0);
  LivePicture picture(model, *picture_shape(model), 1);
  Frame frame = wait_for_picture(picture, [](const Frame& one) { return one.said["sweeps"] > 5; });
  EXPECT_EQ(frame.said["width"], 20);
  EXPECT_EQ(frame.said["height"], 10);
  EXPECT_EQ(frame.state.size(), 200u);
  EXPECT_EQ(frame.mean.size(), 200u);
  EXPECT_EQ(frame.said["held"], 0);
  picture.change({.strokes = {{2.5, 3.5, 9.5, 3.5, 0.6, 1}}});
  frame = wait_for_picture(picture, [](const Frame& one) { return one.said["held"] > 0; });
  EXPECT_EQ(frame.said["held"], 8);  // x = 2 .. 9 of row 3
  for (std::size_t p = 0; p < 200; ++p) {
    const bool inside = p / 20 == 3 && p % 20 >= 2 && p % 20 <= 9;
    EXPECT_EQ(static_cast<unsigned char>(frame.state[p]) >= 128, inside) << p;
    if (inside) {
      EXPECT_EQ(static_cast<unsigned char>(frame.state[p]), 255);
    }
  }
  picture.change({.strokes = {{2.5, 3.5, 2.5, 3.5, 0.6, -1}}});
  wait_for_picture(picture, [](const Frame& one) { return one.said["held"] == 7; });
  picture.change({.temperature = 2.5, .method = PictureMethod::gibbs});
  frame = wait_for_picture(picture, [](const Frame& one) { return one.said["method"] == "gibbs"; });
  EXPECT_EQ(frame.said["held"], 7);
  EXPECT_EQ(frame.said["temperature"], 2.5);
  picture.change({.clear = true});
  wait_for_picture(picture, [](const Frame& one) { return one.said["held"] == 0; });
  for (const PictureChange& wrong :
       {PictureChange{.temperature = 0}, PictureChange{.field = std::nan("")},
        PictureChange{.strokes = {{0, 0, 1e9, 0, 1, 1}}}, PictureChange{.strokes = {{0, 0, 1, 0, 1, 2}}}})
    EXPECT_THROW(picture.change(wrong), Error);
}

TEST(LivePicture, PausesAndShowsWhatIsPaintedMeanwhile) {
  const Model model = grid_ising(16, 16, false, 0.3, 0);
  LivePicture picture(model, *picture_shape(model), 1);
  wait_for_picture(picture, [](const Frame& one) { return one.said["sweeps"] > 5; });
  picture.change({.paused = true});
  wait_for_picture(picture, [](const Frame& one) { return one.said["paused"] == true; });
  const std::uint64_t sweeps = picture.sweeps();
  picture.change({.strokes = {{8, 8, 8, 8, 2, 0}}});
  wait_for_picture(picture, [](const Frame& one) { return one.said["held"] > 0; });
  EXPECT_EQ(picture.sweeps(), sweeps);
  picture.change({.paused = false});
  wait_for_picture(picture, [&](const Frame& one) { return one.said["sweeps"] > sweeps + 3; });
}

TEST(LivePicture, ChainsOfAMachineAreASheet) {
  BinaryMachine machine = restricted_machine(16, 4);
  const Model model = to_model(machine);
  LivePicture picture(model, *picture_shape(model), 1);
  picture.change({.strokes = {{1.5, 0.5, 1.5, 0.5, 0.5, 1}}});
  const Frame frame = wait_for_picture(picture, [](const Frame& one) { return one.said["held"] == 1; });
  EXPECT_EQ(frame.said["width"], 8 * 5 - 1);
  EXPECT_EQ(frame.mean.size(), 16u);
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t column = 0; column < 8; ++column)  // held in every chain
      EXPECT_EQ(static_cast<unsigned char>(frame.state[row * 5 * 39 + column * 5 + 1]), 255);
}

TEST(LivePicture, LargePicturesAreBits) {
  const Model model = grid_ising(301, 300, false, 0.2, 0);
  LivePicture picture(model, *picture_shape(model), 1);
  for (const double field : {20.0, -20.0}) {
    picture.change({.field = field});
    const Frame frame = wait_for_picture(picture, [&](const Frame& one) {
      return one.said["field"] == field && one.said["mean_level"] == (field > 0 ? 1 : 0);
    });
    EXPECT_EQ(frame.said["bits"], true);
    EXPECT_EQ(frame.state, std::string(301 * 300, field > 0 ? 127 : 0));
  }
}

/// Of a picture that stands still: as a whole, and as viewers get it who see fewer pixels.
TEST(LivePicture, ViewersGetAsManyPixelsAsTheySee) {
  for (const bool large : {true, false}) {  // bits, and bytes with pixels that are held
    const std::uint32_t width = large ? 301 : 40, height = large ? 290 : 30;
    const Model model = grid_ising(width, height, false, 0.3, 0);
    LivePicture picture(model, *picture_shape(model), 1);
    if (!large) picture.change({.strokes = {{5, 5, 30, 20, 3, 1}}});
    wait_for_picture(picture, [](const Frame& one) { return one.said["sweeps"] > 20; });
    picture.change({.paused = true});
    const Frame whole =
        wait_for_picture(picture, [](const Frame& one) { return one.said["paused"] == true; });
    ASSERT_EQ(whole.said["bits"], large);
    for (const std::uint32_t across : {1U, 7U, width - 1, width, width + 1}) {
      PictureView view{.across = across};
      const Frame frame = frame_of(picture.frame(view, 5));
      const std::size_t wide = std::min(across, width),
                        high = std::max<std::size_t>(1, std::lround(1.0 * wide * height / width));
      EXPECT_EQ(frame.said["width"], width);
      ASSERT_EQ(frame.said["across"], wide);
      ASSERT_EQ(frame.said["down"], high);
      ASSERT_EQ(frame.state.size(), wide * high);
      ASSERT_EQ(frame.mean.size(), wide * high);
      for (std::size_t y = 0; y < high; ++y)
        for (std::size_t x = 0; x < wide; ++x) {
          const auto from =
              static_cast<std::size_t>((static_cast<double>(y) + 0.5) * height / static_cast<double>(high)) *
                  width +
              static_cast<std::size_t>((static_cast<double>(x) + 0.5) * width / static_cast<double>(wide));
          ASSERT_EQ(frame.state[y * wide + x], whole.state[from]) << across << ": " << x << ", " << y;
          ASSERT_EQ(frame.mean[y * wide + x], whole.mean[from]) << across << ": " << x << ", " << y;
        }
      EXPECT_EQ(picture.frame(view, 0), "");  // nothing is new
      view.version = 0;
      EXPECT_EQ(frame_of(picture.frame(view, 5)).mean, "");  // which this viewer has had
    }
  }
}

TEST(LivePicture, RestsWhenNobodyLooks) {
  const Model model = grid_ising(8, 8, false, 0.3, 0);
  LivePicture picture(model, *picture_shape(model), 1, 0.2);
  wait_for_picture(picture, [](const Frame& one) { return one.said["sweeps"] > 5; });
  std::uint64_t before = 0;
  for (int tries = 0; tries < 1000 && before != picture.sweeps(); ++tries) {
    before = picture.sweeps();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(before, picture.sweeps());
  // Whoever looks again sees it as it is now, not as it was when the last one left some time ago.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  PictureView view;
  std::string bytes;
  while (bytes.empty()) bytes = picture.frame(view, 0.5);
  EXPECT_GT(frame_of(bytes).said["sweeps"], before);
}

}  // namespace
}  // namespace drover
