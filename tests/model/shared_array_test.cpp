#include "drover/core/shared_array.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "drover/compile/graph.hpp"
#include "drover/core/random.hpp"
#include "drover/model/builders.hpp"

namespace drover {
namespace {

template <class T>
const T* place(const SharedArray<T>& array) {
  return array.data();
}

TEST(SharedArray, CopiesShareUntilOneIsChanged) {
  SharedArray<int> a = {1, 2, 3};
  const SharedArray<int> b = a;
  EXPECT_EQ(place(a), place(b));
  a[1] = 7;
  EXPECT_NE(place(a), place(b));
  EXPECT_EQ(a, (std::vector<int>{1, 7, 3}));
  EXPECT_EQ(b, (std::vector<int>{1, 2, 3}));
  const int* const own = place(a);
  a[2] = 8;  // nobody else has it: no copy
  EXPECT_EQ(place(a), own);
  SharedArray<int> c = b;
  c.clear();
  EXPECT_TRUE(c.empty());
  EXPECT_EQ(b.size(), 3U);
  c = b;
  const SharedArray<int> moved = std::move(c);
  EXPECT_EQ(place(moved), place(b));
}

// Every change, in random order, to copies of copies: each is what a vector of its own would be.
TEST(SharedArray, IsAVectorToEachHolder) {
  RandomSequence random(1, Stream::learn);
  std::vector<SharedArray<int>> arrays(5);
  std::vector<std::vector<int>> expected(5);
  for (int step = 0; step < 5000; ++step) {
    const std::size_t k = random.below(5), other = random.below(5);
    const int value = static_cast<int>(random.below(100));
    SharedArray<int>& array = arrays[k];
    std::vector<int>& vector = expected[k];
    switch (random.below(8)) {
      case 0:
        array = std::as_const(arrays[other]);
        vector = std::vector<int>(expected[other]);
        break;
      case 1:
        array.assign(other, value);
        vector.assign(other, value);
        break;
      case 2: {
        const std::vector<int> more = expected[other];
        array.append(more);
        vector.insert(vector.end(), more.begin(), more.end());
        break;
      }
      case 3:
        array.resize(value / 10, value);
        vector.resize(value / 10, value);
        break;
      case 4:
        for (int& one : array) one += value;
        for (int& one : vector) one += value;
        break;
      case 5:
        if (vector.empty()) break;
        array.back() = array.front() = value;
        array.pop_back();
        vector.front() = value;
        if (vector.size() > 1) vector.back() = value;
        vector.pop_back();
        break;
      default:
        array.push_back(value);
        vector.push_back(value);
        break;
    }
    if (vector.size() > 50) array.clear(), vector.clear();
    for (std::size_t a = 0; a < arrays.size(); ++a) ASSERT_EQ(arrays[a], expected[a]) << step;
  }
}

TEST(SharedArray, ThreadsMayHoldCopies) {
  const SharedArray<int> whole(std::vector<int>(1000, 1));
  std::vector<std::thread> threads;
  std::vector<int> sums(4, 0);
  for (std::size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        SharedArray<int> own = whole;
        own[round] = 2;
        for (int value : std::as_const(own)) sums[t] += value;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, std::vector<int>(4, 200 * 1001));
}

TEST(SharedArray, AGraphHoldsItsModelsNumbersOnce) {
  Model model = ising(grid_edges(4, 3, false), Draw::normal(0, 1), Draw::normal(0, 1), 1);
  Graph graph = compile(model);
  EXPECT_EQ(place(graph.spin_pairs.first), place(model.spin_pairs.first));
  EXPECT_EQ(place(graph.spin_pairs.second), place(model.spin_pairs.second));
  EXPECT_EQ(place(graph.spin_pairs.couplings), place(model.spin_pairs.couplings));
  EXPECT_EQ(place(graph.unary), place(model.unaries.log_values));
  EXPECT_EQ(place(graph.unary_offsets), place(model.unaries.offsets));
  EXPECT_EQ(place(graph.model_variable), place(graph.free_variable));
  const std::vector<double> couplings = model.spin_pairs.couplings;
  graph.spin_pairs.couplings[0] += 1;
  graph.unary[0] += 1;
  EXPECT_EQ(model.spin_pairs.couplings, couplings);
  EXPECT_EQ(graph.unary[0], std::as_const(model).unaries.log_values[0] + 1);
}

// What is not as a graph has it is put right in a copy, and the model stays as it was.
TEST(SharedArray, AGraphThatDiffersFromItsModelHasItsOwn) {
  Model model = ising(grid_edges(4, 3, false), Draw::normal(0, 1), Draw::normal(0, 1), 1);
  std::swap(model.spin_pairs.first[2], model.spin_pairs.second[2]);
  model.unaries.log_values[4] = -0.0;
  const Model before = model;
  const Graph graph = compile(model);
  EXPECT_LT(graph.spin_pairs.first[2], graph.spin_pairs.second[2]);
  EXPECT_FALSE(std::signbit(graph.unary[4]));
  EXPECT_EQ(model.spin_pairs.first, before.spin_pairs.first);
  EXPECT_TRUE(std::signbit(std::as_const(model).unaries.log_values[4]));

  Model two = ising(grid_edges(4, 3, false), Draw::normal(0, 1), Draw::normal(0, 1), 1);
  two.unaries.add(3, std::vector<double>{0.5, -0.5});  // a second factor of a variable
  const Graph sums = compile(two);
  EXPECT_EQ(sums.unary[6], std::as_const(two).unaries.log_values[6] + 0.5);

  Evidence evidence;
  evidence.add(0, 1);
  EXPECT_EQ(compile(model, evidence).size(), 11U);
  EXPECT_EQ(compile(model, evidence).free_variable[0], no_variable);
}

}  // namespace
}  // namespace drover
