#include "options.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <vector>

#include "drover/core/error.hpp"

namespace drover::python {

namespace {

std::string text_of(py::handle value) {
  if (PyBool_Check(value.ptr())) return value.cast<bool>() ? "true" : "false";
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    std::string joined;
    for (py::handle part : value) joined += (joined.empty() ? "" : ",") + text_of(part);
    return joined;
  }
  std::string text = py::str(value);
  if (text == "True" || text == "False")
    std::ranges::transform(text, text.begin(), ::tolower);  // numpy.bool_
  return text;
}

[[noreturn]] void fail_unknown(const OptionList& list, const std::string& keyword) {
  std::vector<std::string> names;
  for (const Option& option : list.options()) names.push_back(keyword_of(option.name));
  std::vector<const char*> candidates;
  for (const std::string& name : names) candidates.push_back(name.c_str());
  const std::string near = nearest_name(keyword, candidates.data(), candidates.size());
  throw Error(ErrorKind::usage, fmt::format("unknown option {}{}", keyword,
                                            near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

struct ToPython {
  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(const std::shared_ptr<const Details>& details) const { return to_python(*details); }
  template <class T>
  py::object operator()(const T& value) const {
    return py::cast(value);
  }
};

}  // namespace

std::string keyword_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

void set_options(OptionList& list, const py::dict& keywords) {
  for (const auto& [key, value] : keywords) {
    const std::string keyword = py::str(key);
    std::string name = keyword;
    std::ranges::replace(name, '_', '-');
    Option* option = list.find(name);
    if (option == nullptr) fail_unknown(list, keyword);
    if (!value.is_none()) option->set(text_of(value));
  }
}

py::list options_as_list(const OptionList& list) {
  py::list all;
  for (const Option& option : list.options())
    all.append(py::make_tuple(keyword_of(option.name), option.help, to_python(option.value()),
                              py::cast(option.choices()), option.without));
  return all;
}

py::object to_python(const Detail& detail) {
  return std::visit(ToPython(), detail.value());
}

py::dict to_python(const Details& details) {
  py::dict dict;
  for (const auto& [name, value] : details.entries()) dict[py::str(name)] = to_python(value);
  return dict;
}

}  // namespace drover::python
