// Draws into a file (drover/io/draws.hpp), whole or not at all; a run that goes on completes the file of the
// run before it.
#pragma once

#include <memory>
#include <string>

#include "drover/io/draws.hpp"
#include "drover/task/inference.hpp"

namespace drover {

class DrawFileSink : public DrawSink {
 public:
  explicit DrawFileSink(std::string path) : path_(std::move(path)) {}

  void begin(const ModelAnswer& answer) override;
  /// Draws that the file already holds are kept: it becomes what an uninterrupted run would have written.
  /// Raises usage when the file is of another run.
  void resume(std::uint64_t draws) override;
  void take(std::uint32_t chain, std::span<const Value> assignment, double log_score) override;
  /// Completes the file; `answer` then speaks of the whole of it.
  void finish(Samples& answer);

 private:
  std::string path_;
  std::size_t chains_ = 0;
  std::size_t variables_ = 0;
  std::uint64_t missing_ = 0;  ///< draws of each chain that an earlier run wrote elsewhere
  std::unique_ptr<DrawWriter> writer_;
};

}  // namespace drover
