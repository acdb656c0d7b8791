// Entities and their scores on hand-made cases, as the CoNLL evaluation counts them.
#include "drover/tag/entities.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "drover/core/error.hpp"

namespace drover {
namespace {

/// "B-PER I-PER O" as one sentence; "|" parts sentences.
TaggedText text_of(const std::string& labels) {
  TaggedText text;
  text.name = "case";
  std::istringstream words(labels);
  std::uint32_t line = 0;
  for (std::string word; words >> word;) {
    ++line;
    if (word == "|") {
      text.end_sentence();
      continue;
    }
    text.add_field("x");
    text.line.push_back(line);
    const auto found = std::find(text.label_names.begin(), text.label_names.end(), word);
    text.labels.push_back(static_cast<LabelId>(found - text.label_names.begin()));
    if (found == text.label_names.end()) text.label_names.push_back(word);
  }
  text.end_document();
  return text;
}

std::string entities_text(const std::string& labels, LabelScheme scheme) {
  const TaggedText text = text_of(labels);
  std::string out;
  for (const Entity& e : read_entities(text.labels, text.label_names, scheme))
    out += std::to_string(e.begin) + "-" + std::to_string(e.end) + ":" + std::string(e.type) + " ";
  return out;
}

std::string labels_text(const TaggedText& text) {
  std::string out;
  for (std::size_t t = 0, s = 0; t < text.tokens(); ++t) {
    if (t == text.sentence_end[s]) {
      out += "| ";
      ++s;
    }
    out += text.label_names[text.labels[t]] + " ";
  }
  return out;
}

EntityScore score(const std::string& truth, const std::string& found, LabelScheme scheme = LabelScheme::bio) {
  const TaggedText a = text_of(truth), b = text_of(found);
  EntityScore result;
  for (std::size_t s = 0; s < a.sentences(); ++s) {
    const std::size_t begin = a.sentence_begin(s), count = a.sentence_end[s] - begin;
    result.add({a.labels.data() + begin, count}, a.label_names, {b.labels.data() + begin, count},
               b.label_names, scheme);
  }
  return result;
}

TEST(Entities, AreReadAsTheEvaluationReadsThem) {
  EXPECT_EQ(entities_text("B-PER I-PER O B-LOC", LabelScheme::bio), "0-2:PER 3-4:LOC ");
  EXPECT_EQ(entities_text("B-PER B-PER I-PER", LabelScheme::bio), "0-1:PER 1-3:PER ");
  // I- without a beginning, and after another type
  EXPECT_EQ(entities_text("I-PER I-PER O I-LOC", LabelScheme::bio), "0-2:PER 3-4:LOC ");
  EXPECT_EQ(entities_text("B-PER I-LOC I-LOC", LabelScheme::bio), "0-1:PER 1-3:LOC ");
  EXPECT_EQ(entities_text("I-PER B-PER I-PER O", LabelScheme::iob1), "0-1:PER 1-3:PER ");
  EXPECT_EQ(entities_text("S-LOC B-PER I-PER E-PER S-PER O", LabelScheme::iobes), "0-1:LOC 1-4:PER 4-5:PER ");
  // Broken IOBES: E and I after E begin anew, E after O is an entity
  EXPECT_EQ(entities_text("E-PER E-PER I-PER O E-LOC", LabelScheme::iobes),
            "0-1:PER 1-2:PER 2-3:PER 4-5:LOC ");
  EXPECT_EQ(entities_text("U-LOC B-PER L-PER", LabelScheme::iobes), "0-1:LOC 1-3:PER ");
  EXPECT_EQ(entities_text("PER PER O PER LOC", LabelScheme::raw), "0-2:PER 3-4:PER 4-5:LOC ");
  EXPECT_EQ(entities_text("O O", LabelScheme::bio), "");
}

TEST(Entities, SchemesAreDetectedAndConverted) {
  EXPECT_EQ(detect_scheme(text_of("B-PER I-PER O B-LOC")).scheme, LabelScheme::bio);
  EXPECT_EQ(detect_scheme(text_of("I-PER I-PER O I-LOC B-LOC")).scheme, LabelScheme::iob1);
  EXPECT_EQ(detect_scheme(text_of("B-PER E-PER O")).scheme, LabelScheme::iobes);
  EXPECT_EQ(detect_scheme(text_of("NN VB O")).scheme, LabelScheme::raw);
  EXPECT_EQ(detect_scheme(text_of("B-PER O I-LOC")).scheme, LabelScheme::bio);  // one careless I-
  // Most labels decide: strays of another scheme are counted and repaired.
  TaggedText strayed = text_of("I-PER O I-LOC I-LOC O B-ORG O I-PER B-PER");
  EXPECT_EQ(detect_scheme(strayed).scheme, LabelScheme::iob1);
  EXPECT_EQ(detect_scheme(strayed).strays, 1U);
  settle_scheme(strayed);
  EXPECT_EQ(detect_scheme(strayed).strays, 0U);
  EXPECT_EQ(strayed.label_names[strayed.labels[5]], "I-ORG");
  EXPECT_EQ(strayed.label_names[strayed.labels[8]], "B-PER");
  try {
    detect_scheme(text_of("O B-PER PER"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_NE(std::string(error.what()).find("case:3"), std::string::npos) << error.what();
  }
  const std::string bio = "B-PER I-PER B-PER O B-LOC I-LOC I-LOC | B-ORG O ";
  const std::string iob1 = "I-PER I-PER B-PER O I-LOC I-LOC I-LOC | I-ORG O ";
  const std::string iobes = "B-PER E-PER S-PER O B-LOC I-LOC E-LOC | S-ORG O ";
  const std::pair<LabelScheme, std::string> all[] = {
      {LabelScheme::bio, bio}, {LabelScheme::iob1, iob1}, {LabelScheme::iobes, iobes}};
  for (const auto& [from, text_from] : all)
    for (const auto& [to, text_to] : all) {
      TaggedText text = text_of(text_from);
      convert_labels(text, from, to);
      EXPECT_EQ(labels_text(text), text_to) << text_from;
    }
}

TEST(Entities, Score) {
  // Right, wrong type, wrong border, missed, invented.
  const EntityScore s = score("B-PER I-PER O B-LOC O B-ORG I-ORG O B-PER O O | B-LOC",
                              "B-PER I-PER O B-ORG O B-ORG O O O O B-LOC | B-LOC");
  EXPECT_EQ(s.all.truth, 5U);
  EXPECT_EQ(s.all.found, 5U);
  EXPECT_EQ(s.all.right, 2U);
  EXPECT_DOUBLE_EQ(s.all.precision(), 0.4);
  EXPECT_DOUBLE_EQ(s.all.recall(), 0.4);
  EXPECT_DOUBLE_EQ(s.all.f1(), 0.4);
  EXPECT_EQ(s.by_type.at("PER").truth, 2U);
  EXPECT_EQ(s.by_type.at("PER").right, 1U);
  EXPECT_EQ(s.by_type.at("LOC").found, 2U);
  EXPECT_EQ(s.by_type.at("ORG").right, 0U);
  EXPECT_EQ(s.tokens, 12U);
  EXPECT_EQ(s.tokens_right, 8U);
  // Tokens are compared in one scheme, whatever the labels are in: what ends an entity does not count.
  const EntityScore iobes =
      score("S-PER O S-LOC O | B-PER E-PER", "B-PER O S-LOC S-LOC | B-PER I-PER", LabelScheme::iobes);
  EXPECT_EQ(iobes.tokens_right, 5U);
  EXPECT_EQ(score("PER PER O", "PER LOC O", LabelScheme::raw).tokens_right, 2U);
  // A careless I- counts as the same entity; sentences do not run into each other.
  EXPECT_DOUBLE_EQ(score("B-PER I-PER O", "I-PER I-PER O").all.f1(), 1);
  EXPECT_DOUBLE_EQ(score("B-PER | B-PER", "B-PER | I-PER").all.f1(), 1);
  // Half an entity is no entity, and neither is twice one.
  EXPECT_DOUBLE_EQ(score("B-PER I-PER", "B-PER B-PER").all.f1(), 0);
  EXPECT_DOUBLE_EQ(score("O O", "O O").all.f1(), 0);
}

}  // namespace
}  // namespace drover
