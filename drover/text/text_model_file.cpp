#include "drover/text/text_model_file.hpp"

#include <algorithm>
#include <cmath>

#include "drover/core/json_writer.hpp"
#include "drover/core/version.hpp"
#include "drover/io/model_archive.hpp"

namespace drover {

void write_text_model(const std::string& path, const TextModelFile& file) {
  ModelArchive archive("text");
  archive.header["made_by"] = std::string("drover ") + version();
  archive.header["classes"] = file.model.classes;
  archive.header["class_pseudo_count"] = file.model.class_pseudo_count;
  archive.header["lower_case"] = !file.words.keep_case;
  archive.header["ngrams"] = file.words.ngrams;
  archive.header["settings"] = nlohmann::ordered_json::parse(json_text(file.settings));
  archive.add("class_documents", file.model.class_documents);
  archive.add("words", file.model.words);
  archive.add("word_counts", file.model.word_counts);
  archive.add("word_pseudo_counts", file.model.word_pseudo_counts);
  archive.add("stop_words", read_stop_words(file.words.stop_words));
  write_model_archive(path, archive);
}

TextModelFile read_text_model(const std::string& path, const RunControl& control) {
  const ModelArchive archive = read_model_archive(path, "text", control);
  TextModelFile file;
  file.model.classes = archive.member<std::vector<std::string>>("classes");
  file.model.class_pseudo_count = archive.member<double>("class_pseudo_count");
  file.words.keep_case = !archive.member<bool>("lower_case");
  file.words.ngrams = archive.member<std::uint32_t>("ngrams");
  const std::size_t classes = file.model.classes.size();
  file.model.words = archive.array<std::string>("words");
  file.model.class_documents = archive.array<double>("class_documents", classes);
  file.model.word_counts = archive.array<double>("word_counts", file.model.words.size() * classes);
  if (archive.header.contains("word_pseudo_count"))  // as written by 0.1
    file.model.word_pseudo_counts.assign(file.model.words.size(),
                                         archive.member<double>("word_pseudo_count"));
  else
    file.model.word_pseudo_counts = archive.array<double>("word_pseudo_counts", file.model.words.size());
  file.words.stop_word_list = archive.array<std::string>("stop_words");
  const auto is_count = [](double x) { return std::isfinite(x) && x >= 0; };
  const bool right =
      classes >= 2 && !file.model.words.empty() && file.model.class_pseudo_count > 0 &&
      is_count(file.model.class_pseudo_count) && file.words.ngrams >= 1 &&
      std::ranges::all_of(file.model.word_pseudo_counts, [&](double b) { return is_count(b) && b > 0; }) &&
      std::all_of(file.model.class_documents.begin(), file.model.class_documents.end(), is_count) &&
      std::all_of(file.model.word_counts.begin(), file.model.word_counts.end(), is_count);
  if (!right) fail_at({path}, "the text model has numbers that cannot be");
  file.words.classes = file.model.classes;
  file.words.vocabulary = file.model.words;
  return file;
}

}  // namespace drover
