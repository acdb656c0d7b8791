// Draws as NetCDF-4 in the layout of ArviZ's InferenceData (https://python.arviz.org, InferenceData schema):
// group posterior with x (chain, draw, variable), group sample_stats with lp (chain, draw), group
// observed_data with the evidence, coordinates beside the data.
//
// The dimension draw is unlimited, so draws can be appended. They are put in blocks as large as a chunk of
// the file (about a megabyte): a chunk is compressed once.
//
// HDF5 does not survive a full disk (it crashes when the process ends), so the library runs in a child
// process (helper_process.hpp), which is sent the draws; compressing then costs the run no time either.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "drover/core/error.hpp"
#include "drover/core/version.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/draws_output.hpp"
#include "drover/io/helper_process.hpp"
#include "drover/io/netcdf_draws_library.hpp"

namespace drover {

namespace {

/// The file itself; lives in the child.
class NetcdfOutput {
 public:
  NetcdfOutput(const std::string& path, const std::string& target, const DrawFileHeader& header)
      : netcdf_(netcdf_library()), target_(target), header_(header), narrow_(header.max_cardinality <= 256) {
    const std::size_t row = std::max<std::size_t>(1, header_.chains * variables());
    block_draws_ = std::clamp<std::size_t>((1 << 20) / row, 1, 4096);
    errno = 0;
    check(netcdf_.nc_create(path.c_str(), NetcdfLibrary::version_4 | NetcdfLibrary::overwrite, &file_));
    define_posterior();
    if (header_.log_scores) define_sample_stats();
    define_observed_data();
  }

  void write_draw(std::span<const Value> values, std::span<const double> log_scores) {
    if (narrow_)
      bytes_.insert(bytes_.end(), values.begin(), values.end());
    else
      words_.insert(words_.end(), values.begin(), values.end());
    log_scores_.insert(log_scores_.end(), log_scores.begin(), log_scores.end());
    if (++held_ == block_draws_) put_block();
  }

  void finish(const std::string& metadata) {
    put_block();
    put_attribute(posterior_, "metadata", metadata);
    check(netcdf_.nc_close(file_));
  }

 private:
  std::size_t variables() const { return header_.variable_names.size(); }

  /// The library says "HDF error" for whatever the system refused; the system's reason is still in errno.
  void check(int code) const {
    if (code == NetcdfLibrary::no_error) return;
    const int reason = errno;
    throw Error(ErrorKind::cannot_write,
                fmt::format("cannot write {}: {}", target_,
                            reason == ENOSPC || reason == EFBIG || reason == EDQUOT || reason == EIO
                                ? std::strerror(reason)
                                : netcdf_.nc_strerror(code)));
  }

  int define_group(const char* name) {
    int group = 0;
    check(netcdf_.nc_def_grp(file_, name, &group));
    put_attribute(group, "inference_library", "drover");
    put_attribute(group, "inference_library_version", version());
    if (!header_.created_at.empty()) put_attribute(group, "created_at", header_.created_at);
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
    if (header_.compression > 0)
      check(netcdf_.nc_def_var_deflate(group, variable, 1, 1, header_.compression));
  }

  void put_names(int group, int variable, const std::vector<std::string>& names) {
    std::vector<const char*> texts;
    for (const std::string& name : names) texts.push_back(name.c_str());
    const std::size_t start = 0, count = texts.size();
    if (count > 0) check(netcdf_.nc_put_vara_string(group, variable, &start, &count, texts.data()));
  }

  void put_chain_numbers(int group, int variable) {
    std::vector<long long> numbers;
    for (std::size_t c = 0; c < header_.chains; ++c) numbers.push_back(static_cast<long long>(c));
    const std::size_t start = 0, count = numbers.size();
    check(netcdf_.nc_put_vara_longlong(group, variable, &start, &count, numbers.data()));
  }

  void define_posterior() {
    posterior_ = define_group("posterior");
    const int chain = define_dimension(posterior_, "chain", header_.chains);
    const int draw = define_dimension(posterior_, "draw", NetcdfLibrary::unlimited);
    // A size of zero would mean unlimited; a model whose variables are all observed keeps one empty column.
    const int dimension = define_dimension(posterior_, "variable", std::max<std::size_t>(1, variables()));
    const int chains = define_variable(posterior_, "chain", NetcdfLibrary::whole, {chain});
    posterior_draw_ = define_variable(posterior_, "draw", NetcdfLibrary::whole, {draw});
    const int names = define_variable(posterior_, "variable", NetcdfLibrary::text, {dimension});
    x_ = define_variable(posterior_, "x", narrow_ ? NetcdfLibrary::byte : NetcdfLibrary::word,
                         {chain, draw, dimension});
    compress(posterior_, x_, {header_.chains, block_draws_, std::max<std::size_t>(1, variables())});
    put_chain_numbers(posterior_, chains);
    put_names(posterior_, names, header_.variable_names);
  }

  void define_sample_stats() {
    sample_stats_ = define_group("sample_stats");
    const int chain = define_dimension(sample_stats_, "chain", header_.chains);
    const int draw = define_dimension(sample_stats_, "draw", NetcdfLibrary::unlimited);
    const int chains = define_variable(sample_stats_, "chain", NetcdfLibrary::whole, {chain});
    sample_stats_draw_ = define_variable(sample_stats_, "draw", NetcdfLibrary::whole, {draw});
    lp_ = define_variable(sample_stats_, "lp", NetcdfLibrary::real, {chain, draw});
    compress(sample_stats_, lp_, {header_.chains, std::max<std::size_t>(64, block_draws_)});
    put_chain_numbers(sample_stats_, chains);
  }

  void define_observed_data() {
    if (header_.evidence_names.empty()) return;
    const int group = define_group("observed_data");
    const int dimension = define_dimension(group, "variable", header_.evidence_names.size());
    const int names = define_variable(group, "variable", NetcdfLibrary::text, {dimension});
    const int x = define_variable(group, "x", NetcdfLibrary::word, {dimension});
    put_names(group, names, header_.evidence_names);
    const std::size_t start = 0, count = header_.evidence_values.size();
    check(netcdf_.nc_put_vara_ushort(group, x, &start, &count, header_.evidence_values.data()));
  }

  /// (draw, chain, ...) as held to (chain, draw, ...) as in the file.
  template <typename Item>
  std::vector<Item> chain_first(const std::vector<Item>& items, std::size_t width) const {
    std::vector<Item> result(items.size());
    for (std::size_t t = 0; t < held_; ++t)
      for (std::size_t c = 0; c < header_.chains; ++c)
        std::copy_n(items.data() + (t * header_.chains + c) * width, width,
                    result.data() + (c * held_ + t) * width);
    return result;
  }

  void put_block() {
    if (held_ == 0) return;
    const std::size_t start[3] = {0, put_, 0};
    const std::size_t count[3] = {header_.chains, held_, variables()};
    if (variables() > 0 && narrow_)
      check(netcdf_.nc_put_vara_uchar(posterior_, x_, start, count, chain_first(bytes_, variables()).data()));
    if (variables() > 0 && !narrow_)
      check(
          netcdf_.nc_put_vara_ushort(posterior_, x_, start, count, chain_first(words_, variables()).data()));
    std::vector<long long> numbers;
    for (std::size_t t = 0; t < held_; ++t) numbers.push_back(static_cast<long long>(put_ + t));
    check(netcdf_.nc_put_vara_longlong(posterior_, posterior_draw_, &put_, &held_, numbers.data()));
    if (header_.log_scores) {
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
  const std::string& target_;
  const DrawFileHeader& header_;
  bool narrow_;
  int file_ = 0, posterior_ = 0, posterior_draw_ = 0, x_ = 0;
  int sample_stats_ = 0, sample_stats_draw_ = 0, lp_ = 0;
  std::size_t block_draws_ = 1;  ///< put at once
  std::size_t held_ = 0;         ///< draws not put yet
  std::size_t put_ = 0;          ///< draws in the file
  std::vector<std::uint8_t> bytes_;
  std::vector<Value> words_;
  std::vector<double> log_scores_;
};

enum class Message : std::uint64_t { draw, finish };

/// The child: a file is made of the messages that come.
void write_messages(Channel& channel, NetcdfOutput& output, const DrawFileHeader& header) {
  reply_good(channel);
  channel.flush();
  std::vector<Value> values(header.chains * header.variable_names.size());
  std::vector<double> log_scores(header.chains);
  while (static_cast<Message>(channel.receive_number()) == Message::draw) {
    channel.receive(values.data(), values.size() * sizeof(Value));
    channel.receive(log_scores.data(), log_scores.size() * sizeof(double));
    output.write_draw(values, log_scores);
  }
  output.finish(channel.receive_text());
  reply_good(channel);
}

class NetcdfWriter final : public DrawWriter {
 public:
  NetcdfWriter(const std::string& path, DrawFileHeader file_header)
      : DrawWriter(std::move(file_header)), name_(path), child_([this](Channel& channel) {
          NetcdfOutput output(name_.path(), name_.target(), header());
          write_messages(channel, output, header());
        }) {
    say_why([&] { child_.receive([](Channel&) {}); });
  }

  void finish() override {
    say_why([&] {
      child_.send([&](Channel& channel) {
        channel.send_number(static_cast<std::uint64_t>(Message::finish));
        channel.send_text(header().metadata);
      });
      child_.receive([](Channel&) {});
    });
    name_.rename_to_target();
  }

 private:
  template <class Work>
  void say_why(const Work& work) {
    try {
      work();
    } catch (const HelperCrashed& crash) {
      throw Error(ErrorKind::cannot_write,
                  fmt::format("cannot write {}: the NetCDF library {} (is the disk full?)", name_.target(),
                              crash.what()));
    }
  }

  void write_draw(std::span<const Value> values, std::span<const double> log_scores) override {
    say_why([&] {
      child_.send([&](Channel& channel) {
        channel.send_number(static_cast<std::uint64_t>(Message::draw));
        channel.send(values.data(), values.size_bytes());
        channel.send(log_scores.data(), log_scores.size_bytes());
      });
    });
  }

  TemporaryName name_;
  HelperProcess child_;
};

}  // namespace

std::unique_ptr<DrawWriter> make_netcdf_writer(const std::string& path, DrawFileHeader header) {
  return std::make_unique<NetcdfWriter>(path, std::move(header));
}

}  // namespace drover
