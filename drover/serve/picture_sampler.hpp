// Samplers of pictures that are changed while they run: temperature, a field on all pixels, pixels that are
// held at a value.
//
//   log p(x) = (log p~(x) + field sum_i level(x_i)) / temperature + const
//   level(k) = -1 .. +1 over the states
//
//   chains   64 chains of a DynamicModel (drover/sample/dual/dynamic_model.hpp): every change is an edit, of
//            constant time for a pixel. Grids of binary pixels
//   gibbs    Gibbs sampling; a change of pixels or field makes the kernel anew. Large grids of binary pixels
//            are one fast chain, other models 64 chains, or one when they are very large
//
// The mean is of the distributions the pixels were drawn from. It forgets: after a change at once, with
// `chains` by half every hundred sweeps, with `gibbs` after some thousand draws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "drover/core/option_list.hpp"
#include "drover/model/model.hpp"
#include "drover/serve/picture_shape.hpp"

namespace drover {

enum class PictureMethod { chains, gibbs };
template <>
struct ChoiceNames<PictureMethod> {
  static constexpr std::array names = {std::pair{PictureMethod::chains, std::string_view("chains")},
                                       std::pair{PictureMethod::gibbs, std::string_view("gibbs")}};
};

struct PictureTerms {
  double temperature = 1, field = 0;
};

struct PixelChange {
  std::uint32_t pixel;
  std::int32_t value;  ///< at which it is held; -1: it is free
};

class PictureSampler {
 public:
  virtual ~PictureSampler() = default;

  virtual std::string_view summary() const = 0;  ///< for people
  virtual std::uint32_t chains() const = 0;
  virtual void set_terms(const PictureTerms& terms) = 0;
  virtual void hold(std::span<const PixelChange> changes) = 0;
  virtual void sweep() = 0;
  /// The states of the pixels in one chain.
  virtual void read(std::uint32_t chain, std::span<std::uint8_t> values) const = 0;
  /// The mean level of every pixel, 0 .. 255. Where states are no levels, the most probable state and its
  /// probability: 32 state + 31 p, rounded.
  virtual void mean(std::span<std::uint8_t> levels) const = 0;
};

/// Why the model cannot be sampled by `chains`; empty: it can.
std::string why_not_chains(const Model& model, const PictureShape& shape);
PictureMethod usual_picture_method(const Model& model, const PictureShape& shape);

/// The model must outlive it. Raises misfit for a model that the method cannot sample.
std::unique_ptr<PictureSampler> make_picture_sampler(const Model& model, const PictureShape& shape,
                                                     PictureMethod method, std::uint64_t seed);

}  // namespace drover
