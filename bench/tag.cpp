// Training and tagging speed of the chain CRF beside Wapiti (github.com/Jekub/Wapiti; not the Debian package
// of that name), on the same columns, features, penalty and iterations:
//
//   WAPITI=/path/to/wapiti bench_tag TRAIN.conll
//
// Two tasks: the labels of the file (named entities, say), and 45 labels made from the words, as many as
// English part-of-speech tags. CPU seconds, one thread, from iteration 5 to 25, so that reading the data does
// not count; and elapsed time with one and with two threads. Without a file a generated corpus is used.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drover/tag/conll.hpp"
#include "drover/tag/crf_tag.hpp"
#include "drover/tag/crf_train.hpp"
#include "drover/tag/feature_templates.hpp"
#include "drover/tag/generate_tagged.hpp"

namespace {

using namespace drover;

constexpr std::size_t first_iteration = 5, last_iteration = 25;

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Attributes as columns, so that both programs see exactly the same features; "_" where a word has none.
TaggedText with_columns(const TaggedText& text) {
  TaggedText wide = text;
  wide.columns = 12;
  wide.characters.clear();
  wide.field_end.clear();
  std::string out;
  const auto characters = [](std::string_view word) {
    std::vector<std::size_t> starts;
    for (std::size_t k = 0; k < word.size(); ++k)
      if ((static_cast<unsigned char>(word[k]) & 0xC0) != 0x80) starts.push_back(k);
    starts.push_back(word.size());
    return starts;
  };
  for (std::size_t t = 0; t < text.tokens(); ++t) {
    const std::string_view word = text.word(t);
    wide.add_field(word);
    lower_text(word, out);
    wide.add_field(out);
    for (bool once : {false, true}) {
      shape_of(word, once, out);
      wide.add_field(out);
    }
    const auto starts = characters(word);
    for (std::size_t n = 1; n <= 4; ++n)
      wide.add_field(starts.size() > n ? word.substr(0, starts[n]) : std::string_view("_"));
    for (std::size_t n = 1; n <= 4; ++n)
      wide.add_field(starts.size() > n ? word.substr(starts[starts.size() - 1 - n]) : std::string_view("_"));
  }
  return wide;
}

/// The templates of both programs.
void make_templates(std::string& ours, std::string& theirs) {
  const std::vector<std::vector<std::pair<int, int>>> templates = {
      {{0, 1}},          {{0, 2}},          {{0, 3}},
      {{0, 4}},          {{0, 5}},          {{0, 6}},
      {{0, 7}},          {{0, 8}},          {{0, 9}},
      {{0, 10}},         {{0, 11}},         {{0, 12}},
      {{-2, 1}},         {{-1, 1}},         {{1, 1}},
      {{2, 1}},          {{-2, 4}},         {{-1, 4}},
      {{1, 4}},          {{2, 4}},          {{-1, 11}},
      {{1, 11}},         {{-1, 2}, {0, 2}}, {{0, 2}, {1, 2}},
      {{-1, 4}, {0, 4}}, {{0, 4}, {1, 4}},  {{-1, 4}, {0, 4}, {1, 4}}};
  for (std::size_t k = 0; k < templates.size(); ++k) {
    theirs += fmt::format("u{}:", k);
    for (std::size_t p = 0; p < templates[k].size(); ++p) {
      const auto& [offset, column] = templates[k][p];
      ours += fmt::format("{}column{}[{}]", p == 0 ? "" : " ", column, offset);
      theirs += fmt::format("{}%x[{},{}]", p == 0 ? "" : "/", offset, column - 1);
    }
    ours += '\n';
    theirs += '\n';
  }
  ours += "labels\n";
  theirs += "b\n";
}

/// The first sentences only.
void shorten(TaggedText& text, std::size_t sentences) {
  if (text.sentences() <= sentences) return;
  text.sentence_end.resize(sentences);
  text.document_end = text.sentence_end;
  for (std::size_t s = 0; s < sentences; ++s) text.document_end[s] = static_cast<std::uint32_t>(s + 1);
  text.field_end.resize(text.sentence_end.back() * text.columns);
  text.labels.resize(text.sentence_end.back());
  text.line.resize(text.sentence_end.back());
}

/// 45 labels, each a function of the ending of the word and of the word before.
void make_many_labels(TaggedText& text) {
  text.label_names.clear();
  for (int k = 0; k < 45; ++k) text.label_names.push_back(fmt::format("T{}", k));
  for (std::size_t t = 0; t < text.tokens(); ++t) {
    const std::string_view word = text.word(t);
    const std::uint64_t own = hash_text(word.size() > 3 ? word.substr(word.size() - 2) : word, 1);
    const std::uint64_t context = t > 0 ? hash_text(text.word(t - 1).substr(0, 1), 2) % 3 : 0;
    text.labels[t] = static_cast<LabelId>((own + 15 * context) % 45);
  }
}

double run_wapiti(const std::string& program, const std::string& folder, std::size_t iterations) {
  const double before = cpu_seconds(RUSAGE_CHILDREN);
  const std::string line = fmt::format(
      "{0} train -a l-bfgs -1 0 -2 1 --histsz 5 -i {2} -t 1 -e 0 -w 0 -d {1}/dev -p {1}/patterns {1}/train "
      "{1}/model "
      "> {1}/log 2>&1",
      program, folder, iterations);
  if (std::system(line.c_str()) != 0) {
    fmt::print("Wapiti failed; see {}/log\n", folder);
    std::exit(1);
  }
  return cpu_seconds(RUSAGE_CHILDREN) - before;
}

struct Speed {
  double cpu = 0, wall = 0, loss = 0;
};

Speed train(const TaggedText& text, const FeatureTemplates& templates, LabelScheme scheme,
            std::size_t threads, Crf& crf) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  CrfTrainOptions options;
  options.iterations = last_iteration;
  options.tolerance = 0;
  CrfTrainSummary summary;
  double cpu = 0, wall = 0;
  RunControl control;
  control.watch([&](const Progress& progress) {
    if (progress.sweeps != first_iteration && progress.sweeps != last_iteration) return;
    cpu = cpu_seconds(RUSAGE_SELF) - cpu;
    wall = wall_seconds() - wall;
  });
  crf = train_crf(text, scheme, nullptr, templates, {}, options, summary, control);
  return {cpu, wall, summary.loss};
}

void measure(const std::string& task, const TaggedText& text, LabelScheme scheme) {
  std::string ours, theirs;
  make_templates(ours, theirs);
  TextSource source(ours, "templates");
  const FeatureTemplates templates = read_templates(source, text.columns);
  const double work =
      static_cast<double>(text.tokens()) * static_cast<double>(last_iteration - first_iteration);
  fmt::print("{}: {} tokens, {} labels\n", task, text.tokens(), text.label_names.size());

  Crf crf;
  const Speed one = train(text, templates, scheme, 1, crf);
  fmt::print(
      "  drover, 1 thread: {:.2f} CPU s, {:.3f} million tokens x iterations per CPU second (loss {:.1f})\n",
      one.cpu, work / one.cpu / 1e6, one.loss);
  if (const char* program = std::getenv("WAPITI")) {
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("drover-bench-{}", getpid())).string();
    std::filesystem::create_directories(folder);
    const std::string lines = conll_text(text, text.label_names, text.labels);
    std::ofstream(folder + "/train") << lines;
    std::ofstream(folder + "/dev") << lines.substr(0, lines.find("\n\n") + 2);
    std::ofstream(folder + "/patterns") << theirs;
    const double cpu =
        run_wapiti(program, folder, last_iteration) - run_wapiti(program, folder, first_iteration);
    fmt::print(
        "  Wapiti, 1 thread: {:.2f} CPU s, {:.3f} million tokens x iterations per CPU second; drover is "
        "{:.1f} "
        "times as fast\n",
        cpu, work / cpu / 1e6, cpu / one.cpu);
    std::filesystem::remove_all(folder);
  } else {
    fmt::print("  Wapiti: not measured (WAPITI is not set)\n");
  }
  Crf other;
  const Speed two = train(text, templates, scheme, 2, other);
  fmt::print("  drover, elapsed: 1 thread {:.2f} s, 2 threads {:.2f} s; same weights: {}\n", one.wall,
             two.wall, other.weights == crf.weights ? "yes" : "NO");

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  for (bool confidence : {false, true}) {
    const double start = cpu_seconds(RUSAGE_SELF);
    tag_text(crf, text, {}, confidence);
    const double cpu = cpu_seconds(RUSAGE_SELF) - start;
    fmt::print("  Viterbi tagging{}, 1 thread, features included: {:.0f} tokens per CPU second\n",
               confidence ? " with confidences" : "", static_cast<double>(text.tokens()) / cpu);
  }
}

}  // namespace

int main(int argc, char** argv) {
  TaggedText text = argc > 1 ? read_conll(argv[1]) : generate_tagged_text(20000, 1);
  const LabelScheme scheme = detect_scheme(text).scheme;
  text = with_columns(text);
  measure("labels of the file", text, scheme);
  shorten(text, 5000);  // Wapiti's vectors of 45 weights per feature would fill the memory
  make_many_labels(text);
  measure("45 labels made from the words", text, LabelScheme::raw);
}
