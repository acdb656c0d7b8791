#include "drover/tag/generate_tagged.hpp"

#include <array>
#include <string>
#include <string_view>

#include "drover/core/random.hpp"

namespace drover {

namespace {

constexpr std::array<std::string_view, 14> first_names = {"Mary",  "John",  "Anna", "Peter", "Laura",
                                                          "Ivan",  "Grace", "Omar", "Helen", "Paul",
                                                          "Nadia", "Erik",  "June", "Victor"};
// The last eight of each list are names that the others share.
constexpr std::array<std::string_view, 18> family_names = {
    "Miller", "Petrov", "Okafor",  "Lindqvist", "Hansen", "Moreau", "Castillo", "Weber",   "Tanaka",
    "Novak",  "Jordan", "Lincoln", "Carson",    "Austin", "Marsh",  "Halden",   "Bristow", "Arden"};
constexpr std::array<std::string_view, 18> places = {
    "Paris",  "Lagos",  "Oslo",    "Kyoto",  "Lisbon", "Vienna", "Quito",  "Prague",  "Nairobi",
    "Boston", "Jordan", "Lincoln", "Carson", "Austin", "Marsh",  "Halden", "Bristow", "Arden"};
constexpr std::array<std::string_view, 18> firms = {
    "Northwind", "Acmetal", "Globex",  "Initech", "Vandelay", "Soylent", "Umbra",  "Hooligan", "Starling",
    "Cyberdine", "Jordan",  "Lincoln", "Carson",  "Austin",   "Marsh",   "Halden", "Bristow",  "Arden"};
constexpr std::array<std::string_view, 5> firm_ends = {"Corporation", "Bank", "Airlines", "University",
                                                       "Group"};

// %P person, %L place, %O organisation, named in full; %x one of those again, by one word.
constexpr std::array<std::string_view, 9> introductions = {
    "%P , a teacher from %L , wrote the report .",
    "President %P arrived in %L on Monday .",
    "The mayor of %L met Mr. %P yesterday .",
    "Shares of %O fell by 12 percent .",
    "%P works for %O in %L .",
    "Officials at %O said the plan was ready .",
    "The river runs through the city of %L .",
    "\" It is too early , \" said %P , director of %O .",
    "The board of %O will meet in %L in 1998 ."};
constexpr std::array<std::string_view, 9> mentions = {
    "%x was not mentioned again .",      "Many people know %x well .",
    "The story of %x is long .",         "Nobody expected this from %x .",
    "%x has changed a lot since then .", "Later the papers wrote about %x .",
    "For %x the year began badly .",     "Everything depends on %x now .",
    "That is what %x stands for ."};
constexpr std::array<std::string_view, 6> fillers = {
    "It rained for three days .",       "The price of bread rose again .", "Nothing else was decided .",
    "Two trains were late on Friday .", "The Old Bridge is closed .",      "No One Came , a film , opened ."};

struct Mention {
  std::string_view type;
  std::string_view name;
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : random_(seed, Stream::generate) {
    text_.name = "generated text";
    text_.label_names = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"};
  }

  TaggedText write(std::size_t sentences) {
    while (text_.sentences() < sentences) {
      known_.clear();
      const std::uint32_t length = 4 + random_.below(5);
      for (std::uint32_t s = 0; s < length; ++s) {
        if (s < 2)
          sentence(pick(introductions));
        else if (random_.below(4) == 0)
          sentence(pick(fillers));
        else
          sentence(random_.below(3) == 0 ? pick(introductions) : pick(mentions));
      }
      text_.end_document();
    }
    return std::move(text_);
  }

 private:
  template <std::size_t n>
  std::string_view pick(const std::array<std::string_view, n>& names) {
    return names[random_.below(n)];
  }

  void token(std::string_view word, LabelId label) {
    text_.add_field(word);
    text_.labels.push_back(label);
    text_.line.push_back(++line_);
  }

  void name_in_full(char kind) {
    if (kind == 'P') {
      const std::string_view family = pick(family_names);
      token(pick(first_names), 1);
      token(family, 2);
      known_.push_back({"PER", family});
    } else if (kind == 'L') {
      const std::string_view place = pick(places);
      token(place, 3);
      known_.push_back({"LOC", place});
    } else {
      const std::string_view firm = pick(firms);
      token(firm, 5);
      token(pick(firm_ends), 6);
      known_.push_back({"ORG", firm});
    }
  }

  void sentence(std::string_view pattern) {
    while (!pattern.empty()) {
      const std::size_t end = std::min(pattern.find(' '), pattern.size());
      const std::string_view word = pattern.substr(0, end);
      if (word == "%x") {
        const Mention& again = known_[random_.below(static_cast<std::uint32_t>(known_.size()))];
        token(again.name, again.type == "PER" ? 1 : again.type == "LOC" ? 3 : 5);
      } else if (word.size() == 2 && word[0] == '%') {
        name_in_full(word[1]);
      } else {
        token(word, 0);
      }
      pattern.remove_prefix(std::min(end + 1, pattern.size()));
    }
    text_.end_sentence();
    ++line_;
  }

  RandomSequence random_;
  TaggedText text_;
  std::vector<Mention> known_;
  std::uint32_t line_ = 0;
};

}  // namespace

TaggedText generate_tagged_text(std::size_t sentences, std::uint64_t seed) {
  return Writer(seed).write(sentences);
}

}  // namespace drover
