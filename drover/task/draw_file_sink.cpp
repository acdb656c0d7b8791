#include "drover/task/draw_file_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "drover/core/error.hpp"
#include "drover/core/plural.hpp"

namespace drover {

void DrawFileSink::begin(const ModelAnswer& answer) {
  DrawFileHeader header;
  header.chains = chains_ = answer.chains;
  variables_ = answer.variables;
  for (std::size_t v = 0; v < answer.variables; ++v)
    header.variable_names.push_back(answer.names.variable(static_cast<VariableId>(v)));
  header.max_cardinality = answer.max_cardinality;
  for (std::size_t e = 0; e < answer.evidence.size(); ++e) {
    header.evidence_names.push_back(answer.names.variable(answer.evidence.variables[e]));
    header.evidence_values.push_back(answer.evidence.values[e]);
  }
  header.metadata = json_of(answer.provenance).text();
  writer_ = make_draw_writer(path_, std::move(header));
}

void DrawFileSink::take(std::uint32_t chain, std::span<const Value> assignment, double log_score) {
  writer_->append(chain, assignment, log_score);
}

void DrawFileSink::resume(std::uint64_t draws) {
  if (draws == 0) return;
  if (!std::filesystem::exists(path_)) {
    missing_ = draws;
    return;
  }
  const DrawFile earlier = read_draws(path_);
  if (earlier.draws != draws || earlier.chains != chains_ || earlier.variables() != variables_ ||
      earlier.log_scores.size() != draws * chains_ ||
      std::holds_alternative<std::vector<double>>(earlier.values))
    throw OptionError("out", path_,
                      fmt::format("the file that holds the {} of {} made before the checkpoint, or a new one",
                                  counted(draws, "draw"), counted(chains_, "chain")));
  std::vector<Value> x(variables_);
  for (std::size_t row = 0; row < draws * chains_; ++row) {
    std::visit(
        [&](const auto& values) {
          for (std::size_t v = 0; v < x.size(); ++v) x[v] = static_cast<Value>(values[row * x.size() + v]);
        },
        earlier.values);
    writer_->append(row % chains_, x, earlier.log_scores[row]);
  }
}

void DrawFileSink::finish(Samples& answer) {
  if (missing_ > 0)
    answer.provenance.warnings.push_back(
        fmt::format("the {} of each chain made before the checkpoint {} not in {}", counted(missing_, "draw"),
                    missing_ == 1 ? "is" : "are", path_));
  writer_->set_metadata(json_of(answer.provenance).text());  // with the warnings of the run
  writer_->finish();
  answer.draws = writer_->draws() * chains_;
}

}  // namespace drover
