// Files of a run that goes on, damaged in any way: a checkpoint, parts that are done, a journal of draws. Half of the
// inputs get a right first line, so that what lies behind it is reached.
#include "drover/run/checkpoint.hpp"

#include "drover/run/draw_journal.hpp"
#include "drover/run/part_log.hpp"
#include "input_file.hpp"
#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(checkpoint, data, size) {
  using namespace drover;
  if (size < 2) return 0;
  const std::string run = "0.1.0 of a run\n";
  const bool begun = data[0] % 2 == 1;
  const auto file = [&](const char* words) {
    return fuzz::input_folder().write(
        "state", (begun ? words + run : std::string()) + std::string(fuzz::as_text(data + 1, size - 1)));
  };
  fuzz::attempt(
      [&] { Checkpoint({.file = file("drover checkpoint "), .resume = true}, run, no_control()).load(); });
  fuzz::attempt([&] {
    PartLog log({.file = file("drover parts of "), .resume = true}, run, no_control());
    std::string bytes;
    for (std::uint64_t part = 0; part < 4; ++part)
      if (!log.recall(part, bytes)) log.keep(part, "done");
  });
  fuzz::attempt([&] {
    DrawJournal journal(file("drover draws of "), run, 3, data[0] % 4 > 1);
    journal.resume({size, data[1]}, [](std::span<const Value>, double) {});
  });
  return 0;
}
