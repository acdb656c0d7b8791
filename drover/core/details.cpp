#include "drover/core/details.hpp"

#include <algorithm>

namespace drover {

Detail::Detail(Details value) : value_(std::make_shared<const Details>(std::move(value))) {}

Detail& Details::operator[](std::string_view name) {
  for (Entry& entry : entries_)
    if (entry.first == name) return entry.second;
  return entries_.emplace_back(std::string(name), Detail()).second;
}

const Detail* Details::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::first);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace drover
