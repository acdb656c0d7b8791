// What the texts of answers have in common, and how an answer is saved.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/core/json_writer.hpp"
#include "drover/task/inference.hpp"
#include "drover/task/provenance.hpp"

namespace drover::python {

/// What a text shows of many.
inline constexpr std::size_t most_rows = 10, most_states = 6;

/// "method gibbs, chosen because ..."
std::string method_line(const Provenance& provenance);

/// " of FILE, 5 variables"
std::string about(const ModelAnswer& answer);

/// The last lines of every text: how it was made, and whether to trust it.
std::string ending(const Provenance& provenance, const Judgement& judgement);

/// A name or state, cut where it is long.
std::string word(const std::string& whole);

/// Rows of names and cells, aligned: the variables of the query, or the first ones.
std::string rows_text(const ModelAnswer& answer, const std::vector<VariableId>& query,
                      const std::function<std::string(VariableId)>& cells);

/// Columns of words, aligned, the first one to the left; an empty head has no line.
std::string columns_text(const std::vector<std::string>& head,
                         const std::vector<std::vector<std::string>>& rows);

/// By extension: .json holds what the command prints, others what `write` writes.
void save(const std::string& path, const JsonObject& json, const char* extensions,
          const std::function<bool(const std::string&)>& write);
/// With or without .gz behind it, in any case.
bool ends_in(std::string path, std::string_view extension);

}  // namespace drover::python
