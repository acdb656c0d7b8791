#include "drover/text/demo_corpus.hpp"

#include <span>
#include <string_view>

#include "drover/core/random.hpp"
#include "drover/io/text_source.hpp"

namespace drover {

namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view good[] = {"wonderful", "moving", "clever",    "charming", "gripping", "beautiful",
                                     "witty",     "warm",   "brilliant", "touching", "powerful", "memorable",
                                     "graceful",  "fresh",  "elegant",   "honest"};
constexpr std::string_view bad[] = {
    "dull",      "clumsy",      "tedious", "awful",  "predictable", "boring",     "lifeless", "silly",
    "pointless", "forgettable", "shallow", "stupid", "messy",       "ridiculous", "flat",     "noisy"};
constexpr std::string_view praise[] = {"delights", "surprises", "shines", "convinces", "succeeds", "works"};
constexpr std::string_view blame[] = {"fails", "drags", "annoys", "disappoints", "collapses", "wastes"};
constexpr std::string_view parts[] = {"story",   "plot",      "script",   "acting",   "camera",
                                      "music",   "ending",    "dialogue", "director", "cast",
                                      "scene",   "opening",   "humour",   "pacing",   "editing",
                                      "picture", "character", "score",    "villain",  "hero"};
constexpr std::string_view kinds[] = {"film",    "movie",   "drama",     "comedy",  "thriller",
                                      "western", "romance", "adventure", "mystery", "sequel"};
constexpr std::string_view places[] = {"town",  "city",   "ship",   "mountains",
                                       "house", "desert", "school", "future"};
constexpr std::string_view people[] = {"detective", "sisters",  "teacher", "sailor",
                                       "family",    "musician", "friends", "doctor"};

/// A review; capital letters stand for words drawn from the lists (K kinds, P people, L places, T parts, O
/// opinions, V verdicts).
constexpr std::string_view form =
    "this K about the P in the L has one O T. the T is O and the T V. i found the T O. "
    "its T V, as in every K of this year. for this K the T seems O and the T rather O.";

constexpr double side_share = 0.78;  ///< of opinion words from the reviewer's side

class Reviewer {
 public:
  Reviewer(std::uint64_t seed, std::uint32_t number) : random_(seed, Stream::generate, number) {}

  DemoDocument review() {
    positive_ = random_.below(2) == 1;
    DemoDocument document{positive_ ? "pos" : "neg", ""};
    for (const char c : form) {
      switch (c) {
        case 'K':
          document.text += pick(kinds);
          break;
        case 'P':
          document.text += pick(people);
          break;
        case 'L':
          document.text += pick(places);
          break;
        case 'T':
          document.text += pick(parts);
          break;
        case 'O':
          document.text += own_side() ? pick(good) : pick(bad);
          break;
        case 'V':
          document.text += own_side() ? pick(praise) : pick(blame);
          break;
        default:
          document.text += c;
      }
    }
    return document;
  }

 private:
  std::string_view pick(Words words) {
    return words[random_.below(static_cast<std::uint32_t>(words.size()))];
  }
  bool own_side() { return (random_.uniform() < side_share) == positive_; }

  RandomSequence random_;
  bool positive_ = false;
};

}  // namespace

std::vector<DemoDocument> make_demo_corpus(std::uint64_t documents, std::uint64_t seed) {
  std::vector<DemoDocument> corpus;
  for (std::uint64_t d = 0; d < documents; ++d)
    corpus.push_back(Reviewer(seed, static_cast<std::uint32_t>(d)).review());
  return corpus;
}

std::string demo_corpus_tsv(std::uint64_t documents, std::uint64_t seed) {
  std::string text;
  for (const DemoDocument& document : make_demo_corpus(documents, seed))
    text += document.label + "\t" + document.text + "\n";
  return text;
}

Corpus demo_corpus(std::uint64_t documents, std::uint64_t seed, const CorpusOptions& options) {
  const std::string text = demo_corpus_tsv(documents, seed);
  TextSource source(text, "demo");
  CorpusBuilder builder(options);
  read_tsv_corpus(source, builder);
  Corpus corpus = builder.finish();
  corpus.source = source.name();
  return corpus;
}

}  // namespace drover
