// Draws in memory, one byte a value where that is enough, as Python sees them.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "drover/task/inference.hpp"

namespace drover::python {

/// Row-major (draw, chain, variable) and (draw, chain).
struct DrawArrays {
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>> values;
  std::vector<double> log_scores;
};

class ArraySink : public DrawSink {
 public:
  void begin(const ModelAnswer& answer) override {
    if (answer.max_cardinality > 256) arrays->values = std::vector<std::uint16_t>();
  }
  void take(std::uint32_t /*chain*/, std::span<const Value> assignment, double log_score) override {
    std::visit([&](auto& values) { values.insert(values.end(), assignment.begin(), assignment.end()); },
               arrays->values);
    arrays->log_scores.push_back(log_score);
  }
  std::shared_ptr<DrawArrays> arrays = std::make_shared<DrawArrays>();
};

}  // namespace drover::python
