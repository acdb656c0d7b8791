#include "drover/run/draw_keeper.hpp"

namespace drover {

DrawKeeper::DrawKeeper(const Checkpointing& options, const std::string& run, std::size_t variables, bool wide,
                       const DrawJournal::Take& take, const RunControl& control)
    : journal_(options.file + ".draws", run, variables, wide),
      checkpoint_(options, run, control),
      resumes_(options.resume) {
  if (!resumes_) {
    journal_.begin([this] { checkpoint_.forget(); });
    return;
  }
  LoadArchive archive(checkpoint_.load());
  DrawJournal::Mark mark;
  archive(state_);
  mark.visit(archive);
  journal_.resume(mark, take);
}

void DrawKeeper::save(std::string state) {
  SaveArchive archive;
  archive(state);
  DrawJournal::Mark mark = journal_.mark();
  mark.visit(archive);
  checkpoint_.save(archive.take(), [this] { journal_.sync(); });
}

std::unique_ptr<DrawKeeper> make_draw_keeper(const Checkpointing& options, const std::string& run,
                                             std::size_t variables, bool wide, const DrawJournal::Take& take,
                                             const RunControl& control) {
  if (options.resume && options.file.empty())
    throw OptionError("resume", "true", "a checkpoint file to go on from");
  return options.file.empty() ? nullptr
                              : std::make_unique<DrawKeeper>(options, run, variables, wide, take, control);
}

}  // namespace drover
