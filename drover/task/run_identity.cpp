#include "drover/task/run_identity.hpp"

#include <fmt/format.h>

#include "drover/core/checksum.hpp"
#include "drover/core/version.hpp"

namespace drover {

std::string run_identity(const Provenance& provenance, std::uint64_t data) {
  JsonObject object;
  object.add("settings", provenance.options);
  const std::string settings = object.text();
  Checksum sum;
  sum.add(settings.data(), settings.size());
  return fmt::format("{} {} {} seed {} settings {:016x} data {:016x}\n", version(), provenance.question,
                     provenance.method, provenance.seed, sum.value(), data);
}

void remove_checkpoint_options(OptionList& list) {
  for (const char* name : {"checkpoint", "checkpoint-every", "resume"}) list.remove(name);
}

}  // namespace drover
