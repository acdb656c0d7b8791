// drover generate: a model made by rule, to a file or (as UAI) to standard output.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/settings_output.hpp"
#include "drover/core/error.hpp"
#include "drover/io/atomic_file.hpp"
#include "drover/io/model_file.hpp"
#include "drover/model/builders.hpp"
#include "drover/model/convolution.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/generate_tagged.hpp"
#include "drover/text/demo_corpus.hpp"

namespace drover::app {

namespace {

Draw coupling_draw(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  const int shapes = (settings.coupling_sd > 0 ? 1 : 0) + (settings.coupling_range > 0 ? 1 : 0) +
                     (settings.random_signs ? 1 : 0);
  if (shapes > 1)
    throw Error(ErrorKind::usage, "--coupling-sd, --coupling-range and --random-signs exclude one another");
  if (settings.coupling_sd > 0) return Draw::normal(settings.coupling, settings.coupling_sd);
  if (settings.coupling_range > 0)
    return Draw::uniform(settings.coupling - settings.coupling_range,
                         settings.coupling + settings.coupling_range);
  if (settings.random_signs) return Draw::sign(invocation.was_given("coupling") ? settings.coupling : 1);
  return invocation.was_given("coupling") ? Draw::constant(settings.coupling) : Draw::normal(0, 1);
}

int generate_corpus(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".tsv", ".tsv.gz"});
  const auto documents = static_cast<std::uint64_t>(settings.documents);
  write_file(settings.out.empty() ? "-" : settings.out,
             demo_corpus_tsv(documents, static_cast<std::uint64_t>(settings.seed)));
  if (settings.json) {
    SettingsObject object = json_envelope(invocation, {});
    object.add("documents", documents);
    object.add("out", settings.out);
    print_json(object);
  }
  return 0;
}

int generate_tagged(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_outputs(settings, {".conll", ".tsv", ".txt", ".conll.gz", ".tsv.gz", ".txt.gz"});
  const TaggedText text = generate_tagged_text(static_cast<std::size_t>(settings.sentences),
                                               static_cast<std::uint64_t>(settings.seed));
  write_file(settings.out.empty() ? "-" : settings.out, conll_text(text, text.label_names, text.labels));
  if (settings.json) {
    SettingsObject object = json_envelope(invocation, {});
    object.add("sentences", text.sentences());
    object.add("tokens", text.tokens());
    object.add("out", settings.out);
    print_json(object);
  }
  return 0;
}

/// Writes the model, and next to it the images as evidence.
int generate_deconvolution(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  ConvolutionShape shape{.features = 3, .feature_height = 4, .feature_width = 4};
  const std::int64_t height = settings.height > 0 ? settings.height : settings.width;
  if (settings.width < shape.feature_width || height < shape.feature_height || settings.width > 1000 ||
      height > 1000)
    throw Error(ErrorKind::usage,
                fmt::format("--width {} with --height {}: expected images from 4 to 1000 pixels",
                            settings.width, height));
  if (settings.images * height * settings.width > 10'000'000)
    throw Error(ErrorKind::usage,
                "--images, --width and --height: expected at most ten million pixels in all");
  shape.images = static_cast<std::uint32_t>(settings.images);
  shape.location_height = static_cast<std::uint32_t>(height) - shape.feature_height + 1;
  shape.location_width = static_cast<std::uint32_t>(settings.width) - shape.feature_width + 1;
  if (settings.out.empty() || settings.out == "-")
    throw Error(ErrorKind::usage,
                "generate deconvolution writes two files, the model and the images as evidence: "
                "--out is needed");
  const Model model = binary_convolution(shape);
  constexpr double placed_per_image = 3;
  const std::vector<Value> images =
      random_images(shape, placed_per_image, static_cast<std::uint64_t>(settings.seed));
  std::string evidence = std::to_string(images.size());
  for (std::size_t p = 0; p < images.size(); ++p)
    evidence += fmt::format(" {} {}", shape.first_pixel() + p, images[p]);
  evidence += "\n";
  const std::string evidence_path = settings.out + ".evid";
  write_model(model, settings.out);
  write_file(evidence_path, evidence);
  if (settings.json) {
    SettingsObject object = json_envelope(invocation, {});
    object.add("variables", model.variable_count());
    object.add("factors", model.factor_count());
    object.add("out", settings.out);
    object.add("evidence", evidence_path);
    print_json(object);
  }
  return 0;
}

}  // namespace

int run_generate(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  check_one_document(settings.json, {settings.out.empty() ? "-" : settings.out});
  if (invocation.arguments.at(0) == "corpus") return generate_corpus(invocation);
  if (invocation.arguments.at(0) == "conll") return generate_tagged(invocation);
  if (invocation.arguments.at(0) == "deconvolution") return generate_deconvolution(invocation);
  GenerateOptions options;
  options.kind = parse_generate_kind(invocation.arguments.at(0));
  options.width = static_cast<std::uint64_t>(settings.width);
  options.height = static_cast<std::uint64_t>(settings.height > 0 ? settings.height : settings.width);
  options.periodic = settings.periodic;
  if (options.kind == GenerateKind::grid && settings.periodic) options.kind = GenerateKind::torus;
  options.variables = static_cast<std::uint64_t>(settings.variables);
  options.visible = static_cast<std::uint64_t>(settings.variables);
  options.hidden = static_cast<std::uint64_t>(settings.hidden);
  options.states = static_cast<std::uint64_t>(settings.states);
  options.degree = settings.degree;
  options.arity = static_cast<std::uint64_t>(settings.arity);
  options.factors = static_cast<std::uint64_t>(settings.factors);
  options.zero_share = settings.zero_share;
  options.coupling = coupling_draw(invocation);
  options.field = settings.field_sd > 0 ? Draw::normal(settings.field, settings.field_sd)
                                        : Draw::constant(settings.field);
  options.seed = static_cast<std::uint64_t>(settings.seed);
  const Model model = generate(options);
  if (settings.out.empty())
    write_model(model, "-", ModelFormat::uai);
  else
    write_model(model, settings.out);
  if (settings.json) {
    SettingsObject object = json_envelope(invocation, {});
    object.add("variables", model.variable_count());
    object.add("factors", model.factor_count());
    object.add("out", settings.out);
    print_json(object);
  }
  return 0;
}

}  // namespace drover::app
