#include "data.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "drover/io/text_source.hpp"

namespace drover::python {

DataTable PreparedData::table(const DataOptions& options, const RunControl& control) const {
  if (!path.empty()) return read_data_table(path, options, control);
  if (names.empty()) {
    TextSource source(text, "the data");
    return parse_text_table(source, options, control);
  }
  return table_of_numbers(numbers, names, "the data", options, control);
}

PreparedData prepared(const py::object& data, const py::object& names) {
  const auto parts = py::module_::import("drover._data").attr("prepared")(data, names).cast<py::tuple>();
  const std::string kind = py::str(parts[0]);
  PreparedData result;
  if (kind == "path") {
    result.path = parts[1].cast<std::string>();
  } else if (kind == "text") {
    result.text = parts[1].cast<std::string>();
  } else {
    const auto values = numbers<double>(parts[1], "the data");
    result.numbers.assign(values.data(), values.data() + values.size());
    result.names = parts[2].cast<std::vector<std::string>>();
  }
  return result;
}

py::object take(py::dict& keywords, const char* name) {
  if (!keywords.contains(name)) return py::none();
  return keywords.attr("pop")(name);
}

py::object take_progress(py::dict& keywords) {
  return take(keywords, "progress");
}

void warn(const char* category, const std::string& text) {
  const py::object type = py::module_::import("drover._errors").attr(category);
  if (PyErr_WarnEx(type.ptr(), text.c_str(), 1) != 0) throw py::error_already_set();
}

}  // namespace drover::python
