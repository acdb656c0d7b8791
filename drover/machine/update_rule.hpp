// How parameters follow a gradient: plain steps (SGD), momentum, Adam; with L1 and L2 and a falling rate.
//
// Source: Polyak 1964 (momentum); D. Kingma, J. Ba, Adam: a method for stochastic optimization, ICLR 2015.
// The gradient points uphill (of the log likelihood). L2 is part of the gradient; L1 is applied after the
// step as a shrinkage towards zero that stops at zero (proximal), so that weights become exactly zero. The
// rate of step t (0, 1, ...) is rate / (1 + decay t).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "drover/core/option_list.hpp"

namespace drover {

enum class StepRule { sgd, momentum, adam };

template <>
struct ChoiceNames<StepRule> {
  static constexpr std::array names = {std::pair{StepRule::adam, std::string_view("adam")},
                                       std::pair{StepRule::momentum, std::string_view("momentum")},
                                       std::pair{StepRule::sgd, std::string_view("sgd")}};
};

struct UpdateOptions {
  StepRule rule = StepRule::adam;
  double rate = 0.001;
  double decay = 0;
  double momentum = 0.9;  ///< of momentum; Adam's first decay
  double second = 0.999;  ///< Adam's second decay
  double l1 = 0;
  double l2 = 0;
};

/// The rule for one array of parameters.
class UpdateRule {
 public:
  UpdateRule(const UpdateOptions& options, std::size_t size);

  /// One step; `penalised` says whether L1 and L2 count for these parameters (weights yes, biases no). The
  /// rate is multiplied by `share`.
  void step(std::span<float> parameters, std::span<const float> gradient, bool penalised, double share = 1);

  template <class Archive>
  void visit(Archive& archive) {
    archive(steps_);
    archive(velocity_);
    archive(square_);
  }

 private:
  UpdateOptions options_;
  std::uint64_t steps_ = 0;
  std::vector<float> velocity_;  ///< or Adam's first moment
  std::vector<float> square_;    ///< Adam's second moment
};

}  // namespace drover
