// Draws into a file (drover/io/draws.hpp), whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drover/io/draws.hpp"
#include "drover/task/inference.hpp"

namespace drover {

/// What a file of draws says of its run: where it comes from, its warnings, the names of states, and that only one
/// draw in `every` is in it.
std::string draws_metadata(const Provenance& origin, const Names& names, std::uint64_t every = 1);
/// The names of the states of each variable; none where they are only their numbers.
std::vector<std::vector<std::string>> named_states(const Names& names);

class DrawFileSink : public DrawSink {
 public:
  explicit DrawFileSink(std::string path) : path_(std::move(path)) {}

  void begin(const ModelAnswer& answer) override;
  void take(std::uint32_t chain, std::span<const Value> assignment, double log_score) override;
  /// Completes the file; `answer` then speaks of the whole of it.
  void finish(Samples& answer);

 private:
  std::string path_;
  std::size_t chains_ = 0;
  std::unique_ptr<DrawWriter> writer_;
};

}  // namespace drover
