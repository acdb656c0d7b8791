// A model in parts: what its ranks sample is, bit for bit, what one process samples that has the whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "drover/compile/graph.hpp"
#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/spin_parts.hpp"
#include "drover/run/chain_run.hpp"
#include "drover/sample/dual/primal_dual_chain.hpp"
#include "drover/task/parts.hpp"
#include "drover/task/parts_checkpoint.hpp"
#include "tests/support/command.hpp"
#include "tests/support/thread_ranks.hpp"

namespace drover {
namespace {

using testing::TemporaryFolder;

Model sparse_model(std::uint32_t size, std::uint32_t pairs, std::uint64_t seed, double scale = 0.4) {
  RandomSequence random(seed, Stream::generate);
  Model model;
  model.cardinalities.assign(size, 2);
  for (VariableId v = 0; v < size; ++v) {
    const double field = random.normal();
    model.unaries.add(v, std::vector<double>{0, field});
  }
  for (std::uint32_t p = 0; p < pairs; ++p) {
    const VariableId a = random.below(size), b = random.below(size);
    if (a != b) model.spin_pairs.add(a, b, scale * random.normal());
  }
  return model;
}

// Neighbouring units hardly ever stay together.
std::vector<std::uint32_t> scattered(const WorkGraph& graph, std::uint32_t parts) {
  std::vector<std::uint32_t> part_of;
  for (std::size_t u = 0; u < graph.work.size(); ++u)
    part_of.push_back(static_cast<std::uint32_t>((u * 2654435761U >> 7) % parts));
  return part_of;
}

ChainOptions few_sweeps() {
  ChainOptions options;
  options.chains = 2;
  options.burn_in = 10;
  options.sweeps = 50;
  return options;
}

template <class Whole>
void expect_same_bits_in_parts(const Model& model, bool duals, std::uint32_t parts) {
  const Whole kernel(spin_graph(compile(model)));
  ChainRun alone(kernel, few_sweeps());
  alone.run(no_control());
  alone.finish();
  const TemporaryFolder place;
  const std::string folder = place.file("parts");
  write_parts(model, folder, {.parts = parts, .duals = duals}, no_control(), scattered);
  for (std::uint32_t count : {1U, 2U, 3U, 5U}) {
    if (count > parts) continue;
    std::vector<int> seen(model.variable_count(), 0);
    testing::run_ranks(count, [&](const Ranks& ranks) {
      RunControl control;
      control.share_with(ranks);
      const PartSpread spread(load_parts(folder, control).held, ranks);
      ChainRun run(spread, few_sweeps(), control);
      run.run(control);
      run.finish();
      EXPECT_EQ(run.trace().scores, alone.trace().scores) << count << " ranks";
      std::vector<double> mine, theirs;
      for (std::size_t e = 0; e < spread.entry_count(); ++e) {
        const std::uint32_t variable = spread.own_entries()[e];
        ++seen[variable];
        run.store().means_of_entry(e, mine);
        alone.store().means_of_entry(variable, theirs);
        EXPECT_EQ(mine, theirs) << "variable " << variable << " on " << count << " ranks";
      }
      ASSERT_EQ(run.convergence().size(), alone.convergence().size());
      for (std::size_t k = 0; k < run.convergence().size(); ++k)
        EXPECT_EQ(run.convergence()[k].rhat_max, alone.convergence()[k].rhat_max);
      if (count == 1) {
        EXPECT_EQ(spread.exchanges_per_sweep(), 0U);
      }
    });
    EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(seen.size()));  // each once
  }
}

TEST(Parts, GibbsGivesTheBitsOfTheWhole) {
  expect_same_bits_in_parts<GibbsSpinChain>(sparse_model(1500, 4000, 1), false, 7);
  expect_same_bits_in_parts<GibbsSpinChain>(sparse_model(90, 60, 2), false, 3);  // variables without pairs
  expect_same_bits_in_parts<GibbsSpinChain>(sparse_model(300, 600, 3, 9), false,
                                            5);  // beyond products of odds
  // So is one pair: the other ranks must know of it.
  Model strong = sparse_model(600, 1200, 4);
  strong.spin_pairs.add(5, 400, 60);
  expect_same_bits_in_parts<GibbsSpinChain>(strong, false, 5);
}

TEST(Parts, PrimalDualGivesTheBitsOfTheWhole) {
  expect_same_bits_in_parts<PrimalDualChain>(sparse_model(1500, 4000, 1), true, 7);
  expect_same_bits_in_parts<PrimalDualChain>(sparse_model(90, 60, 2), true, 3);
}

TEST(Parts, GridsAndToriAreGeneratedAsTheyAreConverted) {
  for (const auto& [width, height] :
       {std::pair{9U, 7U}, {40U, 33U}, {300U, 11U}, {3U, 200U}, {40U, 34U}, {4U, 200U}, {300U, 6U}})
    for (const auto& [duals, torus] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      if (torus && (width % 2 == 1 || height % 2 == 1)) continue;
      GenerateModelOptions grid;
      if (torus) grid.kind = GenerateKind::torus;
      grid.width = width;
      grid.height = height;
      grid.coupling_sd = 0.7;
      grid.field_sd = 1;
      const PartsOptions options{.parts = 4, .duals = duals};
      const TemporaryFolder place;
      const std::string generated = place.file("generated"), converted = place.file("converted/");
      testing::run_ranks(3, [&](const Ranks& ranks) {
        RunControl control;
        control.share_with(ranks);
        generate_parts(grid, generated, options, control);
      });
      write_parts(generate_model(grid).model, converted, options, no_control());
      testing::run_ranks(4, [&](const Ranks& ranks) {
        RunControl control;
        control.share_with(ranks);
        const HeldPart mine = load_parts(generated, control).held,
                       theirs = load_parts(converted, control).held;
        const std::string at =
            fmt::format("{} x {}, {}, rank {}", width, height, torus ? "torus" : "grid", ranks.rank());
        EXPECT_EQ(mine.graph.numbers, theirs.graph.numbers) << at;
        EXPECT_EQ(mine.graph.neighbours, theirs.graph.neighbours) << at;
        EXPECT_EQ(mine.graph.weights, theirs.graph.weights) << at;
        EXPECT_EQ(mine.graph.bias, theirs.graph.bias) << at;
        EXPECT_EQ(mine.graph.entry_of, theirs.graph.entry_of) << at;
        EXPECT_EQ(mine.own_variables, theirs.own_variables) << at;
        EXPECT_EQ(mine.terms, theirs.terms) << at;
        EXPECT_EQ(mine.counted, theirs.counted) << at;
        EXPECT_EQ(mine.plan.own, theirs.plan.own) << at;
        for (std::size_t c = 0; c < mine.plan.routes.size(); ++c)
          for (std::size_t r = 0; r < mine.plan.routes[c].size(); ++r) {
            EXPECT_EQ(mine.plan.routes[c][r].out, theirs.plan.routes[c][r].out) << at;
            EXPECT_EQ(mine.plan.routes[c][r].in, theirs.plan.routes[c][r].in) << at;
          }
        EXPECT_NEAR(mine.graph.log_constant, theirs.graph.log_constant, 1e-5) << at;
      });
    }
}

// The tables of a run that four ranks begin and three end are those of one process; so they are after an end by force
// while a later checkpoint was being written, of which some parts are there.
TEST(Parts, GoesOnFromACheckpointOfAnotherNumberOfRanks) {
  for (bool duals : {false, true}) {
    const TemporaryFolder place;
    const std::string folder = place.file("parts");
    write_parts(sparse_model(1500, 4000, 1), folder, {.parts = 6, .duals = duals}, no_control(), scattered);
    InferenceOptions options;
    options.chains.count = 2;
    options.chains.burn_in = 10;
    options.chains.sweeps = 150;
    const auto tables = [&](std::uint32_t ranks, const std::string& out) {
      std::string found;
      testing::run_ranks(ranks, [&](const Ranks& here) {
        RunControl control;
        control.share_with(here);
        marginals_of_parts(folder, place.file(out), options, control);
      });
      for (std::uint32_t part = 0; part < 6; ++part)
        found += testing::read_whole(part_name(place.file(out), part) + ".csv");
      return found;
    };
    const std::string whole = tables(1, "whole");
    ASSERT_GT(whole.size(), 20000U);
    options.checkpoint.file = place.file("state");
    options.chains.sweeps = 61;  // in the middle of a segment
    tables(4, "begun");
    options.checkpoint.resume = true;
    options.chains.sweeps = 150;
    // What a killed run leaves: parts of the next checkpoint.
    std::ofstream(place.file("state.0.part-00002"), std::ios::binary) << "cut off";
    EXPECT_EQ(tables(3, "ended"), whole) << (duals ? "duals" : "gibbs");
    // A run that begins anew, over what another left, is its own.
    options.checkpoint.resume = false;
    options.chains.sweeps = 61;
    tables(2, "again");
    options.checkpoint.resume = true;
    options.chains.sweeps = 150;
    EXPECT_EQ(tables(1, "ended again"), whole);
    // A part of another time, a damaged one, and a checkpoint of another model are not taken.
    const auto expect_refused = [&](const std::string& model, const std::string& what) {
      try {
        RunControl control;
        marginals_of_parts(model, "", options, control);
        ADD_FAILURE() << what;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_data) << what;
      }
    };
    const std::string part = place.file("state.0.part-00001"), content = testing::read_whole(part);
    ASSERT_GT(content.size(), 1000U);
    for (std::size_t at : {std::size_t{0}, std::size_t{9}, content.size() / 2, content.size() - 1}) {
      std::string changed = content;
      changed[at] = static_cast<char>(changed[at] ^ 4);
      std::ofstream(part, std::ios::binary) << changed;
      expect_refused(folder, fmt::format("byte {}", at));
    }
    // One of another sweep, whole in itself: the second number, and the checksum that fits.
    std::string later = content;
    later[8] = static_cast<char>(later[8] + 1);
    Checksum sum;
    sum.add(later.data(), later.size() - sizeof(std::uint64_t));
    const std::uint64_t fitting = sum.value();
    std::memcpy(later.data() + later.size() - sizeof(fitting), &fitting, sizeof(fitting));
    std::ofstream(part, std::ios::binary) << later;
    expect_refused(folder, "a part of another sweep");
    std::ofstream(part, std::ios::binary) << testing::read_whole(place.file("state.1.part-00001"));
    expect_refused(folder, "an earlier part");
    std::ofstream(part, std::ios::binary) << content;
    const std::string other = place.file("other");
    write_parts(sparse_model(1500, 4000, 2), other, {.parts = 6, .duals = duals}, no_control(), scattered);
    expect_refused(other, "another model");
    marginals_of_parts(folder, "", options, no_control());
    // Before a run that begins anew has written anything, what it finds is no longer a checkpoint.
    options.checkpoint.resume = false;
    ASSERT_TRUE(std::filesystem::exists(options.checkpoint.file));
    const LoadedParts loaded = load_parts(folder, no_control());
    const PartsCheckpoint begun(options.checkpoint, "another run", loaded, no_control());
    EXPECT_FALSE(std::filesystem::exists(options.checkpoint.file));
  }
}

TEST(Parts, WhatDoesNotFitIsNamed) {
  const auto kind_of = [](auto work) {
    try {
      work();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  Model three;
  three.cardinalities = {3, 3};
  three.potts_pairs.add(0, 1, 1.0);
  const TemporaryFolder place;
  const std::string folder = place.file("parts");
  EXPECT_EQ(kind_of([&] { write_parts(three, folder, {}, no_control()); }), ErrorKind::misfit);
  EXPECT_EQ(kind_of([&] { load_parts(folder, no_control()); }), ErrorKind::cannot_read);
  write_parts(sparse_model(200, 300, 4), folder, {.parts = 2}, no_control());
  testing::run_ranks(3, [&](const Ranks& ranks) {
    RunControl control;
    control.share_with(ranks);
    EXPECT_EQ(kind_of([&] { load_parts(folder, control); }), ErrorKind::misfit);
  });
  // Any byte that changes, and any cut, is noticed.
  const std::string path = part_name(folder, 1);
  const std::string content = testing::read_whole(path);
  for (std::size_t at = 0; at < content.size(); at += 97) {
    std::string changed = content;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    std::ofstream(path, std::ios::binary) << changed;
    EXPECT_EQ(kind_of([&] { load_parts(folder, no_control()); }), ErrorKind::bad_data) << "byte " << at;
    std::ofstream(path, std::ios::binary) << content.substr(0, at);
    EXPECT_EQ(kind_of([&] { load_parts(folder, no_control()); }), ErrorKind::bad_data) << "cut at " << at;
  }
}

}  // namespace
}  // namespace drover
