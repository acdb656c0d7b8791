// A run on disk: what was saved is what is loaded, draws belong to it, no two programs share one.
#include "drover/run/checkpoint.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/run/draw_keeper.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

using testing::read_whole;
using testing::TemporaryFolder;

ErrorKind kind_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST(Checkpoint, LoadsWhatWasSavedLast) {
  const TemporaryFolder folder;
  for (const char* name : {"plain", "packed.gz"}) {
    const Checkpointing options{.file = folder.file(name)};
    Checkpoint checkpoint(options, "a run\n", no_control());
    std::string content;
    for (int k = 0; k < 5; ++k) {
      content += std::string(100000, static_cast<char>('a' + k)) + '\n';
      checkpoint.save(content);
    }
    checkpoint.wait();
    EXPECT_EQ(checkpoint.load(), content);
  }
  const Checkpointing options{.file = folder.file("plain")};
  EXPECT_EQ(kind_of([&] { Checkpoint(options, "another run\n", no_control()).load(); }), ErrorKind::bad_data);
  std::string damaged = read_whole(options.file);
  damaged[damaged.size() / 2] ^= 1;
  std::ofstream(options.file) << damaged;
  EXPECT_EQ(kind_of([&] { Checkpoint(options, "a run\n", no_control()).load(); }), ErrorKind::bad_data);
}

TEST(Checkpoint, OneProgramAtATime) {
  const TemporaryFolder folder;
  const Checkpointing options{.file = folder.file("c")};
  {
    const Checkpoint first(options, "a run\n", no_control());
    EXPECT_EQ(kind_of([&] { Checkpoint(options, "a run\n", no_control()); }), ErrorKind::cannot_write);
  }
  const Checkpoint again(options, "a run\n", no_control());  // its lock went with it
}

TEST(Checkpoint, SaysWhenASaveFailed) {
  const TemporaryFolder folder;
  Checkpoint checkpoint({.file = folder.file("c")}, "a run\n", no_control());
  checkpoint.save("content", [] { throw Error(ErrorKind::cannot_write, "no room"); });
  EXPECT_EQ(kind_of([&] { checkpoint.wait(); }), ErrorKind::cannot_write);
  EXPECT_FALSE(std::filesystem::exists(folder.file("c")));
}

TEST(Checkpoint, RefusesToWriteOverOtherFiles) {
  const TemporaryFolder folder;
  const std::string name = folder.write("notes", "the only copy of something");
  EXPECT_EQ(kind_of([&] { Checkpoint({.file = name}, "a run\n", no_control()); }), ErrorKind::cannot_write);
  EXPECT_EQ(read_whole(name), "the only copy of something");
  for (const char* begun : {"", "dro", "drover checkpoint of an older run"}) {
    std::ofstream(name) << begun;
    Checkpoint checkpoint({.file = name}, "a run\n", no_control());
    checkpoint.save("content");
    checkpoint.wait();
    EXPECT_EQ(checkpoint.load(), "content");
  }
}

/// A run that begins anew over the files of an older one, and is killed at any of its steps.
TEST(DrawKeeper, AnOlderRunsCheckpointGoesBeforeItsDraws) {
  const TemporaryFolder folder;
  Checkpointing options{.file = folder.file("state")};
  const auto ignore = [](std::span<const Value>, double) {};
  const std::vector<Value> x(5, 1);
  {
    DrawKeeper keeper(options, "a run\n", 5, false, ignore, no_control());
    keeper.append(x);
    keeper.save("older");
    keeper.wait();
  }
  { DrawKeeper killed_before_its_first_save(options, "a run\n", 5, false, ignore, no_control()); }
  EXPECT_FALSE(std::filesystem::exists(options.file));
  {
    DrawKeeper keeper(options, "a run\n", 5, false, ignore, no_control());
    for (int k = 0; k < 3; ++k) keeper.append(x);
    keeper.save("newer");
    keeper.wait();
  }
  options.resume = true;
  int taken = 0;
  {
    DrawKeeper keeper(
        options, "a run\n", 5, false, [&](std::span<const Value>, double) { ++taken; }, no_control());
    EXPECT_EQ(*keeper.saved(), "newer");
  }
  EXPECT_EQ(taken, 3);
  // Where the draws of a new run cannot stand, the old checkpoint stays.
  std::ofstream(options.file + ".draws") << "something else";
  options.resume = false;
  EXPECT_EQ(kind_of([&] { DrawKeeper(options, "a run\n", 5, false, ignore, no_control()); }),
            ErrorKind::cannot_write);
  EXPECT_TRUE(std::filesystem::exists(options.file));
}

TEST(Checkpoint, IsDueSomeTimeAfterTheEndOfTheLast) {
  const TemporaryFolder folder;
  RunControl control;
  Checkpoint soon({.file = folder.file("a"), .every = 1e-3}, "a run\n", control);
  while (!soon.is_due()) {
  }
  std::promise<void> slow;
  auto future = slow.get_future().share();
  soon.save("content", [=] { future.wait(); });
  EXPECT_FALSE(soon.is_due());  // it is not done
  slow.set_value();
  soon.wait();
  while (!soon.is_due()) {
  }
  const Checkpoint late({.file = folder.file("b"), .every = 1e6}, "a run\n", control);
  EXPECT_FALSE(late.is_due());
  const Checkpoint none({.file = "", .every = 1e-3}, "a run\n", control);
  EXPECT_FALSE(none.is_due());
}

/// So that saves never take more than half of the time.
TEST(Checkpoint, IsDueNoSoonerAfterASaveThanThatTook) {
  const TemporaryFolder folder;
  RunControl control;
  Checkpoint checkpoint({.file = folder.file("c"), .every = 1e-6}, "a run\n", control);
  double begin = 0, end = 0;
  checkpoint.save("content", [&] {
    begin = control.seconds();
    while (control.seconds() < begin + 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    end = control.seconds();
  });
  checkpoint.wait();
  const bool due = checkpoint.is_due();
  if (control.seconds() < end + (end - begin)) {  // unless this thread was held up for as long
    EXPECT_FALSE(due);
  }
  while (!checkpoint.is_due()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

struct Row {
  std::vector<Value> x;
  double log_score;
  bool operator==(const Row&) const = default;
};

std::vector<Row> random_rows(std::size_t count, std::size_t variables, std::uint32_t states) {
  RandomSequence random(states, Stream::generate);
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    for (std::size_t v = 0; v < variables; ++v) row.x.push_back(static_cast<Value>(random.below(states)));
    row.log_score = random.normal();
  }
  return rows;
}

TEST(DrawJournal, GivesBackWhatTheMarkCovers) {
  const TemporaryFolder folder;
  for (const bool wide : {false, true}) {
    const std::string path = folder.file(wide ? "wide" : "narrow");
    const std::vector<Row> rows = random_rows(30000, 70, wide ? 60000 : 256);
    DrawJournal::Mark mark;
    {
      DrawJournal journal(path, "a run\n", 70, wide);
      journal.begin();
      for (std::size_t k = 0; k < 25000; ++k) journal.append(rows[k].x, rows[k].log_score);
      mark = journal.mark();
      journal.sync();
      // Killed after these: the checkpoint does not know of them.
      for (std::size_t k = 0; k < 3000; ++k) journal.append(rows[k].x, 7);
      journal.mark();
    }
    std::vector<Row> back;
    const auto take = [&](std::span<const Value> x, double log_score) {
      back.push_back({{x.begin(), x.end()}, log_score});
    };
    {
      DrawJournal journal(path, "a run\n", 70, wide);
      journal.resume(mark, take);
      EXPECT_EQ(back, std::vector<Row>(rows.begin(), rows.begin() + 25000));
      for (std::size_t k = 25000; k < rows.size(); ++k) journal.append(rows[k].x, rows[k].log_score);
      mark = journal.mark();
    }
    back.clear();
    DrawJournal(path, "a run\n", 70, wide).resume(mark, take);
    EXPECT_EQ(back, rows);
  }
}

/// Killed while it wrote: a journal that reaches to its mark is good, a shorter one is refused, and at any length a
/// new one can be begun in its place.
TEST(DrawJournal, EveryCut) {
  const TemporaryFolder folder;
  const std::string path = folder.file("journal");
  const std::vector<Row> rows = random_rows(4, 5, 2);
  const auto fill = [&](DrawJournal& journal) {
    for (const Row& row : rows) journal.append(row.x, row.log_score);
    return journal.mark();
  };
  DrawJournal::Mark mark;
  {
    DrawJournal journal(path, "a run\n", 5, false);
    journal.begin();
    mark = fill(journal);
    fill(journal);
  }
  const std::string whole = read_whole(path);
  const std::string first = whole.substr(0, mark.bytes);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    std::size_t taken = 0;
    DrawJournal journal(path, "a run\n", 5, false);
    const auto resume = [&] { journal.resume(mark, [&](std::span<const Value>, double) { ++taken; }); };
    if (size < mark.bytes) {
      ASSERT_EQ(kind_of(resume), ErrorKind::bad_data) << size;
    } else {
      resume();
    }
    ASSERT_EQ(taken, size < mark.bytes ? 0 : rows.size()) << size;
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    DrawJournal anew(path, "a run\n", 5, false);
    anew.begin();
    ASSERT_EQ(fill(anew).checksum, mark.checksum) << size;
    ASSERT_EQ(read_whole(path), first) << size;
  }
}

TEST(DrawJournal, RefusesWhatIsNotItsOwn) {
  const TemporaryFolder folder;
  const std::string path = folder.file("journal");
  const std::vector<Row> rows = random_rows(10, 5, 2);
  DrawJournal::Mark mark;
  {
    DrawJournal journal(path, "a run\n", 5, false);
    journal.begin();
    for (const Row& row : rows) journal.append(row.x, row.log_score);
    mark = journal.mark();
  }
  const std::string good = read_whole(path);
  int taken = 0;
  const auto resume = [&](std::string_view run, DrawJournal::Mark with) {
    DrawJournal(path, std::string(run), 5, false).resume(with, [&](std::span<const Value>, double) {
      ++taken;
    });
  };
  EXPECT_EQ(kind_of([&] { resume("another\n", mark); }), ErrorKind::bad_data);
  EXPECT_EQ(kind_of([&] { resume("a run\n", {mark.bytes - 1, mark.checksum}); }), ErrorKind::bad_data);
  EXPECT_EQ(kind_of([&] { resume("a run\n", {mark.bytes + 13, mark.checksum}); }), ErrorKind::bad_data);
  for (std::size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] ^= 4;
    std::ofstream(path) << bad;
    EXPECT_EQ(kind_of([&] { resume("a run\n", mark); }), ErrorKind::bad_data) << at;
  }
  EXPECT_EQ(taken, 0) << "no draw is handed on before all are known to be right";
  std::ofstream(path) << "somebody's notes";
  EXPECT_EQ(kind_of([&] { DrawJournal(path, "a run\n", 5, false).begin(); }), ErrorKind::cannot_write);
  EXPECT_EQ(read_whole(path), "somebody's notes");
}

}  // namespace
}  // namespace drover
