// NumPy arrays: in by one copy, out by none.
#pragma once

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "drover/core/error.hpp"

namespace drover::python {

namespace py = pybind11;
using Shape = std::vector<py::ssize_t>;

/// A whole number of Python or NumPy. (Arrays of any shape say that they can be one.)
inline bool is_whole_number(py::handle object) {
  if (PyLong_Check(object.ptr())) return true;
  return PyIndex_Check(object.ptr()) != 0 &&
         !(py::isinstance<py::array>(object) && py::len(object.attr("shape")) > 0);
}

inline py::array read_only(py::array array) {
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

/// Memory that `owner` keeps alive; strides count bytes, none: row-major.
template <class T>
py::array view(const T* data, Shape shape, py::handle owner, Shape strides = {}) {
  if (strides.empty()) strides = py::detail::c_strides(shape, sizeof(T));
  return read_only(py::array(py::dtype::of<T>(), std::move(shape), std::move(strides), data, owner));
}

template <class T>
py::array view(const std::vector<T>& numbers, py::handle owner) {
  return view(numbers.data(), {static_cast<py::ssize_t>(numbers.size())}, owner);
}

/// The vector moves into a capsule that the array keeps.
template <class T>
py::array adopt(std::vector<T> numbers, Shape shape = {}) {
  auto* kept = new std::vector<T>(std::move(numbers));
  const py::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {static_cast<py::ssize_t>(kept->size())};
  return view(kept->data(), std::move(shape), owner);
}

/// Any array-like of numbers, row-major. Raises usage, with what it is called.
template <class T>
py::array_t<T, py::array::c_style | py::array::forcecast> numbers(py::handle object, const char* what) {
  const py::array any = py::array::ensure(object);
  const char kind = any ? any.dtype().kind() : ' ';
  const bool whole = kind == 'i' || kind == 'u' || kind == 'b';
  if (!any || !(whole || (std::is_floating_point_v<T> && kind == 'f') || any.size() == 0)) {
    PyErr_Clear();
    throw Error(ErrorKind::usage, fmt::format("{}: expected an array of {}", what,
                                              std::is_floating_point_v<T> ? "numbers" : "whole numbers"));
  }
  return py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(any);
}

}  // namespace drover::python
