// Labels for a field (crf.hpp): the most probable ones, or the best that a search comes by, and how sure they
// are.
//
// Why not through Model and Graph, whose methods know the same algorithms: with one table for all transitions and
// one for all skip pairs they find the same scores, but take longer, on a document of 500 tokens and 9 or 17
// labels 68 to 96 times for exact passes along chains (compiling alone takes longer than such a pass), 6 to 8
// for max-product, 4 to 5 for annealed Gibbs, 1.4 to 4.7 for herded Gibbs and 1.6 to 1.8 for loopy belief
// propagation (bench/tag_by_graph.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "drover/core/option_list.hpp"
#include "drover/core/run_control.hpp"
#include "drover/tag/crf.hpp"

namespace drover {

enum class Decoder { viterbi, gibbs, herded_gibbs, bp, max_product };

template <>
struct ChoiceNames<Decoder> {
  static constexpr std::array names = {std::pair{Decoder::viterbi, std::string_view("viterbi")},
                                       std::pair{Decoder::gibbs, std::string_view("gibbs")},
                                       std::pair{Decoder::herded_gibbs, std::string_view("herded-gibbs")},
                                       std::pair{Decoder::bp, std::string_view("bp")},
                                       std::pair{Decoder::max_product, std::string_view("max-product")}};
};

struct DecodeOptions {
  Decoder decoder = Decoder::viterbi;
  std::size_t sweeps = 400;     ///< of the samplers
  std::size_t iterations = 50;  ///< of message passing, at most
  std::uint64_t seed = 1;
};

/// Finds labels for a field; keeps its arrays between calls. One per thread.
class FieldDecoder {
 public:
  explicit FieldDecoder(const DecodeOptions& options) : options_(options) {}

  /// Why this decoder cannot be used with skip factors; empty when it can.
  static std::string_view why_not_skip(Decoder decoder);

  /// `number` tells fields apart: with the seed it fixes all random draws. Returns the labels' score.
  double decode(const TagField& field, std::uint32_t number, std::span<LabelId> labels);

  /// The probability of every label at every token (tokens x stride): exact on chains, by loopy belief
  /// propagation with skip pairs. Returns whether the messages settled.
  bool marginals(const TagField& field, std::vector<float>& probabilities);

 private:
  DecodeOptions options_;
  std::vector<std::uint16_t> back_;
  ChainScratch<float> scratch_;
};

/// Annealed Gibbs sampling (crf_sampling.cpp): sweep s of S draws each label from its conditional to the
/// power 1/T with T = 1 - s/S, from high to low; the best joint state at the end of a sweep is kept, for
/// every set of sentences that skip pairs join by itself. `labels` is the start and the result.
void decode_by_gibbs(const TagField& field, std::size_t sweeps, std::uint64_t seed, std::uint32_t number,
                     std::span<LabelId> labels);

/// Herded Gibbs sampling (Bornn et al. 2013, section 4.3): weights for every configuration of a token's
/// neighbours, kept for those that occur; not annealed; best joint state as above.
void decode_by_herding(const TagField& field, std::size_t sweeps, std::span<LabelId> labels);

/// Message passing (crf_messages.cpp): exact passes along each chain, messages across skip pairs in between,
/// damped by one half. Max-product or sum-product; writes beliefs (probabilities or max-marginals,
/// normalised) and keeps the best labels by score. Returns whether the messages settled.
bool pass_messages(const TagField& field, bool sum, std::size_t iterations, std::vector<float>& beliefs,
                   std::span<LabelId> labels);

/// Learns the skip factors of a trained chain from labelled text (crf_skip.cpp); returns the number of pairs.
/// The control ends it with the factors so far.
std::size_t learn_skip_factors(Crf& crf, const TaggedText& text, double l2,
                               const RunControl& control = no_control());

}  // namespace drover
