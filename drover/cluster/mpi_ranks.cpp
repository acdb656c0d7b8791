#include "drover/cluster/mpi_ranks.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "drover/cluster/metis.hpp"
#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr int exchange_tag = 1, gather_tag = 2;
constexpr std::size_t most_bytes = std::size_t{1} << 30;  // MPI counts in ints

/// Requests that are made once and started for every exchange.
class MpiExchange : public Exchange {
 public:
  MpiExchange(MPI_Comm communicator, std::span<const Route> routes) {
    requests_.reserve(2 * routes.size());
    // Receipts first, so that what arrives early has its place.
    for (const Route& route : routes)
      if (!route.in.empty())
        MPI_Recv_init(route.in.data(), count_of(route.in.size()), MPI_UINT64_T, static_cast<int>(route.rank),
                      exchange_tag, communicator, &requests_.emplace_back());
    for (const Route& route : routes)
      if (!route.out.empty())
        MPI_Send_init(route.out.data(), count_of(route.out.size()), MPI_UINT64_T,
                      static_cast<int>(route.rank), exchange_tag, communicator, &requests_.emplace_back());
  }
  ~MpiExchange() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  void begin() override {
    if (!requests_.empty()) MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
  }
  void finish() override {
    if (!requests_.empty())
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  static int count_of(std::size_t words) {
    if (words > most_bytes)
      throw Error(ErrorKind::misfit,
                  fmt::format("two ranks would exchange {} words at once: more ranks make it less", words));
    return static_cast<int>(words);
  }
  std::vector<MPI_Request> requests_;
};

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_dup(MPI_COMM_WORLD, &votes_);
    int rank = 0, size = 1;
    MPI_Comm_rank(communicator_, &rank);
    MPI_Comm_size(communicator_, &size);
    rank_ = static_cast<std::uint32_t>(rank);
    size_ = static_cast<std::uint32_t>(size);
  }
  ~MpiRanks() override {
    MPI_Comm_free(&votes_);
    MPI_Comm_free(&communicator_);
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }

  std::vector<std::string> gather(std::string bytes) const override {
    std::uint64_t own = bytes.size();
    std::vector<std::uint64_t> sizes(is_first() ? size_ : 0);
    MPI_Gather(&own, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, 0, communicator_);
    if (!is_first()) {
      for_pieces(bytes.size(), [&](std::size_t at, int count) {
        MPI_Send(bytes.data() + at, count, MPI_BYTE, 0, gather_tag, communicator_);
      });
      return {};
    }
    std::vector<std::string> all(size_);
    all[0] = std::move(bytes);
    for (std::uint32_t from = 1; from < size_; ++from) {
      all[from].resize(sizes[from]);
      for_pieces(sizes[from], [&](std::size_t at, int count) {
        MPI_Recv(all[from].data() + at, count, MPI_BYTE, static_cast<int>(from), gather_tag, communicator_,
                 MPI_STATUS_IGNORE);
      });
    }
    return all;
  }

  void broadcast(std::string& bytes) const override {
    std::uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, communicator_);
    bytes.resize(size);
    for_pieces(size, [&](std::size_t at, int count) {
      MPI_Bcast(bytes.data() + at, count, MPI_BYTE, 0, communicator_);
    });
  }

  void begin_vote(std::uint32_t bits) const override {
    given_ = bits;
    MPI_Iallreduce(&given_, &heard_, 1, MPI_UINT32_T, MPI_BOR, votes_, &vote_);
  }
  std::uint32_t finish_vote() const override {
    MPI_Wait(&vote_, MPI_STATUS_IGNORE);
    return heard_;
  }

  void add_up(std::span<std::uint64_t> numbers) const override {
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM,
                  communicator_);
  }

  std::unique_ptr<Exchange> exchange(std::span<const Route> routes) const override {
    return std::make_unique<MpiExchange>(communicator_, routes);
  }

  /// As rank 0 divides them.
  std::vector<std::uint32_t> divide(const WorkGraph& graph) const override {
    std::string bytes;
    if (is_first()) {
      const std::vector<std::uint32_t> parts = metis_parts(graph, size_);
      bytes.assign(reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof(std::uint32_t));
    }
    broadcast(bytes);
    std::vector<std::uint32_t> ranks(graph.work.size());
    if (!bytes.empty()) std::memcpy(ranks.data(), bytes.data(), bytes.size());
    return ranks;
  }

 private:
  template <class Use>
  static void for_pieces(std::size_t size, Use use) {
    for (std::size_t at = 0; at < size; at += most_bytes)
      use(at, static_cast<int>(std::min(most_bytes, size - at)));
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Comm votes_ = MPI_COMM_NULL;  // so that nothing else is taken for a vote that still travels
  std::uint32_t rank_ = 0, size_ = 1;
  mutable std::uint32_t given_ = 0, heard_ = 0;
  mutable MPI_Request vote_ = MPI_REQUEST_NULL;
};

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED)
    throw Error(ErrorKind::misfit, "this MPI library does not serve programs with threads");
  ranks_ = std::make_unique<MpiRanks>();
}

MpiSession::~MpiSession() {
  if (!ended_) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(ErrorKind::internal));
  ranks_.reset();
  MPI_Finalize();
}

std::uint32_t MpiSession::ranks_here() const {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int size = 1;
  MPI_Comm_size(here, &size);
  MPI_Comm_free(&here);
  return static_cast<std::uint32_t>(size);
}

std::string MpiSession::name() const {
  char machine[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(machine, &length);
  return fmt::format("rank {} on {}", ranks_->rank(), machine);
}

bool MpiSession::end(bool patient) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(1);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (!ended_) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    ended_ = done != 0;
    if (ended_ || (!patient && Clock::now() >= until)) break;
    // Rank 0 may write for long, and its cores are wanted.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ended_;
}

void MpiSession::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace drover
