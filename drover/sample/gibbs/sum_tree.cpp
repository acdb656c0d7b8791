#include "drover/sample/gibbs/sum_tree.hpp"

namespace drover {

namespace {

double sum_of_eight(const double* a) {
  return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

}  // namespace

SumTree::SumTree(std::size_t size) : size_(size) {
  std::size_t begin = 0, count = size;
  for (; count > 1; count = (count + fan - 1) / fan) {
    levels_.push_back(begin);
    begin += (count + fan - 1) / fan * fan;
  }
  levels_.push_back(begin);
  sums_.assign(begin + 1, 0.0);
}

void SumTree::update(std::vector<std::uint32_t>& changed) {
  for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
    const double* below = sums_.data() + levels_[level];
    double* above = sums_.data() + levels_[level + 1];
    std::size_t kept = 0;
    for (const std::uint32_t index : changed) {
      const auto parent = static_cast<std::uint32_t>(index / fan);
      if (kept > 0 && changed[kept - 1] == parent) continue;
      changed[kept++] = parent;
      above[parent] = sum_of_eight(below + parent * fan);
    }
    changed.resize(kept);
  }
}

void SumTree::rebuild() {
  for (std::size_t level = 0; level + 1 < levels_.size(); ++level) {
    const std::size_t nodes = (levels_[level + 1] - levels_[level]) / fan;
    for (std::size_t k = 0; k < nodes; ++k)
      sums_[levels_[level + 1] + k] = sum_of_eight(sums_.data() + levels_[level] + k * fan);
  }
}

std::size_t SumTree::find(double target) const {
  std::size_t at = 0;
  // Rounding may leave a target at or beyond the sum of the right half; a half of sum zero is never entered.
  const auto goes_right = [&](double left, double right) {
    if (!(target >= left && right > 0)) return false;
    target -= left;
    return true;
  };
  for (std::size_t level = levels_.size() - 1; level-- > 0;) {
    at *= fan;
    const double* a = sums_.data() + levels_[level] + at;
    std::size_t k = goes_right((a[0] + a[1]) + (a[2] + a[3]), (a[4] + a[5]) + (a[6] + a[7])) ? 4 : 0;
    k += goes_right(a[k] + a[k + 1], a[k + 2] + a[k + 3]) ? 2 : 0;
    k += goes_right(a[k], a[k + 1]) ? 1 : 0;
    at += k;
  }
  return at;
}

}  // namespace drover
