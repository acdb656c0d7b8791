// The library's options (drover/core/option_list.hpp) as keywords: burn_in=100 sets "burn-in". There is no
// list of keywords here.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "drover/core/details.hpp"
#include "drover/core/option_list.hpp"

namespace drover::python {

namespace py = pybind11;

/// "burn-in" as "burn_in".
std::string keyword_of(std::string name);

/// Sets what is given, None leaves an option unset. Raises usage for a keyword there is not, with the
/// nearest.
void set_options(OptionList& list, const py::dict& keywords);

/// What can be given, for documentation: (keyword, meaning, value or None, choices, what happens without).
py::list options_as_list(const OptionList& list);

py::object to_python(const Detail& detail);
py::dict to_python(const Details& details);

}  // namespace drover::python
