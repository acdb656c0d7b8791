#include "drover/tag/crf_data.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "drover/core/random.hpp"

namespace drover {

namespace {

std::uint64_t mix(std::uint64_t key) {
  key += 0x9E3779B97F4A7C15U;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9U;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EBU;
  return key ^ (key >> 31);
}

struct Key128 {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Key128&) const = default;
  void add(const Key128& other) {
    high += other.high;
    low += other.low;
  }
};

struct Key128Hash {
  std::size_t operator()(const Key128& key) const { return key.low; }
};

/// Walks over a text and numbers its bundles. `known` turns the key of a feature into an item of its bundle
/// (or none).
template <class Known>
CrfData make_bundles(const TaggedText& text, FeatureExtractor& extractor, const RunControl& control,
                     Known&& known) {
  CrfData data;
  data.tokens = text.tokens();
  data.groups = extractor.groups();
  data.sentence_end = text.sentence_end;
  data.label = text.labels;
  data.bundle.resize(data.tokens * data.groups);
  Lists& lists = data.rows_of_bundle;
  lists.begin = {0, 0};
  HashIndex bundles;
  std::vector<std::uint64_t> keys(extractor.templates());
  for (std::size_t s = 0; s < text.sentences(); ++s) {
    const std::size_t begin = text.sentence_begin(s), end = text.sentence_end[s];
    if (s % 256 == 0) {
      fail_if_stopped(control, "training");
      control.report({"collecting features", static_cast<double>(s) / static_cast<double>(text.sentences())});
    }
    extractor.start(text, begin, end);
    for (std::size_t t = begin; t < end; ++t) {
      extractor.keys(t - begin, keys);
      for (std::size_t g = 0; g < data.groups; ++g) {
        std::uint64_t key = g + 1;
        for (std::uint32_t k : extractor.group(g)) key = mix(key ^ keys[k]);
        const auto fresh = static_cast<std::uint32_t>(lists.size());
        const std::uint32_t bundle = bundles.insert(key == 0 ? 1 : key, fresh);
        data.bundle[t * data.groups + g] = bundle;
        if (bundle != fresh) continue;
        for (std::uint32_t k : extractor.group(g)) {
          const std::uint32_t item = keys[k] == 0 ? HashIndex::none : known(keys[k]);
          if (item != HashIndex::none) lists.item.push_back(item);
        }
        lists.begin.push_back(lists.item.size());
      }
    }
  }
  return data;
}

/// Equal items of a list become one with a factor; lists that end up empty are all replaced by list 0.
void merge_items(CrfData& data) {
  Lists& lists = data.rows_of_bundle;
  Lists merged;
  merged.begin = {0, 0};
  std::vector<std::uint32_t> number(lists.size(), 0);
  for (std::size_t b = 1; b < lists.size(); ++b) {
    const auto first = lists.item.begin() + static_cast<std::ptrdiff_t>(lists.begin[b]);
    const auto last = lists.item.begin() + static_cast<std::ptrdiff_t>(lists.begin[b + 1]);
    if (first == last) continue;
    std::sort(first, last);
    for (auto at = first; at != last;) {
      const auto next = std::find_if(at, last, [&](std::uint32_t item) { return item != *at; });
      merged.item.push_back(*at);
      merged.factor.push_back(static_cast<float>(next - at));
      at = next;
    }
    number[b] = static_cast<std::uint32_t>(merged.size());
    merged.begin.push_back(merged.item.size());
  }
  for (std::uint32_t& bundle : data.bundle) bundle = number[bundle];
  lists = std::move(merged);
}

}  // namespace

TrainingData collect_features(const TaggedText& text, FeatureExtractor& extractor, std::uint32_t min_count,
                              const RunControl& control) {
  TrainingData result;
  std::vector<std::uint64_t> key_of;
  HashIndex numbers;
  result.data = make_bundles(text, extractor, control, [&](std::uint64_t key) {
    const std::uint32_t number = numbers.insert(key, static_cast<std::uint32_t>(key_of.size()));
    if (number == key_of.size()) key_of.push_back(key);
    return number;
  });
  CrfData& data = result.data;
  Lists& lists = data.rows_of_bundle;

  // Where each bundle, then each feature, occurs: how often, and the sum of its tokens' random numbers.
  std::vector<std::uint32_t> bundle_count(lists.size(), 0), feature_count(key_of.size(), 0);
  std::vector<Key128> bundle_key(lists.size()), feature_key(key_of.size());
  for (std::size_t t = 0; t < data.tokens; ++t) {
    const Key128 token{mix(2 * t), mix(2 * t + 1)};
    for (std::size_t g = 0; g < data.groups; ++g) {
      const std::uint32_t b = data.bundle[t * data.groups + g];
      ++bundle_count[b];
      bundle_key[b].add(token);
    }
  }
  for (std::size_t b = 0; b < lists.size(); ++b)
    for (std::uint64_t k = lists.begin[b]; k < lists.begin[b + 1]; ++k) {
      feature_count[lists.item[k]] += bundle_count[b];
      feature_key[lists.item[k]].add(bundle_key[b]);
    }

  // Features become rows; the rare ones go.
  std::unordered_map<Key128, std::uint32_t, Key128Hash> row_of_key;
  std::vector<std::uint32_t> row_of(key_of.size(), HashIndex::none);
  for (std::size_t f = 0; f < key_of.size(); ++f) {
    if (feature_count[f] < min_count) continue;
    const auto fresh = static_cast<std::uint32_t>(result.features.sharing.size());
    const std::uint32_t row = row_of_key.try_emplace(feature_key[f], fresh).first->second;
    if (row == fresh) result.features.sharing.push_back(0);
    ++result.features.sharing[row];
    ++result.features.features;
    row_of[f] = row;
    result.features.row_of_feature.insert(key_of[f], row);
  }
  std::size_t kept = 0;
  std::uint64_t begin = 0;
  for (std::size_t b = 0; b < lists.size(); ++b) {
    const std::uint64_t end = lists.begin[b + 1];
    for (std::uint64_t k = begin; k < end; ++k)
      if (row_of[lists.item[k]] != HashIndex::none) lists.item[kept++] = row_of[lists.item[k]];
    begin = end;
    lists.begin[b + 1] = kept;
  }
  lists.item.resize(kept);
  merge_items(data);
  return result;
}

CrfData apply_features(const TaggedText& text, FeatureExtractor& extractor, const FeatureRows& features,
                       const RunControl& control) {
  CrfData data = make_bundles(text, extractor, control,
                              [&](std::uint64_t key) { return features.row_of_feature.find(key); });
  merge_items(data);
  return data;
}

Lists invert(const Lists& lists, std::size_t items) {
  Lists inverse;
  inverse.begin.assign(items + 1, 0);
  for (std::uint32_t item : lists.item) ++inverse.begin[item + 1];
  for (std::size_t k = 0; k < items; ++k) inverse.begin[k + 1] += inverse.begin[k];
  inverse.item.resize(lists.item.size());
  inverse.factor.resize(lists.factor.size());
  std::vector<std::uint64_t> at(inverse.begin.begin(), inverse.begin.end() - 1);
  for (std::size_t l = 0; l < lists.size(); ++l)
    for (std::uint64_t k = lists.begin[l]; k < lists.begin[l + 1]; ++k) {
      const std::uint64_t place = at[lists.item[k]]++;
      inverse.item[place] = static_cast<std::uint32_t>(l);
      if (!lists.factor.empty()) inverse.factor[place] = lists.factor[k];
    }
  return inverse;
}

Lists tokens_of_bundles(const CrfData& data) {
  Lists bundles_of_token;
  bundles_of_token.begin.resize(data.tokens + 1);
  for (std::size_t t = 0; t <= data.tokens; ++t) bundles_of_token.begin[t] = t * data.groups;
  bundles_of_token.item = data.bundle;
  return invert(bundles_of_token, data.bundles());
}

}  // namespace drover
