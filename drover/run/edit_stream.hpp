// A conversation with a DynamicModel: edits and questions come as JSON lines, answers go as JSON lines.
//
// Every line is one object with a member "op"; docs/stream.md lists them. A line that cannot be understood,
// or that speaks of what is not there, is answered with its number and what was expected, and changes
// nothing: all checks come before the first change.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "drover/sample/dual/dynamic_model.hpp"

namespace drover {

struct EditStreamOptions {
  std::uint64_t edits_per_sweep = 0;  ///< a sweep after so many edits; 0: none but those asked for
  std::uint64_t every = 0;            ///< marginals after every so many sweeps; 0: only when asked for
};

class EditStream {
 public:
  using Id = DynamicModel::Id;
  /// Takes each answer, a JSON object without its line end.
  using Answer = std::function<void(std::string_view)>;

  /// `names` of the variables 0 .. names.size() - 1, as far as they have any; the model must outlive this.
  EditStream(DynamicModel& model, const std::vector<std::string>& names, const EditStreamOptions& options,
             Answer answer);

  /// The next line; empty lines count but say nothing.
  void take(std::string_view line);
  /// One sweep, and the marginals when they are due.
  void sweep();
  /// Whether a long `sweep` should end early.
  void set_should_stop(std::function<bool()> should_stop) { should_stop_ = std::move(should_stop); }

  std::uint64_t lines() const { return line_; }
  std::uint64_t edits() const { return edits_; }
  std::uint64_t errors() const { return errors_; }

 private:
  void obey(const nlohmann::json& edit);
  void count_edit();
  Id variable_of(const nlohmann::json& value) const;
  Id factor_of(const nlohmann::json& value) const;
  Id variable_member(const nlohmann::json& edit) const;
  static std::string new_name(const nlohmann::json& edit, const std::unordered_map<std::string, Id>& taken);
  void complain(const std::string& message);
  void add_factor(const nlohmann::json& edit);
  void add_variable(const nlohmann::json& edit);
  void remove_factor(const nlohmann::json& edit);
  void remove_variable(const nlohmann::json& edit);
  void sweep_often(const nlohmann::json& edit);
  void answer_marginals(const nlohmann::json* wanted);

  DynamicModel& model_;
  EditStreamOptions options_;
  Answer answer_;
  std::function<bool()> should_stop_ = [] { return false; };
  // Names that were given, both ways.
  std::unordered_map<std::string, Id> variable_ids_, factor_ids_;
  std::unordered_map<Id, std::string> variable_names_, factor_names_;
  std::uint64_t line_ = 0;
  std::uint64_t edits_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace drover
