// Tagged text as one self-contained HTML page: entities coloured by type, paler where less sure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "drover/tag/entities.hpp"

namespace drover {

struct TagPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> warnings;
  LabelScheme scheme = LabelScheme::bio;
};

/// `found` are numbers of `names`; `confidence` has one number per token.
std::string render_tag_page(const TagPage& page, const TaggedText& text,
                            const std::vector<std::string>& names, const std::vector<LabelId>& found,
                            const std::vector<float>& confidence);

}  // namespace drover
