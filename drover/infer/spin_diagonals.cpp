#include "drover/infer/spin_diagonals.hpp"

#include <algorithm>
#include <map>

#include "drover/core/parallel.hpp"
#include "drover/core/stop_check.hpp"
#include "drover/infer/spin_kernels.hpp"

namespace drover {

namespace {

constexpr std::size_t chunk = 4096;       // pairs or variables of one task; whole vectors
constexpr std::size_t tasks_a_look = 64;  // between two questions whether to go on: a millisecond or two

struct Diagonal {
  std::size_t distance;  // j - i
  std::size_t offset;    // of its numbers
  std::size_t count;     // of its places: i = 0 .. count - 1
};

// A piece of the work of one flood.
struct Piece {
  Diagonal diagonal;
  std::size_t begin, end;
};

std::size_t padded(std::size_t count) {
  return (count + spin_unit - 1) / spin_unit * spin_unit;
}

class SpinDiagonals : public SpinEngine {
 public:
  SpinDiagonals(const SpinProblem& problem, std::vector<Diagonal> diagonals, std::vector<std::size_t> places,
                StopCheck& check)
      : semiring_(problem.semiring), diagonals_(std::move(diagonals)), places_(std::move(places)) {
    const std::size_t n = problem.variables();
    std::size_t length = 0;
    for (const Diagonal& diagonal : diagonals_) {
      length += padded(diagonal.count);
      for (std::size_t begin = 0; begin < diagonal.count; begin += chunk)
        pieces_.push_back({diagonal, begin, std::min(diagonal.count, begin + chunk)});
    }
    weights_ = SpinWeights(length);
    forward_.assign(length, 0.0);
    backward_.assign(length, 0.0);
    appearance_.assign(problem.appearance.empty() ? 0 : length, 0.0);
    for (std::size_t p = 0; p < places_.size(); ++p) {
      check.step();
      const bool ascending = problem.first[p] < problem.second[p];
      swapped_.push_back(!ascending);
      weights_.set(places_[p], 2 * problem.coupling[p]);
      if (!problem.appearance.empty()) appearance_[places_[p]] = problem.appearance[p];
      if (problem.to_first.empty()) continue;
      forward_[places_[p]] = (ascending ? problem.to_second[p] : problem.to_first[p]) / log_of_two;
      backward_[places_[p]] = (ascending ? problem.to_first[p] : problem.to_second[p]) / log_of_two;
    }
    own_.assign(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) own_[i] = problem.log_odds[i] / log_of_two;
    beliefs_.assign(n + spin_unit, 0.0);
    add_up();
  }

  double iterate(double damping, double /*tolerance*/, const GoOn& go_on) override {
    double change = 0;
    for (std::size_t begin = 0; begin < pieces_.size(); begin += tasks_a_look) {
      if (begin > 0 && go_on && !go_on()) break;
      const std::size_t end = std::min(pieces_.size(), begin + tasks_a_look);
      change = parallel_max(IndexRange(begin, end), change, [&](const IndexRange& range) {
        double largest = 0;
        for (std::size_t k = range.begin(); k != range.end(); ++k)
          largest = std::max(largest, send(pieces_[k], damping));
        return largest;
      });
    }
    add_up();
    return change;
  }

  SpinPairMessages messages() const override {
    SpinPairMessages result;
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const double forward = forward_[places_[p]] * log_of_two, backward = backward_[places_[p]] * log_of_two;
      result.to_first.push_back(swapped_[p] ? forward : backward);
      result.to_second.push_back(swapped_[p] ? backward : forward);
    }
    return result;
  }

  std::vector<double> log_odds() const override {
    std::vector<double> result(own_.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = beliefs_[i] * log_of_two;
    return result;
  }

 private:
  double send(const Piece& piece, double damping) {
    const std::size_t at = piece.diagonal.offset + piece.begin;
    return send_along_diagonal(semiring_, weights_, at, forward_.data() + at, backward_.data() + at,
                               piece.end - piece.begin, beliefs_.data() + piece.begin,
                               piece.diagonal.distance, damping);
  }

  void add_up() {
    parallel_for(IndexRange(0, own_.size(), chunk), [&](const IndexRange& range) {
      for (std::size_t begin = range.begin(); begin < range.end(); begin += chunk)
        add_up(begin, std::min(range.end(), begin + chunk));
    });
  }

  // Messages to the variables begin .. end: from i + distance at place i, from i - distance at place i -
  // distance.
  void add_up(std::size_t begin, std::size_t end) {
    std::copy(own_.begin() + static_cast<std::ptrdiff_t>(begin),
              own_.begin() + static_cast<std::ptrdiff_t>(end),
              beliefs_.begin() + static_cast<std::ptrdiff_t>(begin));
    const auto add = [&](const std::vector<double>& messages, std::size_t place, std::size_t count,
                         std::size_t variable) {
      add_to_beliefs(messages.data() + place, appearance_.empty() ? nullptr : appearance_.data() + place,
                     count, beliefs_.data() + variable);
    };
    for (const Diagonal& diagonal : diagonals_) {
      const std::size_t last = std::min(end, diagonal.count);
      if (begin < last) add(backward_, diagonal.offset + begin, last - begin, begin);
      const std::size_t from = std::max(begin, diagonal.distance);
      if (from < end) add(forward_, diagonal.offset + from - diagonal.distance, end - from, from);
    }
  }

  Semiring semiring_;
  std::vector<Diagonal> diagonals_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> places_;  // of every pair
  std::vector<char> swapped_;        // pairs whose first variable is the larger
  SpinWeights weights_;
  std::vector<double> forward_, backward_, appearance_;
  std::vector<double> own_, beliefs_;
};

}  // namespace

std::unique_ptr<SpinEngine> spin_diagonals(const SpinProblem& problem) {
  constexpr std::size_t most_diagonals = 64;
  const std::size_t n = problem.variables();
  const auto distance_of = [&](std::size_t p) {
    return static_cast<std::size_t>(std::max(problem.first[p], problem.second[p]) -
                                    std::min(problem.first[p], problem.second[p]));
  };
  StopCheck check(*problem.control, "message passing", "began");
  std::map<std::size_t, std::size_t> diagonal_of;  // distance -> its place
  std::size_t last_distance = 0;                   // neighbours in the list are mostly on one
  for (std::size_t p = 0; p < problem.pairs(); ++p) {
    check.step();
    if (distance_of(p) == last_distance) continue;
    last_distance = distance_of(p);
    diagonal_of[last_distance] = 0;
    if (diagonal_of.size() > most_diagonals) return nullptr;
  }
  std::vector<Diagonal> diagonals;
  std::size_t length = 0;
  for (auto& [distance, place] : diagonal_of) {
    diagonals.push_back({distance, length, n - distance});
    place = length;
    length += padded(n - distance);
  }
  if (length > 2 * problem.pairs() + 1024) return nullptr;
  std::vector<std::size_t> places(problem.pairs());
  std::vector<char> taken(length, 0);
  for (std::size_t p = 0; p < places.size(); ++p) {
    check.step();
    places[p] = diagonal_of[distance_of(p)] + std::min(problem.first[p], problem.second[p]);
    if (taken[places[p]]) return nullptr;
    taken[places[p]] = 1;
  }
  return std::make_unique<SpinDiagonals>(problem, std::move(diagonals), std::move(places), check);
}

}  // namespace drover
