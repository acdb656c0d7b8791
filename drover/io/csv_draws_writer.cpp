// Draws as comma-separated values: chain, draw, log_score, then the variables; one row per chain and draw. Only where
// the run had warnings a comment stands behind the table, with them and the order of named states: most programs that
// read tables stumble over a comment that they were not told of.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "drover/io/atomic_file.hpp"
#include "drover/io/csv_cell.hpp"
#include "drover/io/draws_formats.hpp"
#include "drover/io/number_text.hpp"

namespace drover {

namespace {

class CsvWriter final : public DrawWriter {
 public:
  CsvWriter(const std::string& path, DrawFileHeader file_header)
      : DrawWriter(std::move(file_header)), file_(path) {
    file_.write(header().log_scores ? "chain,draw,log_score" : "chain,draw");
    for (const std::string& name : header().variable_names) {
      file_.write(',');
      file_.write(csv_cell(name));
    }
    file_.write('\n');
    for (const std::vector<std::string>& states : header().state_names) {
      std::vector<std::string>& cells = cells_.emplace_back();
      for (const std::string& state : states) cells.push_back(quoted_cell(state));
    }
  }

  void finish() override {
    nlohmann::ordered_json metadata = nlohmann::ordered_json::parse(header().metadata);
    const auto warnings = metadata.find("warnings");
    if (warnings != metadata.end() && !warnings->empty()) {
      const auto& names = header().state_names;
      if (std::ranges::any_of(names, [](const auto& states) { return !states.empty(); }))
        metadata["state_names"] = names;
      file_.write(csv_draws_remark);
      file_.write(metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      file_.write('\n');
    }
    file_.commit();
  }

 private:
  void write_draw(std::span<const Value> values, std::span<const double> log_scores) override {
    for (std::size_t c = 0; c < log_scores.size(); ++c) {
      row_.clear();
      fmt::format_to(std::back_inserter(row_), "{},{}", c, draws());
      if (header().log_scores)
        fmt::format_to(std::back_inserter(row_), ",{}", std::string_view(NumberText(log_scores[c])));
      for (std::size_t v = 0; v < variables(); ++v) {
        row_ += ',';
        append_state(v, values[c * variables() + v]);
      }
      row_ += '\n';
      file_.write(row_);
    }
  }

  void append_state(std::size_t variable, Value value) {
    if (variable < cells_.size() && value < cells_[variable].size()) {
      row_ += cells_[variable][value];
    } else if (value < 10) {
      row_ += static_cast<char>('0' + value);
    } else {
      char digits[8];
      row_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
  }

  AtomicFile file_;
  std::vector<std::vector<std::string>> cells_;  // the names of states as they are written
  std::string row_;
};

}  // namespace

std::unique_ptr<DrawWriter> make_csv_writer(const std::string& path, DrawFileHeader header) {
  return std::make_unique<CsvWriter>(path, std::move(header));
}

}  // namespace drover
