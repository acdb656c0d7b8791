// Draws as NetCDF-4 in the layout of ArviZ's InferenceData (https://python.arviz.org, InferenceData schema):
// group posterior with x (chain, draw, variable), group sample_stats with lp (chain, draw), group
// observed_data with the evidence, coordinates beside the data.
//
// The dimension draw is unlimited, so draws can be appended. They are put in blocks as large as a chunk of
// the file (about a megabyte): a chunk is compressed once.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/version.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/draws_output.hpp"
#include "drover/io/netcdf_draws_library.hpp"

namespace drover {

namespace {

class NetcdfWriter final : public DrawWriter {
 public:
  NetcdfWriter(const std::string& path, DrawFileHeader file_header)
      : DrawWriter(std::move(file_header)),
        netcdf_(netcdf_library()),
        name_(path),
        narrow_(header().max_cardinality <= 256) {
    const std::size_t row = std::max<std::size_t>(1, header().chains * variables());
    block_draws_ = std::clamp<std::size_t>((1 << 20) / row, 1, 4096);
    check(
        netcdf_.nc_create(name_.path().c_str(), NetcdfLibrary::version_4 | NetcdfLibrary::overwrite, &file_));
    open_ = true;
    try {
      define_posterior();
      if (header().log_scores) define_sample_stats();
      define_observed_data();
    } catch (...) {
      // The destructor does not run for an object that was never finished.
      netcdf_.nc_close(file_);
      throw;
    }
  }

  ~NetcdfWriter() override {
    if (open_) netcdf_.nc_close(file_);
  }

  void finish() override {
    put_block();
    put_attribute(posterior_, "metadata", header().metadata);
    open_ = false;
    check(netcdf_.nc_close(file_));
    name_.rename_to_target();
  }

 private:
  void check(int code) const {
    if (code == NetcdfLibrary::no_error) return;
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: {}", name_.target(), netcdf_.nc_strerror(code)));
  }

  int define_group(const char* name) {
    int group = 0;
    check(netcdf_.nc_def_grp(file_, name, &group));
    put_attribute(group, "inference_library", "drover");
    put_attribute(group, "inference_library_version", version());
    if (!header().created_at.empty()) put_attribute(group, "created_at", header().created_at);
    return group;
  }

  void put_attribute(int group, const char* name, const std::string& text) {
    check(netcdf_.nc_put_att_text(group, NetcdfLibrary::of_group, name, text.size(), text.c_str()));
  }

  int define_dimension(int group, const char* name, std::size_t size) {
    int dimension = 0;
    check(netcdf_.nc_def_dim(group, name, size, &dimension));
    return dimension;
  }

  int define_variable(int group, const char* name, NetcdfLibrary::Type type,
                      const std::vector<int>& dimensions) {
    int variable = 0;
    check(netcdf_.nc_def_var(group, name, type, static_cast<int>(dimensions.size()), dimensions.data(),
                             &variable));
    return variable;
  }

  void compress(int group, int variable, const std::vector<std::size_t>& chunk) {
    check(netcdf_.nc_def_var_chunking(group, variable, NetcdfLibrary::chunked, chunk.data()));
    if (header().compression > 0)
      check(netcdf_.nc_def_var_deflate(group, variable, 1, 1, header().compression));
  }

  void put_names(int group, int variable, const std::vector<std::string>& names) {
    std::vector<const char*> texts;
    for (const std::string& name : names) texts.push_back(name.c_str());
    const std::size_t start = 0, count = texts.size();
    if (count > 0) check(netcdf_.nc_put_vara_string(group, variable, &start, &count, texts.data()));
  }

  void put_chain_numbers(int group, int variable) {
    std::vector<long long> numbers;
    for (std::size_t c = 0; c < header().chains; ++c) numbers.push_back(static_cast<long long>(c));
    const std::size_t start = 0, count = numbers.size();
    check(netcdf_.nc_put_vara_longlong(group, variable, &start, &count, numbers.data()));
  }

  void define_posterior() {
    posterior_ = define_group("posterior");
    const int chain = define_dimension(posterior_, "chain", header().chains);
    const int draw = define_dimension(posterior_, "draw", NetcdfLibrary::unlimited);
    // A size of zero would mean unlimited; a model whose variables are all observed keeps one empty column.
    const int dimension = define_dimension(posterior_, "variable", std::max<std::size_t>(1, variables()));
    const int chains = define_variable(posterior_, "chain", NetcdfLibrary::whole, {chain});
    posterior_draw_ = define_variable(posterior_, "draw", NetcdfLibrary::whole, {draw});
    const int names = define_variable(posterior_, "variable", NetcdfLibrary::text, {dimension});
    x_ = define_variable(posterior_, "x", narrow_ ? NetcdfLibrary::byte : NetcdfLibrary::word,
                         {chain, draw, dimension});
    compress(posterior_, x_, {header().chains, block_draws_, std::max<std::size_t>(1, variables())});
    put_chain_numbers(posterior_, chains);
    put_names(posterior_, names, header().variable_names);
  }

  void define_sample_stats() {
    sample_stats_ = define_group("sample_stats");
    const int chain = define_dimension(sample_stats_, "chain", header().chains);
    const int draw = define_dimension(sample_stats_, "draw", NetcdfLibrary::unlimited);
    const int chains = define_variable(sample_stats_, "chain", NetcdfLibrary::whole, {chain});
    sample_stats_draw_ = define_variable(sample_stats_, "draw", NetcdfLibrary::whole, {draw});
    lp_ = define_variable(sample_stats_, "lp", NetcdfLibrary::real, {chain, draw});
    compress(sample_stats_, lp_, {header().chains, std::max<std::size_t>(64, block_draws_)});
    put_chain_numbers(sample_stats_, chains);
  }

  void define_observed_data() {
    if (header().evidence_names.empty()) return;
    const int group = define_group("observed_data");
    const int dimension = define_dimension(group, "variable", header().evidence_names.size());
    const int names = define_variable(group, "variable", NetcdfLibrary::text, {dimension});
    const int x = define_variable(group, "x", NetcdfLibrary::word, {dimension});
    put_names(group, names, header().evidence_names);
    const std::size_t start = 0, count = header().evidence_values.size();
    check(netcdf_.nc_put_vara_ushort(group, x, &start, &count, header().evidence_values.data()));
  }

  void write_draw(std::span<const Value> values, std::span<const double> log_scores) override {
    if (narrow_)
      bytes_.insert(bytes_.end(), values.begin(), values.end());
    else
      words_.insert(words_.end(), values.begin(), values.end());
    log_scores_.insert(log_scores_.end(), log_scores.begin(), log_scores.end());
    if (++held_ == block_draws_) put_block();
  }

  /// (draw, chain, ...) as held to (chain, draw, ...) as in the file.
  template <typename Item>
  std::vector<Item> chain_first(const std::vector<Item>& items, std::size_t width) const {
    std::vector<Item> result(items.size());
    for (std::size_t t = 0; t < held_; ++t)
      for (std::size_t c = 0; c < header().chains; ++c)
        std::copy_n(items.data() + (t * header().chains + c) * width, width,
                    result.data() + (c * held_ + t) * width);
    return result;
  }

  void put_block() {
    if (held_ == 0) return;
    const std::size_t start[3] = {0, put_, 0};
    const std::size_t count[3] = {header().chains, held_, variables()};
    if (variables() > 0 && narrow_)
      check(netcdf_.nc_put_vara_uchar(posterior_, x_, start, count, chain_first(bytes_, variables()).data()));
    if (variables() > 0 && !narrow_)
      check(
          netcdf_.nc_put_vara_ushort(posterior_, x_, start, count, chain_first(words_, variables()).data()));
    std::vector<long long> numbers;
    for (std::size_t t = 0; t < held_; ++t) numbers.push_back(static_cast<long long>(put_ + t));
    check(netcdf_.nc_put_vara_longlong(posterior_, posterior_draw_, &put_, &held_, numbers.data()));
    if (header().log_scores) {
      check(netcdf_.nc_put_vara_double(sample_stats_, lp_, start, count, chain_first(log_scores_, 1).data()));
      check(netcdf_.nc_put_vara_longlong(sample_stats_, sample_stats_draw_, &put_, &held_, numbers.data()));
    }
    put_ += held_;
    held_ = 0;
    bytes_.clear();
    words_.clear();
    log_scores_.clear();
  }

  const NetcdfLibrary& netcdf_;
  TemporaryName name_;
  bool narrow_;
  bool open_ = false;
  int file_ = 0, posterior_ = 0, posterior_draw_ = 0, x_ = 0;
  int sample_stats_ = 0, sample_stats_draw_ = 0, lp_ = 0;
  std::size_t block_draws_ = 1;  ///< put at once
  std::size_t held_ = 0;         ///< draws not put yet
  std::size_t put_ = 0;          ///< draws in the file
  std::vector<std::uint8_t> bytes_;
  std::vector<Value> words_;
  std::vector<double> log_scores_;
};

}  // namespace

std::unique_ptr<DrawWriter> make_netcdf_writer(const std::string& path, DrawFileHeader header) {
  return std::make_unique<NetcdfWriter>(path, std::move(header));
}

}  // namespace drover
