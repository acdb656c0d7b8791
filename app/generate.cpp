// drover generate: a model made by rule, to a file or (as UAI) to standard output; or a corpus of texts.
#include "drover/task/generate.hpp"

#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "app/output.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/model_file.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/generate_tagged.hpp"
#include "drover/task/parts.hpp"
#include "drover/text/demo_corpus.hpp"

namespace drover::app {

namespace {

struct Generate {
  GenerateModelOptions options;
  PartsOptions parts;
  std::uint64_t documents = 400;
  std::uint64_t sentences = 1000;
  Limits limits;
  Output output;
};

/// Texts are no models: they have a provenance of their own.
JsonObject text_json(const Generate& generating, const std::string& kind, std::string_view unit,
                     std::uint64_t count) {
  Provenance provenance;
  provenance.question = "generate";
  provenance.input = kind;
  provenance.seed = generating.options.seed;
  provenance.options["seed"] = generating.options.seed;
  provenance.options[unit] = count;
  JsonObject object = json_of(provenance);
  object.add(unit, count);
  return object;
}

void finish(const Output& output, JsonObject object) {
  if (!output.json) return;
  object.add("out", output.out);
  print_json(object);
}

int generate_corpus(const Generate& generating) {
  const Output& output = generating.output;
  check_outputs(output, {".tsv", ".tsv.gz"});
  write_file(output.out.empty() ? "-" : output.out,
             demo_corpus_tsv(generating.documents, generating.options.seed));
  finish(output, text_json(generating, "corpus", "documents", generating.documents));
  return 0;
}

int generate_tagged(const Generate& generating) {
  const Output& output = generating.output;
  check_outputs(output, {".conll", ".tsv", ".txt", ".conll.gz", ".tsv.gz", ".txt.gz"});
  const TaggedText text = generate_tagged_text(generating.sentences, generating.options.seed);
  write_file(output.out.empty() ? "-" : output.out, conll_text(text, text.label_names, text.labels));
  JsonObject object = text_json(generating, "conll", "sentences", text.sentences());
  object.add("tokens", text.tokens());
  finish(output, std::move(object));
  return 0;
}

int run_generate(const Call& call, Generate& generating) {
  const Output& output = generating.output;
  const std::string& kind = call.arguments[0];
  const bool is_text = kind == "corpus" || kind == "conll";
  if (!is_text) generating.options.kind = parse_generate_kind(kind);
  check_one_document(output.json, {output.out.empty() ? "-" : output.out});
  apply(generating.limits);
  if (!is_text && !output.out.empty() && is_parts_folder(output.out)) {
    generate_parts(generating.options, output.out, generating.parts, run_control());
    if (speaks()) finish(output, text_json(generating, kind, "parts", generating.parts.parts));
    return 0;
  }
  for (const char* option : {"parts", "duals"})
    if (call.was_given(option))
      throw Error(ErrorKind::usage, fmt::format("--{} is for a folder: --out must end with a slash", option));
  if (!goes_on_alone()) return 0;
  if (kind == "corpus") return generate_corpus(generating);
  if (kind == "conll") return generate_tagged(generating);
  const bool to_file = !output.out.empty() && output.out != "-";
  if (generating.options.kind == GenerateKind::deconvolution && !to_file)
    throw Error(ErrorKind::usage,
                "generate deconvolution writes two files, the model and the images as evidence: --out is "
                "needed");
  const Generated result = generate_model(generating.options);
  print_warnings(output.quiet, result.provenance.warnings);
  if (output.out.empty())
    write_model(result.model, "-", ModelFormat::uai, run_control());
  else
    write_model(result.model, output.out, run_control());
  JsonObject object = to_json(result);
  if (result.evidence.size() > 0) {
    const std::string path = output.out + ".evid";
    write_file(path, evidence_text(result));
    object.add("evidence", path);
  }
  finish(output, std::move(object));
  return 0;
}

}  // namespace

Command generate_command() {
  auto generating = std::make_shared<Generate>();
  Command command{"generate",
                  "make a model: grid, torus, chain, tree, complete, random, regular, potts, tables, rbm, "
                  "deconvolution; or a corpus of texts (corpus) or of tagged sentences (conll)",
                  {{"KIND", "the kind of model"}},
                  "drover generate grid --width 50 --coupling-sd 1 --out grid.uai",
                  {},
                  [generating](const Call& call) { return run_generate(call, *generating); }};
  describe(command.options, generating->options);
  command.options.add("documents", "N", "corpus: number of documents", generating->documents, {1, 1e8});
  command.options.add("sentences", "N", "conll: about how many sentences", generating->sentences, {1, 1e8});
  command.shared = true;  // ranks share the parts
  describe(command.options, generating->parts);
  describe_threads(command.options, generating->limits);
  describe(command.options, generating->output,
           "write it here; the extension picks the format; a slash at the end makes a folder of parts for "
           "several ranks (grid)",
           false);
  return command;
}

}  // namespace drover::app
