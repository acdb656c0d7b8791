// A tagger is trained and labels other sentences: examples/tag
#include <cstdio>
#include <drover/drover.hpp>

int main() {
  const drover::Tagger tagger = drover::train_tagger({.train = drover::generate_tagged_text(400, 1)});
  const drover::Tags tags = drover::tag(tagger.crf, drover::generate_tagged_text(100, 2));
  for (std::size_t e = 0; e < 3; ++e)
    std::printf("%s is a %s\n", tags.entities[e].text.c_str(), tags.entities[e].type.c_str());
  std::printf("F1 %.2f %%\n", 100 * tags.score->all.f1());
  return tags.score->all.f1() > 0.7 ? 0 : 1;
}
