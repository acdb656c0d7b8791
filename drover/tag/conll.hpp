// Tagged text in columns, as in the CoNLL shared tasks: one token a line, its fields between spaces or tabs,
// the word first and the label last, an empty line after each sentence. A line that begins with -DOCSTART-
// starts a new document; without such lines every sentence is a document of its own. Plain or gzip, UTF-8.
//
// Every fault is bad_data with file and line: a line with another number of fields than the first, bytes that
// are not UTF-8, a file without a token, a label that does not fit.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/io/text_source.hpp"
#include "drover/tag/entities.hpp"
#include "drover/tag/tagged_text.hpp"

namespace drover {

struct ConllOptions {
  enum class Labels { required, optional };
  Labels labels = Labels::required;
  std::uint32_t columns = 0;  ///< fields expected beside the label; 0: as many as the first line has
  /// Types to be renamed (PERSON to PER), or to O: not an entity.
  std::vector<std::pair<std::string, std::string>> rename{};
};

TaggedText read_conll(TextSource& source, const ConllOptions& options = {},
                      const RunControl& control = no_control());
TaggedText read_conll(const std::string& path, const ConllOptions& options = {},
                      const RunControl& control = no_control());

/// "PERSON=PER,MISC=O"; raises OptionError for the option of that name.
std::vector<std::pair<std::string, std::string>> parse_pairs(std::string_view option, std::string_view text);
std::string pairs_text(const std::vector<std::pair<std::string, std::string>>& pairs);

enum class UnknownLabels { refused, kept };

/// Turns the labels of `text` into numbers of `labels`, in `scheme`. A label that is not among them is
/// bad_data, or is kept under a number beyond them, where no labelling can find it. Returns how many of the
/// labels were kept so.
std::size_t match_labels(TaggedText& text, const std::vector<std::string>& labels, LabelScheme scheme,
                         UnknownLabels unknown = UnknownLabels::refused);

/// Plain text: a sentence ends at an empty line and after . ! ? that close a sentence; tokens by the
/// tokeniser.
TaggedText read_plain_text(const std::string& path, const RunControl& control = no_control());

/// Columns as they were read, then the labels `found` (names of them in `names`), then, unless empty,
/// numbers.
std::string conll_text(const TaggedText& text, const std::vector<std::string>& names,
                       const std::vector<LabelId>& found, const std::vector<float>& confidence = {});

}  // namespace drover
