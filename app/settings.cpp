#include "app/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "app/commands.hpp"
#include "drover/core/error.hpp"

namespace drover::app {

namespace {

constexpr double large = 1e15;
constexpr std::string_view inference = "marginals map logz sample";
constexpr std::string_view sampling = "marginals sample";
constexpr std::string_view nearly_all =
    "info marginals map logz sample generate convert methods bench reproduce text denoise tag stream";
constexpr std::string_view with_model = "marginals map logz sample info stream";

const std::vector<OptionSpec>& options() {
  using S = Settings;
  static const std::vector<OptionSpec> table = {
      {"evidence", "FILE", "observed variables, as a UAI evidence file", &S::evidence, 0, 0, with_model},
      {"observe", "NAME=VALUE,...",
       "observed variables, by name or number; quote a name that holds = or a comma", &S::observe, 0, 0,
       with_model},
      {"query", "NAME,...",
       "show only these variables; herd: estimate the probability of NAME=VALUE,... (several: with ; "
       "between)",
       &S::query, 0, 0, "marginals map"},
      {"method", "NAME", "the method, or auto; `drover methods` lists them", &S::method, 0, 0,
       "marginals map logz sample text denoise tag"},
      {"seed", "N", "seed of all randomness; same seed, same result", &S::seed, 0, large,
       "marginals map logz sample generate bench info reproduce text denoise tag stream"},
      {"threads", "N", "threads to use; 0 means all cores. Results do not depend on it", &S::threads, 0, 4096,
       nearly_all},
      {"chains", "N", "independent chains; 0 lets the method choose", &S::chains, 0, 1 << 20,
       "marginals map logz sample text denoise"},
      {"sweeps", "N", "sweeps after burn-in (for ais and annealed-gibbs: in all); 0 lets the method choose",
       &S::sweeps, 0, large, "marginals map logz sample text denoise tag"},
      {"burn-in", "N", "sweeps discarded first; -1 lets the method choose", &S::burn_in, -1, large,
       "marginals sample text denoise"},
      {"thin", "N", "keep every N-th sweep", &S::thin, 1, large, "marginals sample text"},
      {"samples", "N", "draws kept in all (herd: pseudo-samples); 0 lets the method choose", &S::samples, 0,
       large, "sample"},
      {"time", "SECONDS", "stop after this time with the result so far; 0 means no limit", &S::time, 0, 1e9,
       "marginals map logz sample reproduce text denoise tag stream"},
      {"target-rhat", "X", "stop when the largest R-hat falls to X with enough draws; 0 means no such rule",
       &S::target_rhat, 0, 10, sampling},
      {"target-mcse", "X",
       "stop when the largest Monte Carlo standard error falls to X; 0 means no such rule", &S::target_mcse,
       0, 1, sampling},
      {"scan", "ORDER", "order of updates: fixed or random", &S::scan, 0, 0, inference, "fixed random"},
      {"share", "KIND",
       "herded-gibbs: weights per configuration (dense, hashed), shared (exact, bins:N), or auto", &S::share,
       0, 0, "marginals map sample info denoise"},
      {"schedule", "KIND",
       "herded-gibbs: sequential, colours, jacobi or auto; bp, max-product: flooding, sequential, residual "
       "or "
       "auto",
       &S::schedule, 0, 0, "marginals map logz sample info denoise",
       "auto sequential colours jacobi flooding residual"},
      {"iterations", "N",
       "rounds of message passing or mean field, steps of learning; 0 lets the method choose", &S::iterations,
       0, large, "marginals map logz sample denoise tag"},
      {"damping", "X",
       "share of the old message (mean-field: distribution) that is kept; -1 lets the method choose",
       &S::damping, -1, 0.999, "marginals map logz sample denoise"},
      {"bond-share", "X",
       "partial-swendsen-wang: how much of each pair makes bonds, from 0 (none) to 1 (swendsen-wang)",
       &S::bond_share, 0, 1, sampling},
      {"redraw", "", "tree-primal-dual: draw a new spanning forest for every sweep", &S::redraw, 0, 0,
       sampling},
      {"tolerance", "NATS",
       "primal-dual, tree-primal-dual: refuse a factor whose fitted decomposition is further off (KL)",
       &S::tolerance, 0, 1e6, sampling},
      {"memory-limit", "GB", "refuse what would need more; 0 means half of the machine's memory",
       &S::memory_limit, 0, 1e6, "marginals map logz sample info denoise"},
      {"temperatures", "N", "tempering: rungs of the ladder; 0 lets the run choose", &S::temperatures, 0, 64,
       sampling},
      {"min-inverse-temperature", "X",
       "tempering and annealing: the hottest inverse temperature; -1 means automatic",
       &S::min_inverse_temperature, -1, 1, inference},
      {"pairs", "", "also estimate the marginals of every pair that shares a factor", &S::pairs, 0, 0,
       "marginals"},
      {"check", "", "compare with exact marginals when they can be had", &S::check, 0, 0, "marginals"},
      {"out", "FILE", "write the result here; the extension picks the format", &S::out, 0, 0,
       "marginals map logz sample generate reproduce text tag"},
      {"report", "FILE.html", "write a self-contained HTML report", &S::report, 0, 0,
       "marginals map logz sample reproduce text denoise tag"},
      {"checkpoint", "FILE", "save the run here, regularly and at the end", &S::checkpoint, 0, 0, sampling},
      {"resume", "", "continue from --checkpoint, bit for bit", &S::resume, 0, 0, sampling},
      {"config", "FILE", "take options from a TOML file or from the settings in an earlier JSON result",
       &S::config, 0, 0, "marginals map logz sample generate text denoise tag"},
      {"json", "", "print one JSON object and nothing else", &S::json, 0, 0, nearly_all},
      {"quiet", "", "no progress and no warnings on stderr", &S::quiet, 0, 0, nearly_all},
      {"l1", "X", "weight of the absolute values of the weights", &S::l1, 0, 1e6, "tag"},
      {"l2", "X", "half the weight of the squares of the weights (tag train: 1 unless given)", &S::l2, 0, 1e6,
       "tag"},
      {"held-out", "X", "share of the rows kept aside for checks", &S::held_out, 0, 0.9, "tag"},
      {"patience", "N", "stop after so many checks without a better one; 0 means never", &S::patience, 0, 1e6,
       "tag"},
      {"sigma", "X", "standard deviation of the noise, where black is -1 and white +1; 0 means estimated",
       &S::sigma, 0, 1000, "denoise"},
      {"noise", "X",
       "first add Gaussian noise of this standard deviation; the image itself is then the truth", &S::noise,
       0, 1000, "denoise"},
      {"levels", "N", "grey levels of the result; 2 is black and white", &S::levels, 2, 256, "denoise"},
      {"truncation", "X", "grey levels: differences of neighbours beyond this cost no more", &S::truncation,
       0, 2, "denoise"},
      {"truth", "FILE", "the clean image, to measure the error", &S::truth, 0, 0, "denoise"},
      {"grey", "", "write the posterior mean in greys, not the nearest level", &S::grey, 0, 0, "denoise"},
      {"edits", "FILE", "read edits from here instead of the standard input", &S::edits, 0, 0, "stream"},
      {"edits-per-sweep", "N", "sweep after every N edits; 0 means only when asked to", &S::edits_per_sweep,
       0, large, "stream"},
      {"every", "N", "answer with the marginals of all variables after every N sweeps; 0 means when asked",
       &S::every, 0, large, "stream"},
      {"half-life", "SWEEPS", "sweeps after which a sweep counts half in the marginals", &S::half_life, 1e-3,
       1e12, "stream"},
      {"live", "", "sweep on while no edits come in; results then depend on time", &S::live, 0, 0, "stream"},
      {"forest", "", "primal-dual-em, primal-dual-mean-field: all variables at once over a spanning forest",
       &S::forest, 0, 0, "marginals map logz"},
      {"data", "DIR",
       "folder with the papers' data sets; without it the program makes stand-ins, and says so", &S::data, 0,
       0, "reproduce"},
      {"quick", "", "a cut-down run of about a minute", &S::quick, 0, 0, "reproduce"},
      {"classes", "N|NAME,...",
       "the classes: how many, or their names (any other label is then an error); empty means those found",
       &S::classes, 0, 0, "text"},
      {"labelled-share", "X",
       "keep this share of the labels of each class and hide the others, to measure the accuracy on them",
       &S::labelled_share, 0, 1, "text"},
      {"min-count", "N", "leave out words that occur less often in all documents together", &S::min_count, 1,
       1e9, "text tag"},
      {"ngrams", "N", "count runs of up to N neighbouring words as words too", &S::ngrams, 1, 8, "text"},
      {"stop-words", "LIST", "words to leave out: english, or a file with a word per line", &S::stop_words, 0,
       0, "text"},
      {"keep-case", "", "do not change letters to lower case", &S::keep_case, 0, 0, "text"},
      {"encoding", "NAME", "of the texts: utf-8 or latin-1", &S::encoding, 0, 0, "text"},
      {"input-format", "NAME", "of files: auto, tsv, jsonl, svmlight or plain; tag: auto, conll or plain",
       &S::input_format, 0, 0, "text tag"},
      {"class-pseudo-count", "X", "prior of the classes: Dirichlet(X, ..., X)", &S::class_pseudo_count, 1e-9,
       1e9, "text"},
      {"word-pseudo-count", "X", "prior of the words of a class: Dirichlet(X, ..., X)", &S::word_pseudo_count,
       1e-9, 1e9, "text"},
      {"sample-pseudo-counts", "", "sample both pseudo-counts, with the prior Exponential(1)",
       &S::sample_pseudo_counts, 0, 0, "text"},
      {"no-swaps", "", "do not try to exchange two classes at once: the paper's sampler to the letter",
       &S::no_swaps, 0, 0, "text"},
      {"top-words", "N", "how many telling words to name per class", &S::top_words, 0, 1e6, "text"},
      {"demo", "", "read a small corpus that the program makes itself", &S::demo, 0, 0, "text"},
      {"documents", "N", "corpus: number of documents", &S::documents, 1, 1e8, "generate"},
      {"algorithm", "NAME", "tag train: lbfgs (with --l1: OWL-QN) or sgd", &S::algorithm, 0, 0, "tag"},
      {"templates", "FILE", "tag train: feature templates; without it a set for named entities",
       &S::templates, 0, 0, "tag"},
      {"gazetteers", "NAME=FILE,...", "tag train: lists of names, one entry a line", &S::gazetteers, 0, 0,
       "tag"},
      {"dev", "FILE", "tag train: labelled text to score after every iteration", &S::dev, 0, 0, "tag"},
      {"scheme", "NAME", "tag train: labels as bio, iob1, iobes or raw; auto keeps those of the file",
       &S::scheme, 0, 0, "tag"},
      {"rename", "OLD=NEW,...", "tag: entity types to rename; NEW may be O", &S::rename, 0, 0, "tag"},
      {"skip", "", "tag train: factors between equal capitalised words of a document", &S::skip, 0, 0, "tag"},
      {"skip-data", "FILE", "tag train: labelled text to learn those from instead", &S::skip_data, 0, 0,
       "tag"},
      {"sentences", "N", "conll: about how many sentences", &S::sentences, 1, 1e8, "generate"},
      {"images", "N", "deconvolution: number of images", &S::images, 1, 1e6, "generate"},
      {"width", "N", "grid, torus, potts, deconvolution: columns", &S::width, 1, 1e9, "generate"},
      {"height", "N", "grid, torus, potts, deconvolution: rows; 0 means as many as columns", &S::height, 0,
       1e9, "generate"},
      {"periodic", "", "grid, potts: join opposite borders", &S::periodic, 0, 0, "generate"},
      {"variables", "N", "number of variables (rbm: visible units)", &S::variables, 1, 4e9, "generate"},
      {"states", "N", "states per variable; 0 means 2, and 3 for potts", &S::states, 0, 65535, "generate"},
      {"degree", "X", "regular: neighbours per variable; random: on average", &S::degree, 0, 1e9, "generate"},
      {"arity", "N", "tables: variables per factor", &S::arity, 1, 20, "generate"},
      {"factors", "N", "tables: number of factors; 0 means as many as variables", &S::factors, 0, 4e9,
       "generate"},
      {"hidden", "N", "rbm, boltzmann: hidden units", &S::hidden, 1, 4e9, "generate"},
      {"coupling", "J",
       "mean of the couplings (log factor J s s', each pair once); standard normal when none is given; "
       "denoise: "
       "how much neighbours like to agree, by default 1, with more levels 8",
       &S::coupling, -1e300, 1e300, "generate denoise"},
      {"coupling-sd", "X", "normal couplings with this standard deviation", &S::coupling_sd, 0, 1e300,
       "generate"},
      {"coupling-range", "X", "uniform couplings, this far from the mean on either side", &S::coupling_range,
       0, 1e300, "generate"},
      {"random-signs", "", "couplings J or -J, each with probability one half", &S::random_signs, 0, 0,
       "generate"},
      {"field", "H", "mean of the fields (log factor H s)", &S::field, -1e300, 1e300, "generate"},
      {"field-sd", "X", "normal fields with this standard deviation", &S::field_sd, 0, 1e300, "generate"},
      {"zero-share", "X", "tables: share of entries that are hard zeros", &S::zero_share, 0, 0.9, "generate"},
  };
  return table;
}

// The words of "a b c".
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool has_word(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = words_of(words);
  return std::ranges::find(all, word) != all.end();
}

Command make(std::string_view name, std::string summary, std::vector<Argument> arguments, std::string example,
             int (*run)(const Invocation&)) {
  auto invocation = std::make_shared<Invocation>();
  invocation->command = name;
  Command command{std::string(name), std::move(summary), std::move(arguments), std::move(example), {}, {}};
  describe(command.options, invocation->settings, name);
  command.run = [invocation, run](const Call& call) {
    invocation->arguments = call.arguments;
    invocation->given = call.given;
    Limits limits;
    if (invocation->settings.time > 0) limits.time = invocation->settings.time;
    if (invocation->settings.threads > 0)
      limits.threads = static_cast<std::uint32_t>(invocation->settings.threads);
    apply(limits);
    return run(*invocation);
  };
  return command;
}

}  // namespace

bool Invocation::was_given(std::string_view option) const {
  return std::ranges::find(given, option) != given.end();
}

void describe(OptionList& list, Settings& settings, std::string_view command) {
  for (const OptionSpec& option : options()) {
    if (!has_word(option.commands, command)) continue;
    if (const auto* flag = std::get_if<bool Settings::*>(&option.field)) {
      list.add(option.name, option.help, settings.**flag);
    } else if (const auto* whole = std::get_if<std::int64_t Settings::*>(&option.field)) {
      list.add(option.name, option.value_name, option.help, settings.**whole, {option.min, option.max});
    } else if (const auto* real = std::get_if<double Settings::*>(&option.field)) {
      list.add(option.name, option.value_name, option.help, settings.**real, {option.min, option.max});
    } else {
      std::string& text = settings.*std::get<std::string Settings::*>(option.field);
      if (option.choices.empty()) {
        list.add(option.name, option.value_name, option.help, text);
        continue;
      }
      const std::vector<std::string_view> words = words_of(option.choices);
      list.add_choice(option.name, option.value_name, option.help,
                      {words, [&text, words](std::size_t k) { text = words[k]; },
                       [&text, words] { return std::ranges::find(words, text) - words.begin(); }});
    }
  }
}

Command settings_command(std::string_view name) {
  if (name == "tag")
    return make(name, "label sequences by a conditional random field: tag train, tag eval, tag MODEL",
                {{"WHAT", "train, eval, or a model made by drover tag train"},
                 {"FILES", "train: TRAIN.conll; eval: MODEL TEST.conll; otherwise the file to label", true}},
                "drover tag train models/names.conll --out model.drv", run_tag);
  if (name == "reproduce")
    return make(name, "an experiment of the papers, with the paper's value beside ours",
                {{"EXPERIMENT", "its name; `list` shows all"}}, "drover reproduce herded-rates --quick",
                run_reproduce);
  if (name == "text")
    return make(name, "classes of documents, by Gibbs sampling of naive Bayes; few labels or none will do",
                {{"TRAIN",
                  "documents (a folder per class, .zip, TSV, JSONL, SVMlight counts); or fit TRAIN... --out "
                  "MODEL.drv; "
                  "or predict MODEL.drv FILE...",
                  true, true}},
                "drover text --demo --labelled-share 0.1", run_text);
  if (name == "denoise")
    return make(name, "an image without its noise: black and white, or grey levels",
                {{"IN", "the noisy image: .png, .pbm, .pgm"},
                 {"OUT", "the image to write: .png, .pbm, .pgm", false, false, true}},
                "drover denoise models/rings.pbm rings.png --noise 1.5", run_denoise);
  if (name == "stream")
    return make(name, "sample a pairwise model while it changes: JSON lines in, JSON lines out",
                {{"MODEL", "a model file"}}, "drover stream models/grid-3x3.uai --edits models/edits.jsonl",
                run_stream);
  if (name == "generate")
    return make(name,
                "make a model: grid, torus, chain, tree, complete, random, regular, potts, tables, rbm, "
                "deconvolution; or a corpus "
                "of texts (corpus) or of tagged sentences (conll)",
                {{"KIND", "the kind of model"}},
                "drover generate grid --width 50 --coupling-sd 1 --out grid.uai", run_generate);
  if (name == "convert")
    return make(name, "read one model format and write another",
                {{"FROM", "the file to read"}, {"TO", "the file to write", false, false, true}},
                "drover convert models/sprinkler.bif sprinkler.uai", run_convert);
  if (name == "bench")
    return make(name, "measure this machine: updates per nanosecond of the samplers", {}, "drover bench",
                run_bench);
  throw Error(ErrorKind::internal, fmt::format("no code for command {}", name));
}

}  // namespace drover::app
