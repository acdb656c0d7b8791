// Draws into a file (drover/io/draws.hpp), whole or not at all.
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
  void take(std::uint32_t chain, std::span<const Value> assignment, double log_score) override;
  /// Completes the file; `answer` then speaks of the whole of it.
  void finish(Samples& answer);

 private:
  std::string path_;
  std::size_t chains_ = 0;
  std::unique_ptr<DrawWriter> writer_;
};

}  // namespace drover
