#include <memory>

#include "app/commands.hpp"
#include "app/reproduce.hpp"

namespace drover::app {

Command reproduce_command() {
  auto reproduce = std::make_shared<Reproduce>();
  Command command{"reproduce",
                  "an experiment of the papers, with the paper's value beside ours",
                  {{"EXPERIMENT", "its name; `list` shows all"}},
                  "drover reproduce herded-rates --quick",
                  {},
                  [reproduce](const Call& call) {
                    reproduce->experiment = call.arguments[0];
                    apply(reproduce->limits);
                    return run_reproduce(*reproduce);
                  }};
  OptionList& list = command.options;
  list.add("data", "DIR", "folder with the papers' data sets", reproduce->data,
           "stand-ins that the program makes, and says so");
  list.add("quick", "a cut-down run of about a minute", reproduce->quick);
  list.add("seed", "N", "seed of all randomness; same seed, same result", reproduce->seed, {0, 1e15});
  describe(list, reproduce->limits);
  describe(list, reproduce->output, "write the result here: .json or .md", true);
  list.remove("config");
  return command;
}

}  // namespace drover::app
