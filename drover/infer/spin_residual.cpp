#include "drover/infer/spin_residual.hpp"

#include <algorithm>
#include <cmath>

#include "drover/infer/spin_kernels.hpp"
#include "drover/infer/spin_rows.hpp"

namespace drover {

namespace {

constexpr float share_of_largest = 0.9F;           // of the changes that a round sends
constexpr std::size_t proposals_a_look = 1 << 18;  // between two questions whether to go on
constexpr float calm_fall = 0.5F;                  // of the largest change, in an iteration without damping

// Numbers that are not negative, and where the largest of them are.
class Maxima {
 public:
  explicit Maxima(std::size_t count) {
    do {
      const std::size_t blocks = (count + spin_block - 1) / spin_block;
      levels_.push_back({std::vector<float>(blocks * spin_block, 0.0F), {}, std::vector<char>(blocks, 0)});
      count = blocks;
    } while (count > 1);
    top_.assign(1, 0);
    found_.resize(levels_.front().values.size());
    places_.resize(found_.size());
  }

  float* data() { return levels_.front().values.data(); }
  /// Says that some of the numbers begin .. end have changed.
  void note(std::size_t begin, std::size_t end) {
    for (std::size_t b = begin / spin_block; b * spin_block < end; ++b) levels_.front().note(b);
  }
  /// Of all, after what was noted.
  float largest() {
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      float* const above = l + 1 < levels_.size() ? levels_[l + 1].values.data() : &largest_;
      largest_of_blocks(level.values.data(), level.changed, above);
      for (std::uint32_t b : level.changed) {
        level.is_changed[b] = 0;
        if (l + 1 < levels_.size()) levels_[l + 1].note(b / spin_block);
      }
      level.changed.clear();
    }
    return largest_;
  }
  /// The places of all above a limit, ascending.
  std::span<const std::uint32_t> above(float limit) {
    std::span<const std::uint32_t> blocks = top_;
    for (std::size_t l = levels_.size(); l-- > 0;) {
      const std::size_t count = places_above(levels_[l].values.data(), blocks, limit, found_.data());
      std::swap(found_, places_);
      blocks = {places_.data(), count};
    }
    return blocks;
  }

 private:
  struct Level {
    std::vector<float> values;  // of the first, the numbers; then the largest of each block of those before
    std::vector<std::uint32_t> changed;
    std::vector<char> is_changed;  // of every block: whether it is among those

    void note(std::size_t block) {
      if (is_changed[block] == 0) changed.push_back(static_cast<std::uint32_t>(block));
      is_changed[block] = 1;
    }
  };
  std::vector<Level> levels_;
  float largest_ = 0;
  std::vector<std::uint32_t> top_, found_, places_;
};

class SpinResidual : public SpinEngine {
 public:
  explicit SpinResidual(const SpinProblem& problem) : SpinResidual(spin_rows(problem, {})) {}

  double iterate(double damping, double tolerance, const GoOn& go_on) override {
    if (!prepared_ && !prepare(go_on)) return HUGE_VAL;
    std::size_t sent = 0, proposals = 0;
    float largest = change_.largest();
    const float before = largest, kept = calm_ ? 0.0F : static_cast<float>(damping);
    const auto least = static_cast<float>(tolerance);
    while (sent < messages_ && largest > least) {
      sent += send(std::max(least, share_of_largest * largest), kept);
      proposals += propose();
      largest = change_.largest();
      if (proposals > proposals_a_look) {
        proposals = 0;
        if (go_on && !go_on()) break;
      }
    }
    calm_ = calm_ && largest <= calm_fall * before;
    return largest;
  }

  SpinPairMessages messages() const override {
    SpinPairMessages result;
    for (std::uint32_t place : to_second_) {
      const SpinBox& box = boxes_[place / spin_box];
      result.to_second.push_back(box.sent[place % spin_box] * log_of_two);
      result.to_first.push_back(box.received[place % spin_box] * log_of_two);
    }
    return result;
  }

  std::vector<double> log_odds() const override {
    std::vector<double> result;
    for (std::uint32_t row : first_box_) {
      double belief = boxes_[row].own;
      for (std::size_t b = row; b < row + boxes_[row].boxes; ++b)
        for (std::size_t e = 0; e < spin_box; ++e)
          belief += (appearance_.empty() ? 1.0 : appearance_[spin_box * b + e]) * boxes_[b].received[e];
      result.push_back(belief * log_of_two);
    }
    return result;
  }

 private:
  explicit SpinResidual(const SpinRows& rows)
      : semiring_(rows.semiring),
        strong_(rows.weights.strong),
        messages_(rows.message.size()),
        boxes_(boxes_of(rows)),
        change_(spin_box * boxes_.size()),
        is_noted_(boxes_.size(), 0) {
    const std::vector<std::size_t>& offsets = rows.offsets[0];
    std::vector<std::uint32_t> place(messages_);  // of every message
    std::uint32_t next = 0;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      first_box_.push_back(next);
      const std::size_t count = boxes_in(rows, r);
      for (std::size_t e = offsets[r]; e < offsets[r + 1]; ++e)
        place[e] = static_cast<std::uint32_t>(spin_box * next + e - offsets[r]);
      for (std::size_t b = 0; b < count; ++b) {
        boxes_[next + b].own = rows.own[r];
        boxes_[next + b].first = next;
        boxes_[next + b].boxes = static_cast<std::uint32_t>(count);
      }
      next += static_cast<std::uint32_t>(count);
    }
    if (!rows.appearance.empty()) appearance_.assign(spin_box * boxes_.size(), 0.0);
    for (std::size_t e = 0; e < messages_; ++e) {
      SpinBox& box = boxes_[place[e] / spin_box];
      const std::size_t at = place[e] % spin_box;
      box.received[at] = rows.message[rows.reverse[e]];
      box.sent[at] = rows.message[e];
      box.minus_size[at] = rows.weights.minus_size[e];
      box.decay[at] = rows.weights.decay[e];
      box.reverse[at] = place[rows.reverse[e]];
      if (!rows.appearance.empty()) appearance_[place[e]] = rows.appearance[e];
    }
    for (std::uint32_t e : rows.to_second) to_second_.push_back(place[e]);
  }

  static std::size_t boxes_in(const SpinRows& rows, std::size_t row) {
    return std::max<std::size_t>(1,
                                 (rows.offsets[0][row + 1] - rows.offsets[0][row] + spin_box - 1) / spin_box);
  }
  static std::vector<SpinBox> boxes_of(const SpinRows& rows) {
    std::size_t count = 0;
    for (std::size_t r = 0; r < rows.rows(); ++r) count += boxes_in(rows, r);
    return std::vector<SpinBox>(count);
  }

  // All proposals for the first time; false when stopped on the way.
  bool prepare(const GoOn& go_on) {
    constexpr std::size_t rows_at_once = 1024;
    for (std::size_t begin = 0; begin < first_box_.size(); begin += rows_at_once) {
      if (begin > 0 && go_on && !go_on()) return false;
      const std::size_t end = std::min(first_box_.size(), begin + rows_at_once);
      receivers_.assign(first_box_.begin() + static_cast<std::ptrdiff_t>(begin),
                        first_box_.begin() + static_cast<std::ptrdiff_t>(end));
      propose();
    }
    return prepared_ = true;
  }

  // Sends all messages that would change by more; returns their number. Their receivers are noted.
  std::size_t send(float limit, float damping) {
    const std::span<const std::uint32_t> places = change_.above(limit);
    // The boxes are anywhere in memory: they are asked for some messages ahead, those of the receivers a little later.
    constexpr std::size_t ahead = 8;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (k + 2 * ahead < places.size()) fetch(places[k + 2 * ahead] / spin_box);
      if (k + ahead < places.size()) {
        const std::uint32_t later = places[k + ahead];
        fetch(boxes_[later / spin_box].reverse[later % spin_box] / spin_box);
      }
      const std::uint32_t place = places[k];
      SpinBox& box = boxes_[place / spin_box];
      const std::size_t at = place % spin_box;
      const std::uint32_t reverse = box.reverse[at];
      SpinBox& other = boxes_[reverse / spin_box];
      box.sent[at] = other.received[reverse % spin_box] =
          box.proposed[at] + damping * (box.sent[at] - box.proposed[at]);
      change_.data()[place] *= damping;
      change_.note(place, place + 1);
      if (is_noted_[other.first] == 0) receivers_.push_back(other.first);
      is_noted_[other.first] = 1;
    }
    return places.size();
  }

  void fetch(std::size_t box) const {
    const char* const lines = reinterpret_cast<const char*>(boxes_.data() + box);
    for (std::size_t line = 0; line < sizeof(SpinBox); line += 64) __builtin_prefetch(lines + line, 1);
  }

  // New proposals for all that the receivers send; returns their number.
  std::size_t propose() {
    propose_spin_rows(semiring_, strong_, boxes_.data(), appearance_.empty() ? nullptr : appearance_.data(),
                      receivers_, change_.data());
    std::size_t count = 0;
    for (std::uint32_t row : receivers_) {
      const std::size_t end = row + boxes_[row].boxes;
      change_.note(spin_box * row, spin_box * end);
      count += spin_box * (end - row);
      is_noted_[row] = 0;
    }
    receivers_.clear();
    return count;
  }

  Semiring semiring_;
  bool strong_;
  std::size_t messages_;
  std::vector<SpinBox> boxes_;
  std::vector<double> appearance_;        // by place; empty means 1
  Maxima change_;                         // by place, from sent to proposed
  std::vector<std::uint32_t> first_box_;  // of every variable
  std::vector<std::uint32_t> to_second_;  // of every pair, the place
  std::vector<std::uint32_t> receivers_;  // whose proposals are to be made anew, by their first boxes
  std::vector<char> is_noted_;            // of every box: among them
  bool prepared_ = false;
  bool calm_ = true;  // every iteration so far halved the largest change
};

}  // namespace

std::unique_ptr<SpinEngine> spin_residual(const SpinProblem& problem) {
  return std::make_unique<SpinResidual>(problem);
}

}  // namespace drover
