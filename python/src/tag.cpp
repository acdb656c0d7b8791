// Labels of the words of sentences, for drover.sklearn.CRFTagger.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <map>

#include "arrays.hpp"
#include "data.hpp"
#include "drover/io/model_archive.hpp"
#include "drover/tag/conll.hpp"
#include "drover/tag/crf_file.hpp"
#include "drover/task/tag.hpp"
#include "options.hpp"
#include "pickling.hpp"
#include "python_run.hpp"

namespace drover::python {

namespace {

struct PythonTagger {
  Crf crf;
  LabelScheme written = LabelScheme::raw;  ///< of the labels it was given
  std::string verdict{}, verdict_text{}, json{};
  bool interrupted = false;
};

// Sentences of tokens as Python has them; a sentence may be empty, in the library none is.
struct Sentences {
  TaggedText text;
  std::vector<std::size_t> sizes;  ///< in tokens

  /// Each token is a word, or a tuple of columns; each sentence has a document number, or none of them.
  Sentences(const py::object& sentences, const py::object& labels,
            const std::vector<std::int64_t>& documents) {
    text.name = "the sentences";
    std::map<std::string, LabelId, std::less<>> known;
    bool first_token = true;
    std::size_t s = 0;
    py::iterator next_labels = labels.is_none() ? py::iterator() : py::iter(labels);
    for (py::handle sentence : sentences) {
      if (!documents.empty() && s > 0 && documents[s] != documents[s - 1]) text.end_document();
      if (py::isinstance<py::str>(sentence))
        throw Error(ErrorKind::usage,
                    fmt::format("sentence {}: expected a list of words, found a text; split it first", s));
      std::size_t tokens = 0;
      for (py::handle token : sentence) {
        add_token(token, s, first_token);
        ++tokens;
      }
      if (!labels.is_none()) {
        std::size_t given = 0;
        for (py::handle label : *next_labels) {
          const std::string name = py::str(label);
          const auto [found, is_new] = known.try_emplace(name, static_cast<LabelId>(text.label_names.size()));
          if (is_new) text.label_names.push_back(name);
          text.labels.push_back(found->second);
          ++given;
        }
        if (given != tokens)
          throw Error(ErrorKind::usage,
                      fmt::format("sentence {}: expected as many labels as words, found {} and {}", s, given,
                                  tokens));
        ++next_labels;
      }
      sizes.push_back(tokens);
      text.end_sentence();
      if (documents.empty()) text.end_document();
      ++s;
    }
    text.end_document();
  }

 private:
  void add_token(py::handle token, std::size_t sentence, bool& first) {
    const bool columns = py::isinstance<py::tuple>(token) || py::isinstance<py::list>(token);
    const std::size_t count = columns ? py::len(token) : 1;
    if (first) text.columns = static_cast<std::uint32_t>(count);
    first = false;
    if (count != text.columns)
      throw Error(
          ErrorKind::usage,
          fmt::format("sentence {}: expected {} of a word, as in the first, found {}", sentence,
                      text.columns == 1 ? "one column" : fmt::format("{} columns", text.columns), count));
    if (columns)
      for (py::handle field : token) text.add_field(std::string(py::str(field)));
    else
      text.add_field(std::string(py::str(token)));
    text.line.push_back(static_cast<std::uint32_t>(sentence));
  }
};

PythonTagger fit_tagger(const py::object& sentences, const py::object& labels,
                        const std::vector<std::int64_t>& documents, const py::kwargs& keywords) {
  TrainTaggerOptions options;
  Limits limits;
  py::dict rest(keywords.attr("copy")());
  const py::object progress = take_progress(rest);
  OptionList list;
  describe(list, options);
  describe(list, limits);
  set_options(list, rest);
  Sentences given(sentences, labels, documents);
  PythonRun run(limits, progress);
  PythonTagger result = run([&](const RunControl& control) {
    PythonTagger tagger;
    tagger.written = detect_scheme(given.text).scheme;
    Tagger trained = train_tagger({.train = std::move(given.text)}, options, control);
    const Judgement judgement = judge(trained);
    tagger.verdict = choice_name(judgement.verdict);
    tagger.verdict_text = judgement.text;
    tagger.json = to_json(trained).text();
    tagger.crf = std::move(trained.crf);
    return tagger;
  });
  result.interrupted = run.interrupted();
  if (result.interrupted) warn("InterruptedWarning", "interrupted: this is the tagger so far");
  return result;
}

Tags label(const PythonTagger& tagger, Sentences& given, const py::kwargs& keywords) {
  TagOptions options;
  Limits limits;
  py::dict rest(keywords.attr("copy")());
  const py::object progress = take_progress(rest);
  OptionList list;
  describe(list, options);
  describe(list, limits);
  set_options(list, rest);
  PythonRun run(limits, progress);
  Tags tags = run(
      [&](const RunControl& control) { return tag(tagger.crf, std::move(given.text), options, control); });
  if (tags.found.skipped > 0)
    warn("InterruptedWarning", judge(tags).text);
  else
    run.raise_if_interrupted();
  return tags;
}

// (labels, how sure each is) of each sentence.
py::tuple label_sentences(const PythonTagger& tagger, const py::object& sentences,
                          const std::vector<std::int64_t>& documents, const py::kwargs& keywords) {
  Sentences given(sentences, py::none(), documents);
  py::list labels, confidences;
  if (given.text.tokens() == 0) {
    for (std::size_t s = 0; s < given.sizes.size(); ++s) {
      labels.append(py::list());
      confidences.append(adopt(std::vector<float>()));
    }
    return py::make_tuple(labels, confidences);
  }
  const Tags tags = label(tagger, given, keywords);
  TaggedText found = tags.text;
  found.label_names = tags.label_names;
  found.labels = tags.found.labels;
  if (tagger.written != tags.scheme && tags.scheme != LabelScheme::raw)
    convert_labels(found, tags.scheme, tagger.written);
  std::vector<py::str> names;
  for (const std::string& name : found.label_names) names.emplace_back(name);
  std::size_t t = 0;
  for (std::size_t size : given.sizes) {
    py::list of_sentence(size);
    for (std::size_t k = 0; k < size; ++k) of_sentence[k] = names[found.labels[t + k]];
    labels.append(of_sentence);
    const float* sure = tags.found.confidence.data() + t;
    confidences.append(adopt(std::vector<float>(sure, sure + size)));
    t += size;
  }
  return py::make_tuple(labels, confidences);
}

// {f1, precision, recall, accuracy, types} against the labels that are known.
py::dict score_sentences(const PythonTagger& tagger, const py::object& sentences, const py::object& labels,
                         const std::vector<std::int64_t>& documents, const py::kwargs& keywords) {
  Sentences given(sentences, labels, documents);
  const Tags tags = label(tagger, given, keywords);
  const auto counts = [](const EntityCounts& c) {
    py::dict one;
    one["f1"] = c.f1();
    one["precision"] = c.precision();
    one["recall"] = c.recall();
    one["support"] = c.truth;
    return one;
  };
  py::dict score = counts(tags.score->all), types;
  for (const auto& [type, of_type] : tags.score->by_type) types[py::str(type)] = counts(of_type);
  score["accuracy"] = tags.score->accuracy();
  score["types"] = types;
  return score;
}

// (sentence, first word, word after the last, type, text, how sure) of every entity.
py::list find_entities(const PythonTagger& tagger, const py::object& sentences,
                       const std::vector<std::int64_t>& documents, const py::kwargs& keywords) {
  Sentences given(sentences, py::none(), documents);
  py::list all;
  if (given.text.tokens() == 0) return all;
  std::vector<std::size_t> number;  // of the sentences that have words
  for (std::size_t s = 0; s < given.sizes.size(); ++s)
    if (given.sizes[s] > 0) number.push_back(s);
  for (const TaggedEntity& one : label(tagger, given, keywords).entities)
    all.append(py::make_tuple(number[one.sentence], one.begin, one.end, one.type, one.text, one.confidence));
  return all;
}

nlohmann::ordered_json notes_of(const PythonTagger& tagger) {
  return nlohmann::ordered_json{{"written", choice_name(tagger.written)}};
}

PythonTagger unpickled_tagger(const py::tuple& parts) {
  PythonTagger tagger;
  tagger.crf = crf_from_archive(parse_model_archive(parts[0].cast<std::string>(), "the pickle"));
  unpickle(parts[1].cast<py::bytes>(), [&](auto& archive) {
    visit_all(archive, tagger.written, tagger.verdict, tagger.verdict_text, tagger.json, tagger.interrupted);
  });
  return tagger;
}

py::tuple pickled_tagger(const PythonTagger& tagger) {
  PythonTagger copy{{}, tagger.written, tagger.verdict, tagger.verdict_text, tagger.json, tagger.interrupted};
  return py::make_tuple(
      py::bytes(model_archive_bytes(crf_archive(tagger.crf, notes_of(tagger)))), pickled([&](auto& archive) {
        visit_all(archive, copy.written, copy.verdict, copy.verdict_text, copy.json, copy.interrupted);
      }));
}

}  // namespace

void bind_tag(py::module_& module) {
  py::class_<PythonTagger>(module, "_Tagger")
      .def("label", &label_sentences, py::arg("sentences"), py::arg("documents"))
      .def("score", &score_sentences, py::arg("sentences"), py::arg("labels"), py::arg("documents"))
      .def("entities", &find_entities, py::arg("sentences"), py::arg("documents"))
      .def_property_readonly("labels", [](const PythonTagger& t) { return t.crf.labels; })
      .def_property_readonly("has_prefixes",
                             [](const PythonTagger& t) { return t.crf.scheme != LabelScheme::raw; })
      .def_property_readonly("verdict", [](const PythonTagger& t) { return t.verdict; })
      .def_property_readonly("verdict_text", [](const PythonTagger& t) { return t.verdict_text; })
      .def_property_readonly("interrupted", [](const PythonTagger& t) { return t.interrupted; })
      .def("to_json", [](const PythonTagger& t) { return t.json; })
      .def(
          "save",
          [](const PythonTagger& t, const py::object& path) { write_crf(path_of(path), t.crf, notes_of(t)); },
          py::arg("path"))
      .def(py::pickle(&pickled_tagger, &unpickled_tagger));
  module.def("_fit_tagger", &fit_tagger, py::arg("sentences"), py::arg("labels"), py::arg("documents"));
}

}  // namespace drover::python
