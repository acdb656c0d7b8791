// Loops over threads. oneTBB runs them, and the number of threads is its own; this header leaves its
// headers, a second of compiling each time, to parallel.cpp and to the few units that need more of it (values per
// thread, arenas).
//
// A loop is handed over as a pointer to a plain function and one to what it captured: one indirect call per
// block of indices, none per index. A body must not depend on how the indices are cut into blocks; a sum is
// therefore cut in the same way whatever the number of threads, so that it has the same bits. What a body
// throws ends the loop and is thrown again by the call.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace drover {

/// Indices begin .. end - 1. Cut in two while it has more than `grain`.
class IndexRange {
 public:
  IndexRange(std::size_t begin, std::size_t end, std::size_t grain = 1)
      : begin_(begin), end_(end), grain_(grain) {}

  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  std::size_t size() const { return end_ - begin_; }
  std::size_t grain() const { return grain_; }

 private:
  std::size_t begin_, end_, grain_;
};

namespace parallel_detail {

/// A body without its type.
template <class Result>
struct Body {
  const void* captured;
  Result (*call)(const void* captured, const IndexRange& range);
};

template <class Result, class F>
Body<Result> body_of(const F& f) {
  return {&f, [](const void* captured, const IndexRange& range) -> Result {
            return (*static_cast<const F*>(captured))(range);
          }};
}

void run(const IndexRange& range, Body<void> body);
double largest(const IndexRange& range, double least, Body<double> body);

/// parallel_collect() without its types.
struct Collection {
  const void* captured;
  std::shared_ptr<void> (*make)();
  void (*add)(const void* captured, const IndexRange& range, void* result);
  void (*join)(const void* captured, void* result, const void* other);
};
std::shared_ptr<void> collect(const IndexRange& range, const Collection& what);

}  // namespace parallel_detail

/// body(block) for blocks that cover the range, each of grain / 2 indices or more.
template <class F>
void parallel_for(const IndexRange& range, const F& body) {
  parallel_detail::run(range, parallel_detail::body_of<void>(body));
}

/// body(i) for begin <= i < end.
template <class Index, class F>
void parallel_for(Index begin, std::type_identity_t<Index> end, const F& body) {
  if (!(begin < end)) return;
  parallel_for(IndexRange(begin, end), [&](const IndexRange& block) {
    for (std::size_t i = block.begin(); i < block.end(); ++i) body(static_cast<Index>(i));
  });
}

/// body(begin, end) for 0 .. count - 1, cut at the multiples of `grain` and nowhere else.
template <class F>
void parallel_blocks(std::size_t count, std::size_t grain, const F& body) {
  if (count <= grain) {
    body(std::size_t{0}, count);
    return;
  }
  parallel_for(std::size_t{0}, (count + grain - 1) / grain, [&](std::size_t block) {
    const std::size_t begin = block * grain;
    body(begin, count - begin < grain ? count : begin + grain);
  });
}

/// add(block, result) into results that begin as Result(), and join(result, other) until one is left: always cut and put
/// together in the same order.
template <class Result, class Add, class Join>
Result parallel_collect(const IndexRange& range, const Add& add, const Join& join) {
  struct Both {
    const Add& add;
    const Join& join;
  } const both{add, join};
  const std::shared_ptr<void> result = parallel_detail::collect(
      range, {&both, [] { return std::shared_ptr<void>(std::make_shared<Result>()); },
              [](const void* captured, const IndexRange& block, void* to) {
                static_cast<const Both*>(captured)->add(block, *static_cast<Result*>(to));
              },
              [](const void* captured, void* to, const void* other) {
                static_cast<const Both*>(captured)->join(*static_cast<Result*>(to),
                                                         *static_cast<const Result*>(other));
              }});
  return result ? std::move(*static_cast<Result*>(result.get())) : Result();
}

/// The largest of `least` and body(block).
template <class F>
double parallel_max(const IndexRange& range, double least, const F& body) {
  return parallel_detail::largest(range, least, parallel_detail::body_of<double>(body));
}

/// Tasks that begin further ones: body(tasks, i) on any thread for every begin(i). What a body throws, wait() throws.
class ParallelTasks {
 public:
  /// The body must outlive the tasks.
  template <class F>
  explicit ParallelTasks(const F& body)
      : ParallelTasks(&body, [](const void* captured, ParallelTasks& tasks, std::size_t task) {
          (*static_cast<const F*>(captured))(tasks, task);
        }) {}
  ~ParallelTasks();
  ParallelTasks(const ParallelTasks&) = delete;
  ParallelTasks& operator=(const ParallelTasks&) = delete;

  void begin(std::size_t task);
  void wait();

 private:
  using Call = void (*)(const void* captured, ParallelTasks& tasks, std::size_t task);
  struct Group;
  ParallelTasks(const void* captured, Call call);

  const void* captured_;
  Call call_;
  std::unique_ptr<Group> group_;
};

}  // namespace drover
