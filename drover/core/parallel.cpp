#include "drover/core/parallel.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <functional>

#ifdef DROVER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace drover {
namespace parallel_detail {
namespace {

using Blocks = tbb::blocked_range<std::size_t>;

Blocks blocks_of(const IndexRange& range) {
  return {range.begin(), range.end(), range.grain()};
}

IndexRange range_of(const Blocks& block) {
  return {block.begin(), block.end(), block.grainsize()};
}

// oneTBB hands work from thread to thread inside a library that is not compiled with the thread sanitizer, which therefore
// cannot see that a loop begins after what stood before it and is over before what stands behind it. It is told here: what
// a thread did before its hand_over(place) comes before what follows a later take_over(place). Blocks of one loop stay
// unordered, so that two of them that touch the same memory are reported. This file itself is not looked at
// (cmake/options.cmake).
void hand_over([[maybe_unused]] const void* place) {
#ifdef DROVER_THREAD_SANITIZER
  __tsan_release(const_cast<void*>(place));
#endif
}

void take_over([[maybe_unused]] const void* place) {
#ifdef DROVER_THREAD_SANITIZER
  __tsan_acquire(const_cast<void*>(place));
#endif
}

/// Made before a loop begins, gone when it is over.
struct LoopOrder {
  const char begin[8] = {}, end[8] = {};

  LoopOrder() { hand_over(begin); }
  ~LoopOrder() { take_over(end); }
  LoopOrder(const LoopOrder&) = delete;
  LoopOrder& operator=(const LoopOrder&) = delete;

  /// One block of the loop; or, after it, two results that are put together.
  template <class Work>
  auto block(const Work& work) const {
    return ordered(begin, work);
  }
  template <class Work>
  auto join(const Work& work) const {
    return ordered(end, work);
  }

 private:
  template <class Work>
  auto ordered(const void* after, const Work& work) const {
    struct Leaving {
      const void* place;
      ~Leaving() { hand_over(place); }
    };
    take_over(after);
    const Leaving leaving{end};
    return work();
  }
};

}  // namespace

void run(const IndexRange& range, Body<void> body) {
  const LoopOrder loop;
  tbb::parallel_for(blocks_of(range), [&](const Blocks& block) {
    loop.block([&] { body.call(body.captured, range_of(block)); });
  });
}

double largest(const IndexRange& range, double least, Body<double> body) {
  const LoopOrder loop;
  return tbb::parallel_reduce(
      blocks_of(range), least,
      [&](const Blocks& block, double before) {
        return std::max(before, loop.block([&] { return body.call(body.captured, range_of(block)); }));
      },
      [](double a, double b) { return std::max(a, b); });
}

std::shared_ptr<void> collect(const IndexRange& range, const Collection& what) {
  const LoopOrder loop;
  return tbb::parallel_deterministic_reduce(
      blocks_of(range), std::shared_ptr<void>(),
      [&](const Blocks& block, std::shared_ptr<void> so_far) {
        return loop.block([&] {
          if (!so_far) so_far = what.make();
          what.add(what.captured, range_of(block), so_far.get());
          return so_far;
        });
      },
      [&](std::shared_ptr<void> a, const std::shared_ptr<void>& b) {
        if (!a || !b) return a ? a : b;
        loop.join([&] { what.join(what.captured, a.get(), b.get()); });
        return a;
      });
}

}  // namespace parallel_detail

struct ParallelTasks::Group {
  parallel_detail::LoopOrder order;
  tbb::task_group tasks;
};

ParallelTasks::ParallelTasks(const void* captured, Call call)
    : captured_(captured), call_(call), group_(std::make_unique<Group>()) {}

ParallelTasks::~ParallelTasks() = default;

void ParallelTasks::begin(std::size_t task) {
  parallel_detail::hand_over(group_->order.begin);
  group_->tasks.run([this, task] { group_->order.block([&] { call_(captured_, *this, task); }); });
}

void ParallelTasks::wait() {
  group_->tasks.wait();
}

}  // namespace drover
