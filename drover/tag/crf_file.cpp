#include "drover/tag/crf_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drover/tag/feature_templates.hpp"

namespace drover {

namespace {

LabelScheme parse_scheme(const ModelArchive& archive) {
  const auto name = archive.member<std::string>("scheme");
  if (const auto scheme = choice_named<LabelScheme>(name)) return *scheme;
  fail_at({archive.file}, fmt::format("the label scheme \"{}\" is not known", printable(name)));
}

std::vector<float> finite(const ModelArchive& archive, const char* name, std::uint64_t count) {
  const auto& numbers = archive.array<float>(name, count);
  if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); }))
    fail_at({archive.file}, fmt::format("the array {} holds a number that is not finite", name));
  return numbers;
}

}  // namespace

ModelArchive crf_archive(const Crf& crf, const nlohmann::ordered_json& notes) {
  ModelArchive archive("crf");
  const std::size_t labels = crf.labels.size(), stride = crf.stride();
  archive.header["scheme"] = choice_name(crf.scheme);
  archive.header["columns"] = crf.columns;
  archive.header["templates"] = templates_text(crf.templates);
  archive.header["skip"] = !crf.skip.empty();
  archive.header["training"] = notes;
  archive.add("labels", crf.labels);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> features;
  crf.row_of_feature.for_each([&](std::uint64_t key, std::uint32_t row) { features.emplace_back(key, row); });
  std::sort(features.begin(), features.end());
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> rows;
  for (const auto& [key, row] : features) {
    keys.push_back(key);
    rows.push_back(row);
  }
  archive.add("feature_keys", std::move(keys));
  archive.add("feature_rows", std::move(rows));
  const auto packed = [&](std::span<const float> padded) {
    std::vector<float> numbers;
    for (std::size_t r = 0; r < padded.size(); r += stride)
      numbers.insert(numbers.end(), padded.begin() + static_cast<std::ptrdiff_t>(r),
                     padded.begin() + static_cast<std::ptrdiff_t>(r + labels));
    return numbers;
  };
  archive.add("weights", packed(crf.weights));
  archive.add("transitions", packed(crf.chain.log));
  archive.add("skip", crf.skip);
  archive.add("gazetteer_names", crf.gazetteers.names);
  archive.add("gazetteer_entries", crf.gazetteers.entries);
  archive.add("gazetteer_lists", crf.gazetteers.lists);
  return archive;
}

Crf crf_from_archive(const ModelArchive& archive) {
  Crf crf;
  crf.scheme = parse_scheme(archive);
  crf.columns = archive.member<std::uint32_t>("columns");
  crf.labels = archive.array<std::string>("labels");
  const std::size_t labels = crf.labels.size(), stride = label_stride(labels);
  if (labels == 0 || labels > 65535 || crf.columns == 0)
    fail_at({archive.file}, "expected at least one label and one column");
  for (const std::string& label : crf.labels)
    if (LabelParts parts; !split_label(label, crf.scheme, parts))
      fail_at({archive.file}, fmt::format("the label {} does not fit the scheme", printable(label)));
  const auto templates = archive.member<std::string>("templates");
  TextSource source(templates, archive.file + " (templates)");
  crf.templates = read_templates(source, crf.columns);
  const auto& keys = archive.array<std::uint64_t>("feature_keys");
  const auto& rows = archive.array<std::uint32_t>("feature_rows", keys.size());
  const auto& packed = archive.array<float>("weights");
  if (packed.size() % labels != 0) fail_at({archive.file}, "the array weights has an unexpected size");
  const std::size_t row_count = packed.size() / labels;
  const std::vector<float> weights = finite(archive, "weights", packed.size());
  crf.weights.assign(row_count * stride, 0.0F);
  for (std::size_t r = 0; r < row_count; ++r)
    for (std::size_t y = 0; y < labels; ++y) crf.weights[r * stride + y] = weights[r * labels + y];
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (keys[k] == 0 || rows[k] >= row_count || (k > 0 && keys[k] <= keys[k - 1]))
      fail_at({archive.file}, "the features are damaged");
    crf.row_of_feature.insert(keys[k], rows[k]);
  }
  const std::vector<float> transitions = finite(archive, "transitions", labels * labels);
  std::vector<double> padded(labels * stride, 0.0);
  for (std::size_t k = 0; k < labels; ++k)
    for (std::size_t y = 0; y < labels; ++y)
      padded[k * stride + y] = static_cast<double>(transitions[k * labels + y]);
  crf.chain.set(labels, padded);
  crf.skip = finite(archive, "skip", archive.member<bool>("skip") ? labels * labels : 0);
  crf.gazetteers.names = archive.array<std::string>("gazetteer_names");
  crf.gazetteers.entries = archive.array<std::string>("gazetteer_entries");
  crf.gazetteers.lists = archive.array<std::uint32_t>("gazetteer_lists", crf.gazetteers.entries.size());
  for (std::uint32_t list : crf.gazetteers.lists)
    if (list >= crf.gazetteers.names.size()) fail_at({archive.file}, "the gazetteers are damaged");
  return crf;
}

void write_crf(const std::string& path, const Crf& crf, const nlohmann::ordered_json& notes) {
  write_model_archive(path, crf_archive(crf, notes));
}

Crf read_crf(const std::string& path, const RunControl& control) {
  return crf_from_archive(read_model_archive(path, "crf", control));
}

}  // namespace drover
