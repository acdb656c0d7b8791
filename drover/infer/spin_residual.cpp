#include "drover/infer/spin_residual.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "drover/infer/spin_kernels.hpp"
#include "drover/infer/spin_rows.hpp"

namespace drover {

namespace {

constexpr std::size_t proposals_a_look = 1 << 18;  // between two questions whether to go on

// First in, first out.
class Queue {
 public:
  bool empty() const { return next_ == items_.size(); }
  void push(std::uint32_t item) { items_.push_back(item); }
  std::uint32_t pop() {
    const std::uint32_t item = items_[next_++];
    if (empty() || next_ > 4096 + items_.size() / 2) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(next_));
      next_ = 0;
    }
    return item;
  }

 private:
  std::vector<std::uint32_t> items_;
  std::size_t next_ = 0;
};

class SpinResidual : public SpinEngine {
 public:
  explicit SpinResidual(const SpinProblem& problem)
      : rows_(spin_rows(problem, {})),
        sender_(rows_.message.size()),
        proposed_(rows_.message.size()),
        change_(rows_.message.size(), 0.0),
        waits_in_(rows_.message.size(), nowhere),
        is_receiver_(rows_.rows(), 0),
        at_once_(std::clamp<std::size_t>(rows_.message.size() / 512, 1, 256)) {
    weights_.strong = rows_.weights.strong;
    for (std::size_t r = 0; r < rows_.rows(); ++r)
      for (std::size_t e = rows_.offsets[0][r]; e < rows_.offsets[0][r + 1]; ++e)
        sender_[e] = static_cast<std::uint32_t>(r);
  }

  double iterate(double damping, double tolerance, const GoOn& go_on) override {
    if (!prepared_ && !prepare(go_on)) return change();
    std::size_t sent = 0, proposals = 0;
    while (sent < rows_.message.size()) {
      const std::size_t batch = send_first(damping, tolerance);
      if (batch == 0) break;
      sent += batch;
      proposals += propose();
      if (proposals > proposals_a_look) {
        proposals = 0;
        if (go_on && !go_on()) break;
      }
    }
    return change();
  }
  SpinPairMessages messages() const override { return rows_.pair_messages(); }
  std::vector<double> log_odds() const override { return rows_.log_odds(); }

 private:
  static constexpr std::uint8_t nowhere = 255;
  static constexpr int queues = 128;  // changes of 1 and more, of 1/2 to 1, ...

  // All proposals for the first time; false when stopped on the way.
  bool prepare(const GoOn& go_on) {
    constexpr std::size_t rows_at_once = 1024;
    for (std::size_t begin = 0; begin < rows_.rows(); begin += rows_at_once) {
      if (begin > 0 && go_on && !go_on()) return false;
      for (std::size_t r = begin; r < std::min(rows_.rows(), begin + rows_at_once); ++r)
        receivers_.push_back(static_cast<std::uint32_t>(r));
      propose();
    }
    return prepared_ = true;
  }

  // The largest change, infinite when not all proposals are there.
  double change() const { return prepared_ ? *std::max_element(change_.begin(), change_.end()) : HUGE_VAL; }

  // Sends the first messages of the highest queue; returns their number. Their receivers are noted.
  std::size_t send_first(double damping, double tolerance) {
    std::size_t sent = 0;
    while (highest_ < queues && sent == 0) {
      Queue& queue = queues_[highest_];
      while (!queue.empty() && sent < at_once_) {
        const std::uint32_t e = queue.pop();
        if (waits_in_[e] != highest_) continue;  // has been moved
        waits_in_[e] = nowhere;
        if (change_[e] <= tolerance) continue;
        rows_.message[e] = proposed_[e] + damping * (rows_.message[e] - proposed_[e]);
        const std::uint32_t receiver = sender_[rows_.reverse[e]];
        if (!is_receiver_[receiver]) receivers_.push_back(receiver);
        is_receiver_[receiver] = 1;
        if (damping > 0) {
          change_[e] *= damping;
          wait(e);
        } else {
          change_[e] = 0;
        }
        ++sent;
      }
      if (queue.empty() && sent == 0) ++highest_;
    }
    return sent;
  }

  // New proposals for all that the receivers send; returns their number.
  std::size_t propose() {
    std::size_t count = 0;
    for (std::uint32_t r : receivers_) count += rows_.offsets[0][r + 1] - rows_.offsets[0][r];
    if (edges_.size() < count) {
      for (std::vector<double>* list : {&incoming_, &sent_, &weights_.minus_size, &weights_.decay})
        list->resize(count);
      edges_.resize(count);
    }
    std::size_t at = 0;
    for (std::uint32_t r : receivers_) {
      const double belief = rows_.belief(r, rows_.message.data());
      for (std::size_t e = rows_.offsets[0][r]; e < rows_.offsets[0][r + 1]; ++e, ++at) {
        incoming_[at] = belief - rows_.message[rows_.reverse[e]];
        weights_.minus_size[at] = rows_.weights.minus_size[e];
        weights_.decay[at] = rows_.weights.decay[e];
        edges_[at] = static_cast<std::uint32_t>(e);
      }
      is_receiver_[r] = 0;
    }
    receivers_.clear();
    std::fill_n(sent_.begin(), count, 0.0);
    send_spin_messages(rows_.semiring, incoming_.data(), weights_, 0, count, 0, sent_.data(), sent_.data());
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t e = edges_[k];
      proposed_[e] = sent_[k];
      change_[e] = spin_message_change(rows_.semiring, sent_[k], rows_.message[e]);
      wait(e);
    }
    return count;
  }

  // Puts a message into the queue of its change.
  void wait(std::uint32_t e) {
    if (change_[e] == 0) {
      waits_in_[e] = nowhere;
      return;
    }
    // The binary exponent; that of subnormal numbers is beyond the last queue all the same.
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(change_[e]) >> 52 & 2047) - 1023;
    const auto queue = static_cast<std::uint8_t>(std::clamp(-exponent, 0, queues - 1));
    if (waits_in_[e] == queue) return;
    waits_in_[e] = queue;
    queues_[queue].push(e);
    highest_ = std::min<int>(highest_, queue);
  }

  SpinRows rows_;
  std::vector<std::uint32_t> sender_;  // of every message
  std::vector<double> proposed_, change_;
  std::vector<std::uint8_t> waits_in_;
  Queue queues_[queues];
  int highest_ = queues;  // no queue before this has any
  std::vector<std::uint32_t> receivers_;
  std::vector<char> is_receiver_;
  std::size_t at_once_;
  bool prepared_ = false;
  std::vector<double> incoming_, sent_;
  SpinWeights weights_;
  std::vector<std::uint32_t> edges_;
};

}  // namespace

std::unique_ptr<SpinEngine> spin_residual(const SpinProblem& problem) {
  return std::make_unique<SpinResidual>(problem);
}

}  // namespace drover
