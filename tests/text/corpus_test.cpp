// Documents from every kind of file, and what is said about bad ones.
#include "drover/text/corpus.hpp"

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include "drover/io/text_source.hpp"
#include "tests/support/command.hpp"

namespace drover {
namespace {

using testing::TemporaryFolder;

// "name:label:word=count word=count;..." in alphabetical order of words.
std::vector<std::string> documents_of(const Corpus& corpus) {
  std::vector<std::string> result;
  for (std::size_t d = 0; d < corpus.counts.documents(); ++d) {
    std::vector<std::string> words;
    for (std::size_t e = 0; e < corpus.counts.words_of(d).size(); ++e)
      words.push_back(corpus.words[corpus.counts.words_of(d)[e]] + "=" +
                      std::to_string(corpus.counts.counts_of(d)[e]));
    std::sort(words.begin(), words.end());
    std::string text = (corpus.labels[d] == no_label ? "?" : corpus.classes[corpus.labels[d]]) + ":";
    for (const std::string& word : words) text += " " + word;
    result.push_back(text);
  }
  return result;
}

using Texts = std::vector<std::string>;

Corpus read(const std::string& path, const CorpusOptions& options = {}) {
  return read_corpus({path}, options);
}

void make_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& files) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto& [name, text] : files)
    zip_file_add(archive, name.c_str(), zip_source_buffer(archive, text.data(), text.size(), 0), 0);
  ASSERT_EQ(zip_close(archive), 0);
}

TEST(Corpus, ZipThatGrowsOutOfProportion) {
  TemporaryFolder folder;
  // Two members of 36 MB each: it is the archive that counts.
  const std::string nothing(36 << 20, ' ');
  make_zip(folder.file("bomb.zip"), {{"pos/1", nothing}, {"neg/1", nothing}});
  try {
    read(folder.file("bomb.zip"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    EXPECT_NE(std::string(error.what()).find("grows out of proportion"), std::string::npos) << error.what();
  }
}

TEST(Corpus, FolderPerClass) {
  TemporaryFolder folder;
  for (const char* name : {"c", "c/pos", "c/neg", "c/unlabelled", "c/pos/deep"})
    std::filesystem::create_directory(folder.file(name));
  folder.write("c/pos/a.txt", "Good film, good fun");
  folder.write("c/pos/deep/b.txt", "fun");
  folder.write("c/neg/a.txt", "Bad film");
  folder.write("c/unlabelled/a.txt", "Größe");
  folder.write("c/.hidden", "no");
  folder.write("c/README", "no");
  const Corpus corpus = read(folder.file("c"));
  EXPECT_EQ(corpus.classes, (Texts{"neg", "pos"}));
  EXPECT_EQ(documents_of(corpus),
            (Texts{"neg: bad=1 film=1", "pos: film=1 fun=1 good=2", "pos: fun=1", "?: größe=1"}));
  EXPECT_EQ(corpus.words, (Texts{"film", "fun", "good", "bad", "größe"}));  // by frequency, then by name
  EXPECT_EQ(corpus.warnings.size(), 1U);
  EXPECT_EQ(corpus.tokens, 8U);
  EXPECT_EQ(corpus.names[0], folder.file("c/neg/a.txt"));
}

TEST(Corpus, ZipOfFolders) {
  TemporaryFolder folder;
  make_zip(folder.file("c.zip"), {{"top/pos/1", "good"}, {"top/neg/1", "bad bad"}, {"top/README", "x"}});
  EXPECT_EQ(documents_of(read(folder.file("c.zip"))), (Texts{"neg: bad=2", "pos: good=1"}));
  make_zip(folder.file("d.zip"), {{"a.tsv", "pos\tgood\nneg\tbad\n"}, {"b.txt", "plain text"}});
  EXPECT_EQ(documents_of(read(folder.file("d.zip"))),
            (Texts{"pos: good=1", "neg: bad=1", "?: plain=1 text=1"}));
}

TEST(Corpus, LinesOfLabelAndText) {
  TemporaryFolder folder;
  const Texts expected = {"b: hello=1 world=1", "a: x=1", "?: y=1", "?: z=1", "a:"};
  EXPECT_EQ(documents_of(read(folder.write(
                "a.tsv", "label\ttext\r\nb\tHello, world!\r\n\r\na\tx\r\n?\ty\r\n\tz\r\na\t\r\n"))),
            expected);
  EXPECT_EQ(documents_of(read(folder.write("a.jsonl",
                                           "{\"label\": \"b\", \"text\": \"Hello, world!\"}\n"
                                           "{\"text\":\"x\", \"label\":\"a\", \"more\":1}\n\n"
                                           "{\"text\":\"y\"}\n{\"text\":\"z\",\"label\":null}\n"
                                           "{\"text\":\"\", \"label\":\"a\"}"))),
            expected);
  // By content, without a telling name; and gzip.
  EXPECT_EQ(documents_of(read(folder.write("x", "b\tone two\na\tthree\n"))),
            (Texts{"b: one=1 two=1", "a: three=1"}));
  gzFile file = gzopen(folder.file("z.tsv.gz").c_str(), "wb");
  gzputs(file, "b\tone two\na\tthree\n");
  gzclose(file);
  EXPECT_EQ(documents_of(read(folder.file("z.tsv.gz"))), (Texts{"b: one=1 two=1", "a: three=1"}));
}

TEST(Corpus, Svmlight) {
  TemporaryFolder folder;
  const Corpus corpus =
      read(folder.write("x.svm", "# counts\n+1 1:2 7:1 # first\n-1 7:3.0 2:0\n\n? 1:1\n-1\n"));
  EXPECT_EQ(documents_of(corpus), (Texts{"+1: 1=2 7=1", "-1: 7=3", "?: 1=1", "-1:"}));
  EXPECT_EQ(documents_of(read(folder.write("y", "1 3:1\n0 4:2\n"))), (Texts{"1: 3=1", "0: 4=2"}));
}

TEST(Corpus, PlainFilesAreDocuments) {
  TemporaryFolder folder;
  const Corpus corpus =
      read_corpus({folder.write("a", "It is one\ndocument."), folder.write("b", "two")}, {});
  EXPECT_EQ(documents_of(corpus), (Texts{"?: document=1 is=1 it=1 one=1", "?: two=1"}));
}

TEST(Corpus, WordOptions) {
  TemporaryFolder folder;
  const std::string file = folder.write("a.tsv", "p\tThe not good film\nn\tnot good\n");
  EXPECT_EQ(documents_of(read(file, {.keep_case = true}))[0], "p: The=1 film=1 good=1 not=1");
  EXPECT_EQ(documents_of(read(file, {.min_count = 2})), (Texts{"p: good=1 not=1", "n: good=1 not=1"}));
  EXPECT_EQ(documents_of(read(file, {.ngrams = 2}))[1], "n: good=1 not good=1 not=1");
  EXPECT_EQ(documents_of(read(file, {.stop_words = "english"}))[0], "p: film=1 good=1");
  EXPECT_EQ(documents_of(read(file, {.stop_words = folder.write("s", "good\nfilm\n")}))[0], "p: not=1 the=1");
  const Corpus fixed = read(file, {.vocabulary = {"zebra", "good"}});
  EXPECT_EQ(documents_of(fixed), (Texts{"p: good=1", "n: good=1"}));
  EXPECT_EQ(fixed.words, (Texts{"zebra", "good"}));
  EXPECT_EQ(fixed.unknown_tokens, 4U);
  EXPECT_EQ(documents_of(read(folder.write("l.tsv",
                                           "a\tgr\xfc\xdf"
                                           "e\n"),
                              {.encoding = TextEncoding::latin_1})),
            (Texts{"a: grüße=1"}));
}

void expect_error(const std::string& path, const CorpusOptions& options, ErrorKind kind,
                  const std::string& part) {
  try {
    read(path, options);
    FAIL() << path << " was accepted; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Corpus, BadFilesAreRefusedWithTheirPlace) {
  TemporaryFolder folder;
  const auto bad = [&](const std::string& name, const std::string& text, const std::string& part,
                       const CorpusOptions& options = {}) {
    expect_error(folder.write(name, text), options, ErrorKind::bad_data, part);
  };
  bad("a.tsv", "p\tx\nno tab here\n", "a.tsv:2:1: expected label<TAB>text");
  bad("b.tsv", "p\tx\ty\n", "b.tsv:1:4: expected two columns (label<TAB>text), found 3");
  bad("c.tsv", "p\tok\np\tgr\xfc\xdf\n", "c.tsv:2:5: expected UTF-8 text, found the byte 0xfc");
  bad("d.tsv", "p\tx\nq\ty\n", "d.tsv:2:3: unknown label \"q\"; expected p, n", {.classes = {"p", "n"}});
  bad("e.tsv", "", "e.tsv: the file is empty");
  bad("f.tsv", "p\t...\n", "no words");
  bad("g.tsv", "p\tx\n", "2 times or more", {.min_count = 2});
  bad("a.jsonl", "{\"text\":\"x\"}\n{\"text\":}\n", "a.jsonl:2:9: expected a JSON object");
  bad("b.jsonl", "{\"label\":\"x\"}\n", "b.jsonl:1:1: expected a JSON object with a member \"text\"");
  bad("d.jsonl", "{\"text\":\"x\"}\n{\"text\":\"x\",\"size\":1e999}\n",
      "d.jsonl:2:1: expected numbers within the range of double precision");
  bad("c.jsonl", "{\"text\":\"x\",\"label\":[]}\n", "c.jsonl:1:1: expected \"label\"");
  bad("a.svm", "1 2:1\n1 x:1\n", "a.svm:2:3: expected index:count");
  bad("b.svm", "1 2:0.5\n", "b.svm:1:3: expected index:count with a whole count");
  bad("c.svm", "1 2:1 2:1\n", "c.svm:1:1: an index stands twice");
  bad("d.svm", "2:1 3:1\n", "d.svm:1:1: expected a label");
  bad("plain", "line one\n\xff\n", "plain:2:1: expected UTF-8");
  bad("z.zip", "PK\x03\x04 and no more", "zip");
  std::filesystem::create_directory(folder.file("empty"));
  expect_error(folder.file("empty"), {}, ErrorKind::bad_data, "expected documents");
  expect_error(folder.file("absent"), {}, ErrorKind::cannot_read, "absent");
}

}  // namespace
}  // namespace drover
