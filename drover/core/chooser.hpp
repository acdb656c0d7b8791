// How `auto` chooses, everywhere: the candidates stand in order of preference, the first that fits is taken,
// and the reason is said. Methods of inference, gradients of learning, samplers of documents and decoders of
// sentences are all chosen here.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace drover {

template <class T>
struct Candidate {
  T choice;
  std::string_view name;
  std::string because;  ///< why it is a good choice; empty: because those before it do not fit
};

template <class T>
struct Chosen {
  T choice;
  std::string because;
};

/// `why_not(choice)` is empty for a candidate that fits, else a sentence. Without a result no candidate fits:
/// `refused` then says why each does not.
template <class T, class WhyNot>
std::optional<Chosen<T>> choose(std::span<const Candidate<T>> candidates, WhyNot why_not,
                                std::string& refused) {
  for (const Candidate<T>& candidate : candidates) {
    const std::string reason = why_not(candidate.choice);
    if (reason.empty())
      return Chosen<T>{candidate.choice, !candidate.because.empty() ? candidate.because
                                         : refused.empty()          ? "it fits, and is the first choice"
                                                                    : fmt::format("not {}", refused)};
    refused += fmt::format("{}{}: {}", refused.empty() ? "" : "; ", candidate.name, reason);
  }
  return {};
}

/// For lists whose last candidate always fits.
template <class T, class WhyNot>
Chosen<T> choose(std::initializer_list<Candidate<T>> candidates, WhyNot why_not) {
  std::string refused;
  return choose(std::span<const Candidate<T>>(candidates.begin(), candidates.size()), why_not, refused)
      .value();
}

}  // namespace drover
