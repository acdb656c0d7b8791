#include "drover/serve/kept_draws.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drover/core/error.hpp"

namespace drover {

namespace {

/// A folder that goes with whatever is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "drover-draws-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error(ErrorKind::cannot_write, "no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

KeptDraws::KeptDraws(std::size_t variables, std::uint32_t chains, std::uint32_t most_states)
    : variables_(variables), all_chains_(chains), narrow_(most_states <= 256) {
  const std::size_t row = std::max<std::size_t>(1, variables * (narrow_ ? 1 : 2));
  chains_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(most_draw_bytes / row, 1, chains));
}

void KeptDraws::take(std::uint32_t chain, std::span<const Value> x, double log_score) {
  const bool kept = keeps_next();
  if (kept && chain < chains_) {
    const std::size_t begin = values_.size();
    values_.resize(begin + variables_ * (narrow_ ? 1 : 2));
    if (narrow_)
      for (std::size_t v = 0; v < variables_; ++v) values_[begin + v] = static_cast<std::uint8_t>(x[v]);
    else
      std::memcpy(values_.data() + begin, x.data(), 2 * variables_);
    open_scores_.push_back(log_score);
  }
  if (chain + 1 != all_chains_) return;
  ++count_;
  if (!kept) return;
  scores_.insert(scores_.end(), open_scores_.begin(), open_scores_.end());
  open_scores_.clear();
  if (values_.size() + values_.size() / draws() > most_bytes) halve();
}

void KeptDraws::halve() {
  const std::size_t count = draws(), row = values_.size() / count;
  for (std::size_t t = 1; 2 * t < count; ++t) {
    std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(2 * t * row), row,
                values_.begin() + static_cast<std::ptrdiff_t>(t * row));
    std::copy_n(scores_.begin() + static_cast<std::ptrdiff_t>(2 * t * chains_), chains_,
                scores_.begin() + static_cast<std::ptrdiff_t>(t * chains_));
  }
  values_.resize((count + 1) / 2 * row);
  scores_.resize((count + 1) / 2 * chains_);
  every_ *= 2;
}

std::string KeptDraws::file(const std::string& extension, DrawFileHeader header) const {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / ("draws" + extension)).string();
  header.chains = chains_;
  const auto writer = make_draw_writer(path, std::move(header));
  std::vector<Value> x(variables_);
  const std::size_t row = variables_ * (narrow_ ? 1 : 2);
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    const std::uint8_t* const first = values_.data() + i * row;
    if (narrow_)
      std::copy_n(first, variables_, x.begin());
    else
      std::memcpy(x.data(), first, row);
    writer->append(i % chains_, x, scores_[i]);
  }
  writer->finish();
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

}  // namespace drover
