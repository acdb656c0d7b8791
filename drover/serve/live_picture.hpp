// A picture that is sampled while somebody looks at it and paints on it: one thread sweeps
// (picture_sampler.hpp), takes what was changed between two sweeps, and makes a frame when one is asked for,
// at most `most_frames` a second. When nobody has asked for some seconds it rests.
//
// A frame is bytes: the length of a JSON text (4 bytes, little end first), the text, then one byte per pixel
// of the state (`across` x `down`) and, if the viewer has not had this one yet, of the running mean
// (`mean_across` x `mean_down`). A pixel of the state is its level in 127 steps, plus 128 where it is held; a
// large picture of two states of which none is held has a bit per pixel, the first lowest (`bits`). The mean
// is 0 .. 255. On a sheet the state is the images of the chains side by side, a pixel apart. A viewer who sees
// fewer pixels than there are gets as many as are seen. There are no queues: whoever asks gets the newest
// frame.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/serve/picture_sampler.hpp"

namespace drover {

/// From one place to another, in pixels; a pixel belongs to it when its middle is within the radius.
struct Stroke {
  double x1, y1, x2, y2, radius;
  std::int32_t value;  ///< -1: set free
};

/// What a person changes; what is not set stays.
struct PictureChange {
  std::optional<double> temperature{}, field{};
  std::optional<PictureMethod> method{};
  std::optional<std::uint64_t> seed{};
  std::optional<bool> paused{};
  bool clear = false;  ///< all pixels are set free, before the strokes
  std::vector<Stroke> strokes{};
};

/// What a viewer has had, and how much of it is seen.
struct PictureView {
  std::uint64_t version = 0;  ///< of the last frame
  std::uint64_t mean = 0;     ///< of the last mean
  std::uint32_t across = 0;   ///< pixels of a row that are seen; 0: all
};

class LivePicture {
 public:
  /// The model must outlive it.
  LivePicture(const Model& model, const PictureShape& shape, std::uint64_t seed, double rest_after = 5);
  ~LivePicture();
  LivePicture(const LivePicture&) = delete;
  LivePicture& operator=(const LivePicture&) = delete;

  /// Raises usage for values out of range, misfit for a method that does not fit.
  void change(const PictureChange& change);
  /// The newest frame, when it is newer than the last that the viewer had; waits at most so many seconds for
  /// one, then is empty.
  std::string frame(PictureView& view, double seconds);
  /// Since the sampler began.
  std::uint64_t sweeps();

  static constexpr double most_frames = 10.2, most_means = 1;
  static constexpr double least_temperature = 0.01, most_temperature = 1000, most_field = 1000;
  static constexpr std::uint32_t most_images = 64;
  static constexpr std::size_t packed_from = std::size_t{1} << 16;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace drover
