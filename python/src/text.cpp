// Classes of documents, for drover.sklearn.TextNB: texts as they are, or counts of words.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fmt/format.h>

#include "arrays.hpp"
#include "data.hpp"
#include "drover/task/text.hpp"
#include "drover/text/text_model_file.hpp"
#include "options.hpp"
#include "pickling.hpp"
#include "python_run.hpp"

namespace drover::python {

namespace {

/// A trained model, with how words were made from texts.
struct PythonTextModel {
  TextModelFile file;
  std::vector<double> probabilities{};  ///< of the documents it was trained on: (document, class)
  std::string verdict{}, verdict_text{}, json{};
  bool interrupted = false;
};

// Texts, or (index pointers, columns, counts, number of columns) of a sparse matrix.
struct Documents {
  std::vector<std::string> texts;
  WordCounts counts;
  bool counted = false;

  explicit Documents(const py::object& documents) {
    if (!py::isinstance<py::tuple>(documents)) {
      for (py::handle text : documents) texts.push_back(py::str(text));
      return;
    }
    const auto parts = documents.cast<py::tuple>();
    counted = true;
    const auto offsets = numbers<std::uint64_t>(parts[0], "index pointers");
    const auto columns = numbers<std::uint32_t>(parts[1], "columns"),
               entries = numbers<std::uint32_t>(parts[2], "counts");
    counts.offsets.assign(offsets.data(), offsets.data() + offsets.size());
    counts.words.assign(columns.data(), columns.data() + columns.size());
    counts.counts.assign(entries.data(), entries.data() + entries.size());
    counts.vocabulary = parts[3].cast<std::uint32_t>();
  }

  Corpus corpus(const CorpusOptions& options, const RunControl& control) const {
    if (!counted) {
      CorpusBuilder builder(options, control);
      for (std::size_t d = 0; d < texts.size(); ++d)
        builder.add_text(texts[d], "", {fmt::format("document {}", d)}, fmt::format("{}", d));
      return builder.finish();
    }
    Corpus corpus;
    corpus.counts = counts;
    for (std::uint32_t w = 0; w < counts.vocabulary; ++w) corpus.words.push_back(std::to_string(w));
    for (std::size_t d = 0; d < counts.documents(); ++d) {
      corpus.names.push_back(std::to_string(d));
      corpus.tokens += counts.length(d);
    }
    return corpus;
  }
};

PythonTextModel fit_text(const py::object& documents, const std::vector<std::int64_t>& labels,
                         const std::vector<std::string>& classes, const py::kwargs& keywords) {
  TextOptions options;
  CorpusOptions words;
  Limits limits;
  py::dict rest(keywords.attr("copy")());
  const py::object progress = take_progress(rest);
  OptionList list;
  describe(list, options);
  describe(list, words);
  describe(list, limits);
  set_options(list, rest);
  options.input = "the documents";
  const Documents from(documents);
  PythonRun run(limits, progress);
  PythonTextModel result = run([&](const RunControl& control) {
    Corpus corpus = from.corpus(words, control);
    corpus.source = "the documents";
    corpus.classes = classes;
    corpus.labels.clear();
    for (std::int64_t label : labels)
      corpus.labels.push_back(label < 0 ? no_label : static_cast<std::uint32_t>(label));
    TextResult found = classify_text(corpus, options, control);
    const Judgement judgement = judge(found);
    PythonTextModel model;
    model.json = to_json(found).text();
    model.probabilities = std::move(found.probabilities);
    model.verdict = choice_name(judgement.verdict);
    model.verdict_text = judgement.text;
    model.file = text_model_file(found, words);
    model.file.words.vocabulary = model.file.model.words;
    return model;
  });
  result.interrupted = run.interrupted();
  if (result.interrupted)
    warn("InterruptedWarning", "interrupted: this is the result so far");
  else if (result.verdict != "good")
    warn("ConvergenceWarning", result.verdict_text);
  return result;
}

py::array rows_of(std::vector<double> probabilities, std::size_t classes) {
  const Shape shape = {static_cast<py::ssize_t>(probabilities.size() / classes),
                       static_cast<py::ssize_t>(classes)};
  return adopt(std::move(probabilities), shape);
}

py::array predict_text(const PythonTextModel& model, const py::object& documents) {
  const Documents from(documents);
  const TextModel& text = model.file.model;
  if (from.counted && from.counts.vocabulary != text.words.size())
    throw Error(ErrorKind::usage, fmt::format("expected counts of {} words, found {}", text.words.size(),
                                              from.counts.vocabulary));
  PythonRun run;
  std::vector<double> probabilities = run([&](const RunControl& control) {
    return predict_classes(text, from.counted ? from.counts : from.corpus(model.file.words, control).counts);
  });
  run.raise_if_interrupted();
  return rows_of(std::move(probabilities), text.classes.size());
}

template <class Archive>
void visit_text(Archive& archive, PythonTextModel& m) {
  TextModel& model = m.file.model;
  CorpusOptions& words = m.file.words;
  visit_all(archive, model.classes, model.words, model.class_documents, model.word_counts,
            model.class_pseudo_count, model.word_pseudo_counts, words.keep_case, words.ngrams,
            words.stop_words, words.stop_word_list, words.vocabulary, m.file.settings, m.probabilities,
            m.verdict, m.verdict_text, m.json, m.interrupted);
}

}  // namespace

void bind_text(py::module_& module) {
  py::class_<PythonTextModel>(module, "_TextModel")
      .def("predict", &predict_text, py::arg("documents"))
      .def_property_readonly(
          "probabilities",
          [](const PythonTextModel& m) { return rows_of(m.probabilities, m.file.model.classes.size()); })
      .def_property_readonly("words", [](const PythonTextModel& m) { return m.file.model.words; })
      .def_property_readonly("word_counts",
                             [](const PythonTextModel& m) {
                               return rows_of(m.file.model.word_counts, m.file.model.classes.size());
                             })
      .def_property_readonly("class_documents",
                             [](const PythonTextModel& m) { return adopt(m.file.model.class_documents); })
      .def(
          "top_words",
          [](const PythonTextModel& m, std::uint32_t class_number, std::size_t count) {
            py::list words;
            for (const TopWord& one : top_words(m.file.model, class_number, count))
              words.append(py::make_tuple(one.word, one.log_odds));
            return words;
          },
          py::arg("class_number"), py::arg("count"))
      .def_property_readonly("verdict", [](const PythonTextModel& m) { return m.verdict; })
      .def_property_readonly("verdict_text", [](const PythonTextModel& m) { return m.verdict_text; })
      .def_property_readonly("interrupted", [](const PythonTextModel& m) { return m.interrupted; })
      .def("to_json", [](const PythonTextModel& m) { return m.json; })
      .def(
          "save",
          [](const PythonTextModel& m, const py::object& path) { write_text_model(path_of(path), m.file); },
          py::arg("path"))
      .def(py::pickle(
          [](const PythonTextModel& m) {
            return pickled([&](auto& archive) { visit_text(archive, const_cast<PythonTextModel&>(m)); });
          },
          [](const py::bytes& bytes) {
            PythonTextModel m;
            unpickle(bytes, [&](auto& archive) { visit_text(archive, m); });
            return m;
          }));
  module.def("_fit_text", &fit_text, py::arg("documents"), py::arg("labels"), py::arg("classes"));
}

}  // namespace drover::python
