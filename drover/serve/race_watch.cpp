#include "drover/serve/race_watch.hpp"

#include <algorithm>

#include "drover/core/json_writer.hpp"

namespace drover {

RaceWatch::Row& RaceWatch::row(const std::string& method) {
  const auto found = std::ranges::find(rows_, method, &Row::method);
  if (found != rows_.end()) return *found;
  rows_.emplace_back().method = method;
  return rows_.back();
}

void RaceWatch::hear(const Progress& progress, double seconds) {
  const std::string phase(progress.phase);
  const bool pilot = phase.starts_with("pilot: "), final = phase.starts_with("sampling: ");
  if (!pilot && !final) return;
  const std::string method = phase.substr(phase.find(": ") + 2);
  Row& one = row(method);
  one.seconds += seconds - heard_;
  heard_ = seconds;
  one.sweeps = progress.sweeps;
  one.updates = progress.updates;
  if (progress.rhat_max > 0) one.rhat = progress.rhat_max;
  if (method != current_) {
    current_ = method;
    one.heats += pilot ? 1 : 0;
    for (Row& other : rows_) other.running = &other == &one;
  }
  one.chosen = final;
}

void RaceWatch::settle(const std::vector<RaceEntry>& entries) {
  for (Row& one : rows_) one.running = one.chosen = false;
  for (const RaceEntry& entry : entries) {
    Row& one = row(entry.method);
    one.note = entry.note;
    one.chosen = entry.chosen;
    one.sweeps = entry.sweeps;
    one.rhat = entry.rhat_max;
    one.ess_per_work = entry.ess_per_work;
  }
}

std::string RaceWatch::json() const {
  std::vector<std::string> list;
  for (const Row& one : rows_) {
    JsonObject object;
    object.add("method", one.method);
    object.add("note", one.note);
    object.add("sweeps", one.sweeps);
    object.add("heats", one.heats);
    object.add("updates", one.updates);
    object.add("seconds", one.seconds);
    object.add("rhat", one.rhat);
    object.add("ess_per_work", one.ess_per_work);
    object.add("running", one.running);
    object.add("chosen", one.chosen);
    list.push_back(object.line());
  }
  return json_list(list);
}

}  // namespace drover
