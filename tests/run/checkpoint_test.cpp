// A run on disk: what was saved is what is loaded, draws belong to it, no two programs share one.
#include "drover/run/checkpoint.hpp"

#include <gtest/gtest.h>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/run/draw_journal.hpp"
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
