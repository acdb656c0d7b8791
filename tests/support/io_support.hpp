// Helpers for tests of files: reading from text, errors with their place.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/infer/enumerate.hpp"
#include "drover/io/model_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace drover::testing {

inline Model model_from(const std::string& text, ModelFormat format, std::size_t chunk = 4096) {
  TextSource source(text, "text", chunk);
  return read_model(source, format);
}

/// Runs `action` and expects an Error of this kind whose message holds all the words.
template <class Action>
void expect_error(Action action, ErrorKind kind, std::initializer_list<const char*> words) {
  try {
    action();
    ADD_FAILURE() << "no error was raised";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    for (const char* word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << "message: " << error.what() << "\nlacks: " << word;
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line";
  }
}

/// Every field equal, bit for bit; factors that share a table count by its values.
inline void expect_identical(const Model& a, const Model& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.cardinalities, b.cardinalities);
  EXPECT_EQ(a.log_constant, b.log_constant);
  EXPECT_EQ(a.unaries.variables, b.unaries.variables);
  EXPECT_EQ(a.unaries.offsets, b.unaries.offsets);
  EXPECT_EQ(a.unaries.log_values, b.unaries.log_values);
  EXPECT_EQ(a.spin_pairs.first, b.spin_pairs.first);
  EXPECT_EQ(a.spin_pairs.second, b.spin_pairs.second);
  EXPECT_EQ(a.spin_pairs.couplings, b.spin_pairs.couplings);
  EXPECT_EQ(a.potts_pairs.couplings, b.potts_pairs.couplings);
  EXPECT_EQ(a.tables.scope_offsets, b.tables.scope_offsets);
  EXPECT_EQ(a.tables.scopes, b.tables.scopes);
  ASSERT_EQ(a.tables.size(), b.tables.size());
  for (std::size_t f = 0; f < a.tables.size(); ++f) {
    const auto x = a.tables.values(f), y = b.tables.values(f);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << "table " << f;
  }
  EXPECT_EQ(a.variable_names, b.variable_names);
  EXPECT_EQ(a.state_names, b.state_names);
}

/// The same log Z and the same probability of every state, by enumeration.
inline void expect_same_distribution(const Model& a, const Model& b, double tolerance = 1e-12) {
  const Enumeration x = enumerate(compile(a)), y = enumerate(compile(b));
  EXPECT_NEAR(x.log_z, y.log_z, tolerance * (1 + std::abs(x.log_z)));
  ASSERT_EQ(x.probabilities.size(), y.probabilities.size());
  for (std::size_t s = 0; s < x.probabilities.size(); ++s)
    ASSERT_NEAR(x.probabilities[s], y.probabilities[s], tolerance) << "state " << s;
}

}  // namespace drover::testing
