// The named entity experiment in its quick form, and the reader of its test set.
#include <gtest/gtest.h>

#include "drover/tag/entities.hpp"
#include "experiments/ieer.hpp"
#include "tests/support/experiment_test.hpp"

namespace drover {
namespace {

TEST(Experiments, HerdedNer) {
  testing::expect_claims_hold("herded-ner");
}

TEST(Experiments, NewswireIsReadWithItsEntities) {
  TaggedText text;
  experiments::add_ieer_documents(
      "<DOC>\n<DOCNO> A </DOCNO>\n<HEADLINE>\nKenyans protest\n</HEADLINE>\n<TEXT>\n"
      "<b_enamex type=\"LOCATION\">NAIROBI<e_enamex>, <b_timex type=\"DATE\">April 3<e_timex> _ ``<b_enamex "
      "type=\"PERSON\">Daniel arap Moi<e_enamex>'' of the <b_enamex type=\"ORGANIZATION\">U.S. <b_enamex "
      "type=\"LOCATION\">Lima<e_enamex> Bank<e_enamex>'s 5,000 caf\xe9s.\n</TEXT>\n</DOC>\n<DOC>\n<TEXT>Mr. "
      "<b_enamex type=\"PERSON\">X<e_enamex></TEXT></DOC>",
      text);
  EXPECT_EQ(text.documents(), 2U);
  std::string words, entities;
  for (std::size_t t = 0; t < text.tokens(); ++t) words += std::string(text.word(t)) + " ";
  EXPECT_EQ(words,
            "Kenyans protest NAIROBI , April 3 _ \" Daniel arap Moi \" of the U.S. Lima Bank 's 5,000 "
            "caf\xc3\xa9s . "
            "Mr. X ");
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s);
    for (const Entity& e : read_entities({text.labels.data() + begin, text.sentence_end[s] - begin},
                                         text.label_names, LabelScheme::bio, begin))
      entities += std::string(text.word(e.begin)) + "+" + std::to_string(e.end - e.begin) + ":" +
                  std::string(e.type) + " ";
  }
  EXPECT_EQ(entities, "NAIROBI+1:LOC Daniel+3:PER U.S.+3:ORG X+1:PER ");
}

}  // namespace
}  // namespace drover
