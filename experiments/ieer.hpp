// The newswire of the NIST 1999 information extraction evaluation (IE-ER) as tagged text.
#pragma once

#include <string>
#include <string_view>

#include "drover/tag/tagged_text.hpp"

namespace drover::experiments {

/// All files of the zip archive: headline and text of every document, in sentences. Entities of
/// the types PERSON, LOCATION and ORGANIZATION become PER, LOC and ORG; of nested ones the outer counts.
TaggedText read_ieer(const std::string& zip_path);

/// The documents of one file (Latin-1, <b_enamex type="..."> ... <e_enamex>), added to `text`.
void add_ieer_documents(std::string_view file, TaggedText& text);

}  // namespace drover::experiments
