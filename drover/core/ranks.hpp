// The processes that share one run: what a program of one process and a program of many have in common.
//
// Ranks are numbered 0 .. size() - 1; rank 0 speaks to the user. Everything but rank() and size() is
// collective: every rank calls it, in the same order, from one thread at a time. This class itself is the
// form for one process, in which nothing travels; drover/cluster has the form for several machines. What is
// handed to others is bytes, and where sums are wanted they are of whole numbers or in a fixed order, so that
// no result depends on how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace drover {

/// What goes to one other rank and comes from it, whenever an Exchange takes place. Both sides know the
/// sizes.
struct Route {
  std::uint32_t rank = 0;
  std::span<const std::uint64_t> out;
  std::span<std::uint64_t> in;
};

/// An exchange with other ranks that happens again and again between the same places.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// From here to finish() what goes out must not change, and what comes in must not be read.
  virtual void begin() {}
  virtual void finish() {}
};

/// Who needs whose words: an undirected graph of units of work, for dividing it.
struct WorkGraph {
  std::vector<std::size_t> offsets;  ///< neighbours of unit u: neighbours[offsets[u]] .. [offsets[u + 1]]
  std::vector<std::uint32_t> neighbours;
  std::vector<std::uint32_t> shared;  ///< beside them: how much the two have to tell one another
  std::vector<std::uint32_t> work;    ///< of each unit
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual std::uint32_t rank() const { return 0; }
  virtual std::uint32_t size() const { return 1; }
  bool is_first() const { return rank() == 0; }

  /// What every rank gives, by rank; on rank 0, and nothing on the others.
  virtual std::vector<std::string> gather(std::string bytes) const;
  /// What rank 0 has, on every rank.
  virtual void broadcast(std::string& bytes) const;
  /// The bits that any rank sets. They travel from begin_vote() to finish_vote().
  virtual void begin_vote(std::uint32_t bits) const { vote_ = bits; }
  virtual std::uint32_t finish_vote() const { return vote_; }
  std::uint32_t vote(std::uint32_t bits) const {
    begin_vote(bits);
    return finish_vote();
  }
  /// Sum of whole numbers of all ranks, on every rank, modulo 2^64.
  virtual void add_up(std::span<std::uint64_t>) const {}
  /// The buffers must outlive the exchange.
  virtual std::unique_ptr<Exchange> exchange(std::span<const Route> routes) const;
  /// The rank of every unit: about equal work, little to tell one another.
  virtual std::vector<std::uint32_t> divide(const WorkGraph& graph) const;

 private:
  mutable std::uint32_t vote_ = 0;
};

/// The form for one process.
const Ranks& one_process();

/// The numbers of all ranks, one rank after the other; on rank 0.
std::vector<double> joined(const Ranks& ranks, const std::vector<double>& numbers);

/// Where a part of `count` things begins that are dealt out evenly, in order; part `parts` begins at the end.
inline std::size_t part_begin(std::size_t count, std::uint32_t part, std::uint32_t parts) {
  return count / parts * part + count % parts * part / parts;
}

/// Asks all ranks again and again without waiting for them: with several, an answer is that to the question
/// before, which travelled while work was done.
class Ballot {
 public:
  explicit Ballot(const Ranks& ranks) : ranks_(ranks) {}
  ~Ballot() {
    if (open_) ranks_.finish_vote();
  }
  Ballot(const Ballot&) = delete;
  Ballot& operator=(const Ballot&) = delete;

  std::uint32_t next(std::uint32_t bits) {
    if (ranks_.size() == 1) return bits;
    const std::uint32_t heard = open_ ? ranks_.finish_vote() : ranks_.vote(bits);
    ranks_.begin_vote(bits);
    open_ = true;
    return heard;
  }

 private:
  const Ranks& ranks_;
  bool open_ = false;
};

}  // namespace drover
