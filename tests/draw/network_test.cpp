// A model as a network and as a picture.
#include "drover/draw/network.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drover/io/model_file.hpp"

namespace drover {
namespace {

const std::filesystem::path models = std::filesystem::path(DROVER_SOURCE_DIR) / "models";

Distributions uniform(const Model& model) {
  Distributions p;
  for (std::uint32_t states : model.cardinalities) p.push_back(std::vector<double>(states, 1.0 / states));
  return p;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Network, ArcsOfABayesianNetworkFollowItsTables) {
  const Model model = read_model(models / "sprinkler.bif");
  const std::vector<Arc> arcs = arcs_of(model);
  std::size_t parents = 0;
  for (std::size_t f = 0; f < model.tables.size(); ++f) {
    const auto scope = model.tables.scope(f);
    parents += scope.size() - 1;
    for (VariableId u : scope.first(scope.size() - 1))
      EXPECT_TRUE(std::binary_search(arcs.begin(), arcs.end(), Arc{u, scope.back()}));
  }
  EXPECT_EQ(arcs.size(), parents);
}

TEST(Network, OtherModelsJoinWhatSharesAFactor) {
  EXPECT_EQ(arcs_of(read_model(models / "grid-3x3.uai")).size(), 12u);
  Model model;
  model.cardinalities.assign(4, 2);
  model.spin_pairs.add(2, 1, 0.5);
  model.potts_pairs.add(1, 2, 0.5);
  model.dense_layers.push_back({0, 2, 2, 2, {1, 1, 1, 1}});
  EXPECT_EQ(arcs_of(model), (std::vector<Arc>{{0, 2}, {0, 3}, {1, 2}, {1, 3}}));
}

TEST(Network, PictureHasABoxPerVariableAndABarPerState) {
  const Model model = read_model(models / "sprinkler.bif");
  std::size_t states = 0;
  for (std::uint32_t k : model.cardinalities) states += k;
  Evidence evidence;
  evidence.add(0, 1);
  const std::string svg = network_svg(model, uniform(model), evidence);
  EXPECT_EQ(count(svg, "class=\"box\""), model.variable_count());
  EXPECT_EQ(count(svg, "class=\"bar\""), states);
  EXPECT_EQ(count(svg, "class=\"arc\""), arcs_of(model).size());
  EXPECT_EQ(count(svg, "class=\"seen\""), 1u);
  EXPECT_EQ(count(svg, "<script"), 0u);
  const std::string plain = network_svg(model, {});
  EXPECT_EQ(count(plain, "class=\"bar\""), 0u);
  EXPECT_EQ(count(plain, "class=\"box\""), model.variable_count());
}

TEST(Network, NamesAreTextAndManyStatesAreCut) {
  Model model;
  model.cardinalities = {30, 2};
  model.variable_names = {"</svg><script>x</script>&\"\x01\xff", "a name of many more letters than fit"};
  const std::string svg = network_svg(model, uniform(model));
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, "</svg>"), 1u);
  EXPECT_EQ(count(svg, "&lt;script&gt;"), 2u);  // in its title and its head
  EXPECT_EQ(count(svg, "\xEF\xBF\xBD\xEF\xBF\xBD"), 1u);
  EXPECT_EQ(count(svg, "class=\"bar\""), network_max_rows - 1 + 2);
  EXPECT_EQ(count(svg, "and 19 more"), 1u);
}

TEST(Network, Shortens) {
  EXPECT_EQ(shortened("abcd", 4), "abcd");
  EXPECT_EQ(shortened("abcde", 4), "abc\xE2\x80\xA6");
  EXPECT_EQ(shortened("äöüß", 4), "äöüß");
  EXPECT_EQ(shortened("äöüßx", 4), "äöü\xE2\x80\xA6");
}

}  // namespace
}  // namespace drover
