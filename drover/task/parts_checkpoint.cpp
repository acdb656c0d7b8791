#include "drover/task/parts_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "drover/core/checksum.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"

namespace drover {

namespace {

/// Bytes of a file of a part, with their checksum at the end. Nothing as large as the part is kept in memory.
class SavedPart {
 public:
  static constexpr bool loads = false;
  explicit SavedPart(const std::string& path) : file_(path) {}
  void pass(void* data, std::size_t size) {
    sum_.add(data, size);
    file_.write({static_cast<const char*>(data), size});
  }
  void end() {
    const std::uint64_t sum = sum_.value();
    file_.write({reinterpret_cast<const char*>(&sum), sizeof(sum)});
    file_.commit();
  }

 private:
  AtomicFile file_;
  Checksum sum_;
};

class LoadedPart {
 public:
  static constexpr bool loads = true;
  explicit LoadedPart(const std::string& path)
      : path_(path), file_(std::fopen(path.c_str(), "rb"), &std::fclose) {
    if (!file_)
      throw Error(ErrorKind::cannot_read, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  void pass(void* data, std::size_t size) {
    if (size > 0 && std::fread(data, 1, size, file_.get()) != size) fail();
    sum_.add(data, size);
  }
  void end() {
    const std::uint64_t expected = sum_.value();
    std::uint64_t found = 0;
    pass(&found, sizeof(found));
    if (found != expected) fail();
  }
  [[noreturn]] void fail() const {
    fail_at({path_}, "this part of a checkpoint is damaged, or of another run");
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  Checksum sum_;
};

/// Writes the number, or makes sure that the file has it.
template <class Stream>
void expect_number(Stream& stream, std::uint64_t number) {
  std::uint64_t found = number;
  stream.pass(&found, sizeof(found));
  if constexpr (Stream::loads)
    if (found != number) stream.fail();
}

std::string line_of(const std::string& run_line, const LoadedParts& loaded, const RunControl& control) {
  std::uint64_t sum = loaded.fingerprint;
  control.ranks().add_up({&sum, 1});
  return fmt::format("{} model {:016x}\n", run_line, sum);
}

}  // namespace

PartsCheckpoint::PartsCheckpoint(const Checkpointing& options, const std::string& run_line,
                                 const LoadedParts& loaded, const RunControl& control)
    : options_(options),
      loaded_(loaded),
      control_(control),
      file_(control.ranks().is_first() ? options : Checkpointing{}, line_of(run_line, loaded, control),
            control) {}

std::string PartsCheckpoint::path_of(std::uint32_t part) const {
  return fmt::format("{}.{}.part-{:05}", options_.file, generation_, part);
}

template <class Stream>
void PartsCheckpoint::visit_part(ChainRun& run, std::size_t index, Stream& stream) const {
  const LoadedParts::Units& units = loaded_.units[index];
  expect_number(stream, loaded_.parts[index]);
  expect_number(stream, run.sweeps_done());
  expect_number(stream, units.numbers.size());
  for (std::uint32_t number : units.numbers) expect_number(stream, number);
  for (PartSpread::State& state : run.states<PartSpread>())
    for (std::uint32_t place : units.places) stream.pass(&state.words[place], sizeof(std::uint64_t));
  const std::span<const std::uint32_t> own = run.shape().own_entries;
  std::vector<std::uint32_t> entries;
  entries.reserve(loaded_.variables[index].size());
  for (std::uint32_t variable : loaded_.variables[index])
    entries.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(own, variable) - own.begin()));
  run.for_numbers(entries,
                  [&](std::span<float> numbers) { stream.pass(numbers.data(), numbers.size_bytes()); });
  stream.end();
}

void PartsCheckpoint::save(ChainRun& run) {
  generation_ = 1 - generation_;
  for (std::size_t k = 0; k < loaded_.parts.size(); ++k) {
    SavedPart part(path_of(loaded_.parts[k]));
    visit_part(run, k, part);
  }
  control_.ranks().vote(0);  // all parts are on the disk
  SaveArchive archive;
  archive(generation_);
  run.visit_course(archive);
  file_.save(archive.take());
  file_.wait();
}

void PartsCheckpoint::load(ChainRun& run) {
  std::string content;
  if (control_.ranks().is_first()) content = file_.load();
  control_.ranks().broadcast(content);
  LoadArchive archive(std::move(content));
  archive(generation_);
  run.visit_course(archive);
  if (!archive.at_end() || generation_ > 1)
    throw Error(ErrorKind::bad_data, options_.file + ": longer than a checkpoint");
  for (std::size_t k = 0; k < loaded_.parts.size(); ++k) {
    LoadedPart part(path_of(loaded_.parts[k]));
    visit_part(run, k, part);
  }
}

}  // namespace drover
