#include "drover/io/demo_corpus.hpp"

#include <span>
#include <string_view>

#include "drover/core/random.hpp"

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
constexpr std::string_view places[] = {"a small town", "the city",   "a ship",   "the mountains",
                                       "an old house", "the desert", "a school", "the future"};
constexpr std::string_view people[] = {"a detective", "two sisters", "a young teacher", "an old sailor",
                                       "a family",    "a musician",  "three friends",   "a doctor"};

constexpr double side_share = 0.68;  ///< of opinion words from the reviewer's side

class Reviewer {
 public:
  Reviewer(std::uint64_t seed, std::uint32_t number) : random_(seed, Stream::generate, number) {}

  DemoDocument review() {
    positive_ = random_.below(2) == 1;
    std::string text = "This " + pick(kinds) + " about " + pick(people) + " in " + pick(places) + " has " +
                       opinion() + " " + pick(parts) + ".";
    const std::uint32_t sentences = 1 + random_.below(3);
    for (std::uint32_t s = 0; s < sentences; ++s) text += sentence();
    return {positive_ ? "pos" : "neg", std::move(text)};
  }

 private:
  std::string pick(Words words) {
    return std::string(words[random_.below(static_cast<std::uint32_t>(words.size()))]);
  }
  bool own_side() { return (random_.uniform() < side_share) == positive_; }
  std::string opinion() { return own_side() ? pick(good) : pick(bad); }
  std::string verdict() { return own_side() ? pick(praise) : pick(blame); }
  std::string sentence() {
    switch (random_.below(4)) {
      case 0:
        return " The " + pick(parts) + " is " + opinion() + " and the " + pick(parts) + " " + verdict() + ".";
      case 1:
        return " I found the " + pick(parts) + " " + opinion() + ".";
      case 2:
        return " Its " + pick(parts) + " " + verdict() + ", as in every " + pick(kinds) + " of this year.";
      default:
        return " For a " + pick(kinds) + " the " + pick(parts) + " seems rather " + opinion() + ".";
    }
  }

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

}  // namespace drover
