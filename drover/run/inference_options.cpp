#include "drover/run/inference_options.hpp"
#include "drover/run/checkpoint.hpp"

#include <algorithm>

namespace drover {

namespace {

constexpr double large = 1e15;

void describe_chains(OptionList& list, InferenceOptions& options, Task task) {
  Chains& chains = options.chains;
  const bool sampling = task == Task::marginals || task == Task::sample;
  switch (task) {
    case Task::marginals:
      list.add("chains", "N", "independent chains; starts of mean-field", chains.count, {1, 1 << 20},
               "128 (gibbs, primal-dual; 4 beyond two million variables), 64 (blocked-gibbs), 32 "
               "(swendsen-wang and its kin), 16 (tempering, gwg, herded-gibbs), 16 or on large models 2 "
               "(mean-field)");
      list.add(
          "sweeps", "N", "sweeps after burn-in", chains.sweeps, {1, large},
          "twice the burn-in; with a target until it is met, with a time limit until R-hat is at most 1.01 "
          "with enough draws or the time is up");
      break;
    case Task::sample:
      list.add("chains", "N", "independent chains", chains.count, {1, 1 << 20},
               "as for marginals, but at least 50 draws each");
      list.add("sweeps", "N", "sweeps after burn-in, instead of a number of samples", chains.sweeps,
               {1, large}, "as many as the samples need");
      break;
    case Task::map:
      list.add("chains", "N", "annealing runs; climbs of icm and primal-dual-em; chains of herded-gibbs",
               chains.count, {1, 1 << 20},
               "128 to 1024 by size (annealed-gibbs), 16 (icm, primal-dual-em, herded-gibbs)");
      list.add("sweeps", "N", "sweeps of one annealing run", chains.sweeps, {1, large},
               "10^10 updates in all, between 200 and 2000 sweeps");
      break;
    case Task::logz:
      list.add("chains", "N", "anneals of ais; chains of primal-dual and swendsen-wang; starts of mean field",
               chains.count, {1, 1 << 20}, "256 (ais), 16 or on large models 2 (mean field)");
      list.add("sweeps", "N", "sweeps of one anneal, or of a chain", chains.sweeps, {1, large},
               "5 10^9 updates in all, between 200 and 5000 sweeps (ais)");
      break;
  }
  if (sampling) {
    list.add("burn-in", "N", "sweeps discarded first", chains.burn_in, {0, large},
             task == Task::marginals
                 ? "10^9 updates, between 100 and 1000 sweeps; with a time limit a third of the run"
                 : "10^9 updates, between 100 and 1000 sweeps; with a time limit a third of it");
    list.add("thin", "N", "keep every N-th sweep", chains.thin, {1, large});
    list.add("target-rhat", "X", "stop when the largest R-hat falls to X with enough draws",
             chains.target_rhat, {1e-9, 10}, "no such rule");
    list.add("target-mcse", "X", "stop when the largest Monte Carlo standard error falls to X",
             chains.target_mcse, {1e-12, 1}, "no such rule");
  }
  if (task == Task::marginals)
    list.add("samples", "N", "draws in all, for methods whose draws are independent (pmp, exact)",
             options.samples, {1, large}, "2048 (pmp); exact needs none");
  if (task == Task::sample)
    list.add("samples", "N", "draws kept in all", options.samples, {1, large}, "1000");
  list.add_choice("scan", "ORDER",
                  task == Task::map    ? "order of updates in a sweep of annealed-gibbs"
                  : task == Task::logz ? "order of updates in a sweep of ais"
                                       : "order of updates in a sweep of gibbs and tempering",
                  chains.scan);
}

// One word for two enums: messages and herded Gibbs both have schedules.
Option::Choice schedule_choice(InferenceOptions& options, bool with_messages, bool with_herded) {
  std::vector<std::string_view> words;
  const auto add = [&](const auto& names) {
    for (const auto& entry : names)
      if (std::ranges::find(words, entry.second) == words.end()) words.push_back(entry.second);
  };
  if (with_messages) add(ChoiceNames<MessageSchedule>::names);
  if (with_herded) add(ChoiceNames<HerdedSchedule>::names);
  words.push_back("auto");
  return {words,
          [&options, words](std::size_t k) {
            options.messages.schedule = choice_named<MessageSchedule>(words[k]);
            options.herded.schedule = choice_named<HerdedSchedule>(words[k]);
          },
          [&options, words]() -> std::ptrdiff_t {
            std::string_view word;
            if (options.messages.schedule) word = choice_name(*options.messages.schedule);
            if (options.herded.schedule) word = choice_name(*options.herded.schedule);
            return word.empty() ? -1 : std::ranges::find(words, word) - words.begin();
          }};
}

void describe_messages(OptionList& list, InferenceOptions& options, Task task) {
  Messages& messages = options.messages;
  if (task == Task::sample) {
    list.add("iterations", "N", "pmp: rounds of max-product", messages.iterations, {1, large}, "100");
    list.add("damping", "X", "pmp: share of the old message that is kept", messages.damping, {0, 0.999},
             "0 on trees, 0.5 with cycles");
  } else {
    list.add("iterations", "N", "rounds of message passing or mean field", messages.iterations, {1, large},
             "1000; pmp 100");
    list.add("damping", "X", "share of the old message (mean-field: distribution) that is kept",
             messages.damping, {0, 0.999}, "0 on trees, 0.5 with cycles");
  }
  if (task != Task::logz) {
    const bool with_messages = task != Task::sample;
    list.add_choice(
        "schedule", "KIND",
        with_messages ? "order of updates: bp and max-product know flooding, sequential, residual; "
                        "herded-gibbs sequential, colours, jacobi"
                      : "order of updates of herded-gibbs",
        schedule_choice(options, with_messages, true),
        with_messages ? "bp: sequential on trees, else flooding; herded-gibbs: sequential, colours "
                        "from 10,000 variables on"
                      : "sequential, colours from 10,000 variables on");
  } else {
    list.add_choice("schedule", "KIND", "order of the messages of bp", schedule_choice(options, true, false),
                    "sequential on trees, else flooding");
  }
}

void describe_herded(OptionList& list, Herded& herded) {
  list.add_choice(
      "share", "KIND",
      "herded-gibbs: a weight per configuration (dense, hashed), per distinct conditional (exact), "
      "or per bin of conditionals (bins)",
      herded.share, "dense where that fits, else hashed, else bins");
  list.add("bins", "N", "herded-gibbs: number of bins", herded.bins, {1, 1e6});
}

}  // namespace

void describe_method(OptionList& list, InferenceOptions& options) {
  list.add("method", "NAME", "the method, or auto; `drover methods` lists them", options.method);
  list.add("seed", "N", "seed of all randomness; same seed, same result", options.seed, {0, large});
}

void describe(OptionList& list, InferenceOptions& options, Task task) {
  const bool sampling = task == Task::marginals || task == Task::sample;
  describe_method(list, options);
  describe_chains(list, options, task);
  describe_messages(list, options, task);
  if (task != Task::logz) describe_herded(list, options.herded);
  Dual& dual = options.dual;
  if (sampling) {
    list.add("bond-share", "X",
             "partial-swendsen-wang: how much of each pair makes bonds, from 0 (none) to 1 (swendsen-wang)",
             dual.bond_share, {0, 1});
    list.add("redraw", "tree-primal-dual: draw a new spanning forest for every sweep", dual.redraw);
    list.add("tolerance", "NATS",
             "primal-dual, tree-primal-dual: refuse a factor whose fitted decomposition is further off (KL)",
             dual.tolerance, {0, 1e6});
    list.add("temperatures", "N", "tempering: rungs of the ladder", options.temperatures.count, {2, 64},
             "twice the barrier that tuning finds and 2 more, at most 64");
  }
  if (task != Task::sample)
    list.add("forest",
             task == Task::map ? "primal-dual-em: all variables at once over a spanning forest"
                               : "primal-dual-mean-field: all variables at once over a spanning forest",
             dual.forest);
  if (task != Task::logz)
    list.add("min-inverse-temperature", "X",
             task == Task::map ? "annealed-gibbs: the hottest inverse temperature"
                               : "tempering: the hottest inverse temperature",
             options.temperatures.min_inverse, {0, 1},
             task == Task::map
                 ? "1.5 divided by the most that the factors of one variable can change the score"
                 : "0 where every state is possible, else 1.5 divided by the most that the factors of one "
                   "variable can change the score, at most 0.5");
  list.add("memory-limit", "GB", "refuse what would need more", options.memory_limit, {1e-6, 1e6},
           "half of the machine's memory");
  if (task == Task::map)
    list.add("best", "N", "the N most probable distinct states (exact, portfolio)", options.best, {1, 1e6});
  if (task == Task::marginals) {
    list.add("pairs", "also estimate the marginals of every pair that shares a factor", options.pairs);
    list.add("check", "compare with exact marginals when they can be had", options.check);
  }
  describe(list, options.checkpoint);
}

void describe(OptionList& list, Checkpointing& checkpoint) {
  list.add("checkpoint", "FILE", "save the run here, regularly and at the end", checkpoint.file);
  list.add("checkpoint-every", "SECONDS", "how long to go on between two saves", checkpoint.every,
           {1e-3, 1e9});
  list.add("resume", "continue from the checkpoint, bit for bit", checkpoint.resume);
}

}  // namespace drover
