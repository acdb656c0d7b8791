// Tagged text, feature templates and tagger models in files: what is read, and what is refused and where.
#include "drover/tag/conll.hpp"

#include <gtest/gtest.h>

#include "drover/tag/crf_file.hpp"
#include "drover/tag/crf_tag.hpp"
#include "drover/tag/crf_train.hpp"
#include "drover/tag/feature_templates.hpp"
#include "drover/tag/generate_tagged.hpp"
#include "tests/support/io_support.hpp"

namespace drover {
namespace {

TaggedText read(const std::string& text, const ConllOptions& options = {}) {
  TextSource source(text, "in", 64);
  return read_conll(source, options);
}

template <class F>
std::string failure(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data) << error.what();
    return error.what();
  }
  return "no error";
}

void expect_failure(const std::string& text, const std::string& part, const ConllOptions& options = {}) {
  const std::string message = failure([&] { read(text, options); });
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Conll, ReadsColumnsSentencesAndDocuments) {
  const TaggedText text =
      read("-DOCSTART- -X- O\n\nMary NNP B-PER\nruns VBZ O\n\n\n. . O\n-DOCSTART-\n\nOslo NNP B-LOC");
  EXPECT_EQ(text.columns, 2U);
  EXPECT_EQ(text.tokens(), 4U);
  EXPECT_EQ(text.sentences(), 3U);
  EXPECT_EQ(text.documents(), 2U);
  EXPECT_EQ(text.document_end, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(text.field(1, 1), "VBZ");
  EXPECT_EQ(text.word(3), "Oslo");
  EXPECT_EQ(text.label_names, (std::vector<std::string>{"B-PER", "O", "B-LOC"}));
  EXPECT_EQ(text.labels, (std::vector<LabelId>{0, 1, 1, 2}));
  EXPECT_EQ(text.line, (std::vector<std::uint32_t>{3, 4, 7, 10}));
  // Without marks every sentence is a document; tabs and Windows line ends are fine.
  const TaggedText plain = read("a\tO\r\n\r\nb\tO\r\n");
  EXPECT_EQ(plain.documents(), 2U);
  EXPECT_EQ(plain.label_names, (std::vector<std::string>{"O"}));
}

TEST(Conll, RenamesTypes) {
  const TaggedText text =
      read("a B-PERSON\nb I-PERSON\nc B-MISC\nd O\n", {.rename = {{"PERSON", "PER"}, {"MISC", "O"}}});
  EXPECT_EQ(text.label_names, (std::vector<std::string>{"B-PER", "I-PER", "O"}));
  EXPECT_EQ(text.labels, (std::vector<LabelId>{0, 1, 2, 2}));
  EXPECT_THROW(parse_pairs("rename", "PERSON"), Error);
  EXPECT_EQ(parse_pairs("rename", "A=B,C=O").size(), 2U);
}

TEST(Conll, FaultsHaveTheirPlace) {
  expect_failure("", "expected at least one token");
  expect_failure("\n\n-DOCSTART- O\n", "expected at least one token");
  expect_failure("a O\nb\n", "in:2: expected 2 fields");
  expect_failure("a\nb\n", "in:1: expected a word and a label");
  expect_failure("a O\n\xff\xfe O\n", "in:2:1: expected UTF-8");
  expect_failure("a x O\n", "in:1: expected 1 field and a label", {.columns = 1});
  expect_failure("a\n", "in:1: expected 2 fields and a label (or none)",
                 {.labels = ConllOptions::Labels::optional, .columns = 2});
  const auto match = [](const std::string& lines, LabelScheme scheme) {
    return failure([&] {
      TaggedText text = read(lines);
      match_labels(text, {"O", "B-PER", "I-PER"}, scheme);
    });
  };
  EXPECT_NE(
      match("a O\n\nb B-LOC\n", LabelScheme::bio).find("in:3: the label B-LOC is not one of the model's"),
      std::string::npos);
  EXPECT_NE(match("a PER\n", LabelScheme::bio).find("in:1: expected labels in the scheme bio"),
            std::string::npos);
  EXPECT_NE(match("a B-PER\nb PER\n", LabelScheme::bio).find("in:2: expected the label O"),
            std::string::npos);
}

TEST(Conll, MatchesLabelsOfOtherSchemes) {
  TaggedText text = read("a I-PER\nb I-PER\nc B-PER\nd O\n");
  match_labels(text, {"O", "B-PER", "I-PER"}, LabelScheme::bio);
  EXPECT_EQ(text.labels, (std::vector<LabelId>{1, 2, 1, 0}));
  TaggedText nothing = read("a O\n");
  match_labels(nothing, {"B-PER", "O"}, LabelScheme::bio);
  EXPECT_EQ(nothing.labels, (std::vector<LabelId>{1}));
  // A label that the model does not have is kept beyond its own, so that it counts as an error.
  TaggedText other = read("a B-LOC\nb B-PER\n");
  EXPECT_EQ(match_labels(other, {"O", "B-PER"}, LabelScheme::bio, UnknownLabels::kept), 1U);
  EXPECT_EQ(other.labels, (std::vector<LabelId>{2, 1}));
  EXPECT_EQ(other.label_names, (std::vector<std::string>{"O", "B-PER", "B-LOC"}));
}

TEST(Conll, WritesWhatItReads) {
  const TaggedText text = generate_tagged_text(30, 4);
  const std::string lines = conll_text(text, text.label_names, text.labels);
  const TaggedText again = read(lines);
  EXPECT_EQ(again.characters, text.characters);
  EXPECT_EQ(again.sentence_end, text.sentence_end);
  EXPECT_EQ(again.document_end, text.document_end);
  EXPECT_EQ(conll_text(again, again.label_names, again.labels), lines);
  EXPECT_EQ(generate_tagged_text(30, 4).labels, text.labels);
  EXPECT_NE(generate_tagged_text(30, 5).characters, text.characters);
}

TEST(Conll, PlainTextHasSentences) {
  testing::TemporaryFolder folder;
  const std::string path = folder.file("a.txt");
  testing::write_whole(path, "Mr. Brown met Anna in Paris. She left!\n\nIt cost 3.5 dollars.\n");
  const TaggedText text = read_plain_text(path);
  EXPECT_EQ(text.documents(), 1U);
  EXPECT_EQ(text.word(text.tokens() - 1), ".");
  EXPECT_EQ(text.word(text.sentence_begin(text.sentences() - 1)), "It");
  testing::write_whole(path, " \n\n");
  EXPECT_NE(failure([&] { read_plain_text(path); }).find("expected at least one word"), std::string::npos);
  testing::write_whole(path, "fine\nnot \xe9 fine\n");
  EXPECT_NE(failure([&] { read_plain_text(path); }).find(":2:5: expected UTF-8"), std::string::npos);
}

FeatureTemplates templates(const std::string& text, std::uint32_t columns = 2) {
  TextSource source(text, "t", 64);
  return read_templates(source, columns);
}

TEST(FeatureTemplates, ReadAndWrite) {
  const FeatureTemplates set =
      templates("# words\nword[0]\nlower[-1] prefix3[0]  # both\n\ncolumn2[+1] shortshape[2]\nlabels\n");
  EXPECT_TRUE(set.label_bigrams);
  ASSERT_EQ(set.templates.size(), 3U);
  EXPECT_EQ(set.templates[1][1].attribute.size, 3U);
  EXPECT_EQ(set.templates[2][0].offset, 1);
  EXPECT_EQ(templates_text(templates(templates_text(set))), templates_text(set));
  EXPECT_FALSE(templates("word[0]").label_bigrams);
  const auto expect = [](const std::string& text, const std::string& part) {
    const std::string message = failure([&] { templates(text); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("", "expected at least one feature template");
  expect("word[0]\nwort[0]\n", "t:2:1: expected an attribute");
  expect("word\n", "expected an attribute");
  expect("word[10]", "expected an offset from -9 to 9");
  expect("word[x]", "expected an offset");
  expect("prefix[0]", "expected prefix with a number");
  expect("prefix21[0]", "1 to 20");
  expect("column3[0]", "column with a number from 1 to 2");
  expect("labels word[0]", "the end of the line after labels");
}

TEST(FeatureTemplates, Attributes) {
  std::string out;
  shape_of("McDonald's-42", false, out);
  EXPECT_EQ(out, "XxXxxxxx'x-99");
  shape_of("McDonald's-42", true, out);
  EXPECT_EQ(out, "XxXx'x-9");
  lower_text("ÉCOLE Straße", out);
  EXPECT_EQ(out, "école straße");
  EXPECT_TRUE(is_capitalised("Élan"));
  EXPECT_FALSE(is_capitalised("élan"));
  EXPECT_FALSE(is_capitalised("42"));
}

// Keys are equal where values are, and only there; a part that a word does not have gives none.
TEST(FeatureTemplates, Keys) {
  const FeatureTemplates set =
      templates("word[0]\nlower[0]\nprefix4[0]\nword[-1] word[0]\ngazetteer[0]\n", 1);
  Gazetteers gazetteers;
  gazetteers.names = {"city"};
  gazetteers.entries = {"new york", "oslo"};
  gazetteers.lists = {0, 0};
  FeatureExtractor extractor(set, gazetteers);
  const TaggedText text = read("New O\nYork O\nnew O\nNew O\nYork O\nOslo O\n");
  extractor.start(text, 0, text.tokens());
  std::vector<std::vector<std::uint64_t>> keys(text.tokens(),
                                               std::vector<std::uint64_t>(extractor.templates()));
  for (std::size_t t = 0; t < text.tokens(); ++t) extractor.keys(t, keys[t]);
  // Groups come in order: offset 0 has word, lower, prefix4 and gazetteer, then the pair.
  ASSERT_EQ(extractor.groups(), 2U);
  EXPECT_EQ(keys[0][0], keys[3][0]);
  EXPECT_NE(keys[0][0], keys[2][0]);
  EXPECT_EQ(keys[0][1], keys[2][1]);
  EXPECT_NE(keys[0][0], keys[0][1]);
  EXPECT_EQ(keys[0][2], 0U);  // "New" has no prefix of four
  EXPECT_NE(keys[1][2], 0U);
  EXPECT_EQ(keys[0][3], keys[3][3]);  // first word of an entry
  EXPECT_EQ(keys[0][3], keys[5][3]);
  EXPECT_EQ(keys[1][3], keys[4][3]);  // a later word
  EXPECT_NE(keys[0][3], keys[1][3]);
  EXPECT_EQ(keys[2][3], 0U);
  EXPECT_EQ(keys[1][4], keys[4][4]);
  EXPECT_NE(keys[0][4], keys[3][4]);
}

TEST(CrfFile, RoundTripAndDamage) {
  TaggedText text = generate_tagged_text(80, 1);
  FeatureTemplates set = templates("word[0]\nshortshape[0]\nword[-1] word[0]\ngazetteer[0]\nlabels\n", 1);
  Gazetteers gazetteers;
  gazetteers.names = {"city"};
  gazetteers.entries = {"oslo", "new york"};
  gazetteers.lists = {0, 0};
  CrfTrainSummary summary;
  Crf crf = train_crf(text, LabelScheme::bio, nullptr, set, gazetteers, {.iterations = 10}, summary);
  learn_skip_factors(crf, text, 1.0);
  const std::string bytes = model_archive_bytes(crf_archive(crf, {}));
  const Crf again = crf_from_archive(parse_model_archive(bytes, "m.drv"));
  EXPECT_EQ(again.weights, crf.weights);
  EXPECT_EQ(again.skip, crf.skip);
  const TaggedText test = generate_tagged_text(60, 2);
  const DecodeOptions options{.decoder = Decoder::herded_gibbs, .sweeps = 20};
  const TagResult a = tag_text(crf, test, options, true), b = tag_text(again, test, options, true);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.confidence, b.confidence);

  const auto damaged = [&](auto&& change) {
    ModelArchive archive = crf_archive(crf, {});
    change(archive);
    return failure([&] { crf_from_archive(parse_model_archive(model_archive_bytes(archive), "m.drv")); });
  };
  EXPECT_NE(damaged([](ModelArchive& m) { m.header["scheme"] = "other"; }).find("scheme"), std::string::npos);
  EXPECT_NE(damaged([](ModelArchive& m) { m.header["templates"] = "nothing[0]"; }).find("attribute"),
            std::string::npos);
  EXPECT_NE(damaged([](ModelArchive& m) { m.header.erase("columns"); }).find("columns"), std::string::npos);
  EXPECT_NE(damaged([](ModelArchive& m) { m.header["skip"] = false; }).find("skip"), std::string::npos);
}

}  // namespace
}  // namespace drover
