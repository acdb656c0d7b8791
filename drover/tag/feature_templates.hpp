// Feature templates of a tagger in a text file.
//
//   # features of named entities
//   word[0]
//   lower[-1] lower[0]        a conjunction: both values together are the feature
//   prefix3[0]
//   labels                    a weight for every pair of neighbouring labels
//
// One template a line: attributes with their offset from the token, between spaces. Attributes: word, lower,
// shape, shortshape, prefixN, suffixN, columnN (of the file, counted from 1), gazetteer, always. `labels`
// alone on a line adds label bigrams. What follows # is a comment.
#pragma once

#include <string>
#include <string_view>

#include "drover/io/text_source.hpp"
#include "drover/tag/crf_features.hpp"

namespace drover {

/// `columns` of the text; a columnN beyond it is bad_data.
FeatureTemplates read_templates(TextSource& source, std::uint32_t columns);
FeatureTemplates read_templates(const std::string& path, std::uint32_t columns);

/// The templates as text that reads back the same.
std::string templates_text(const FeatureTemplates& templates);

/// The set used when none is given.
std::string_view default_templates();
FeatureTemplates default_feature_templates();

/// Whether a feature looks at any column but the word.
bool uses_columns(const FeatureTemplates& templates);

/// A gazetteer: one entry a line; `name` is that of the list. Adds to `gazetteers`.
void read_gazetteer(const std::string& path, const std::string& name, Gazetteers& gazetteers);

}  // namespace drover
