// A small tagged corpus from a grammar: documents about people, places and organisations.
//
// For examples and tests, where no real corpus is at hand. Every document introduces a few entities in plain
// contexts ("the mayor of Arden", "Mary Jordan said") and names them again where the context tells little
// ("Jordan did not answer"). Some names can be a person, a place or an organisation, so a later mention is
// understood only together with the earlier one: what skip factors are for. Labels are BIO: PER, LOC, ORG.
#pragma once

#include <cstdint>

#include "drover/tag/tagged_text.hpp"

namespace drover {

/// About `sentences` sentences, a function of the seed.
TaggedText generate_tagged_text(std::size_t sentences, std::uint64_t seed);

}  // namespace drover
