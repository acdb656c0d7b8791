#include "drover/serve/live_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "drover/core/error.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/core/parallel.hpp"

namespace drover {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

void check(std::string_view what, double value, double least, double most) {
  if (!(value >= least && value <= most))
    throw Error(ErrorKind::usage, fmt::format("{}: expected {} to {}, not {}", what, least, most, value));
}

/// The pixels of a stroke.
void add_pixels(const Stroke& stroke, const PictureShape& shape, std::vector<PixelChange>& changes) {
  const double dx = stroke.x2 - stroke.x1, dy = stroke.y2 - stroke.y1, length = dx * dx + dy * dy;
  const auto first = [&](double a, double b) {
    return static_cast<std::size_t>(std::max(0.0, std::floor(std::min(a, b) - stroke.radius - 1)));
  };
  const auto last = [&](double a, double b, std::size_t end) {
    return static_cast<std::size_t>(
        std::clamp(std::ceil(std::max(a, b) + stroke.radius + 1), 0.0, static_cast<double>(end)));
  };
  for (std::size_t y = first(stroke.y1, stroke.y2); y < last(stroke.y1, stroke.y2, shape.height); ++y)
    for (std::size_t x = first(stroke.x1, stroke.x2); x < last(stroke.x1, stroke.x2, shape.width); ++x) {
      const double px = static_cast<double>(x) + 0.5 - stroke.x1,
                   py = static_cast<double>(y) + 0.5 - stroke.y1;
      const double t = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
      if (std::hypot(px - t * dx, py - t * dy) <= stroke.radius)
        changes.push_back({static_cast<std::uint32_t>(y * shape.width + x), stroke.value});
    }
}

/// Values of 0 and 1, eight to a byte, the first lowest.
std::string as_bits(std::span<const std::uint8_t> values) {
  std::string bits((values.size() + 7) / 8, '\0');
  parallel_for(IndexRange(0, values.size() / 8, 1 << 14), [&](const IndexRange& part) {
    for (std::size_t byte = part.begin(); byte < part.end(); ++byte) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, values.data() + 8 * byte, 8);
      bits[byte] = static_cast<char>(eight * 0x0102040810204080U >> 56);  // byte k goes to bit 56 + k
    }
  });
  for (std::size_t i = values.size() / 8 * 8; i < values.size(); ++i)
    bits[i / 8] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) | values[i] << i % 8);
  return bits;
}

/// A picture with fewer pixels: of each of across x down parts the one in the middle.
std::string thinned(const std::string& pixels, bool bits, std::size_t width, std::size_t height,
                    std::size_t across, std::size_t down) {
  std::vector<std::size_t> columns(across);
  for (std::size_t x = 0; x < across; ++x) columns[x] = (2 * x + 1) * width / (2 * across);
  const auto* const all = reinterpret_cast<const unsigned char*>(pixels.data());
  std::string thin(bits ? (across * down + 7) / 8 : across * down, '\0');
  for (std::size_t y = 0, i = 0; y < down; ++y) {
    const std::size_t row = (2 * y + 1) * height / (2 * down) * width;
    if (!bits) {
      for (std::size_t column : columns) thin[i++] = static_cast<char>(all[row + column]);
      continue;
    }
    for (std::size_t column : columns) {
      const std::size_t at = row + column;
      const unsigned bit = all[at / 8] >> at % 8 & 1U;
      thin[i / 8] = static_cast<char>(static_cast<unsigned char>(thin[i / 8]) | bit << i % 8);
      ++i;
    }
  }
  return thin;
}

/// What can be seen of the picture at a moment; nobody changes it.
struct Published {
  std::uint64_t version = 0, mean_version = 0;
  JsonObject figures;
  std::string state;
  std::size_t width = 0, height = 0;  ///< of the state
  bool bits = false;
  std::shared_ptr<const std::string> mean;
};

}  // namespace

class LivePicture::Engine {
 public:
  Engine(const Model& model, const PictureShape& shape, std::uint64_t seed, double rest_after)
      : model_(model),
        shape_(shape),
        rest_after_(rest_after),
        seed_(seed),
        method_(usual_picture_method(model, shape)),
        held_(shape.size(), -1),
        thread_([this] { run(); }) {}
  ~Engine() {
    {
      const std::lock_guard hold(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void change(const PictureChange& wanted) {
    if (wanted.temperature) check("temperature", *wanted.temperature, least_temperature, most_temperature);
    if (wanted.field) check("field", *wanted.field, -most_field, most_field);
    if (wanted.method == PictureMethod::chains) {
      const std::string reason = why_not_chains(model_, shape_);
      if (!reason.empty()) throw Error(ErrorKind::misfit, reason);
    }
    for (const Stroke& stroke : wanted.strokes) {
      const auto side = static_cast<double>(std::max(shape_.width, shape_.height));
      for (double place : {stroke.x1, stroke.y1, stroke.x2, stroke.y2})
        check("place of a stroke", place, -2 * side, 2 * side);
      check("radius of a stroke", stroke.radius, 0, side);
      check("value of a stroke", stroke.value, -1, shape_.states - 1.0);
    }
    const std::lock_guard hold(mutex_);
    if (wanted.temperature) pending_.temperature = wanted.temperature;
    if (wanted.field) pending_.field = wanted.field;
    if (wanted.method) pending_.method = wanted.method;
    if (wanted.seed) pending_.seed = wanted.seed;
    if (wanted.paused) paused_ = *wanted.paused;
    if (wanted.clear) {
      pending_.clear = true;
      pending_.strokes.clear();
    }
    pending_.strokes.insert(pending_.strokes.end(), wanted.strokes.begin(), wanted.strokes.end());
    has_pending_ = true;
    changed_.notify_all();
  }

  std::string frame(PictureView& view, double seconds) {
    std::shared_ptr<const Published> newest;
    {
      std::unique_lock lock(mutex_);
      const Clock::time_point now = asked_ = Clock::now();
      wanted_ = true;
      changed_.notify_all();
      // One that was made long before somebody looked is not what they came for.
      constexpr double long_ago = 0.2;
      const auto is_new = [&] {
        const bool stands = paused_ || !error_.empty();
        return version_ > view.version && (stands || seconds_between(shown_, now) < long_ago);
      };
      changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return is_new() || ending_; });
      if (!is_new()) return {};
      newest = published_;
    }
    const bool with_mean = newest->mean && newest->mean_version != view.mean;
    view.version = newest->version;
    view.mean = newest->mean_version;
    JsonObject figures = newest->figures;
    std::string pixels;
    // All of them, or as many as are seen; members of the JSON say how many.
    const auto add = [&](const std::string& all, bool bits, std::size_t width, std::size_t height,
                         const char* across_name, const char* down_name) {
      const bool thin = view.across > 0 && view.across < width;
      const std::size_t across = thin ? view.across : width,
                        down =
                            thin ? std::max<std::size_t>(1, (across * height + width / 2) / width) : height;
      figures.add(across_name, across);
      figures.add(down_name, down);
      pixels += thin ? thinned(all, bits, width, height, across, down) : all;
    };
    add(newest->state, newest->bits, newest->width, newest->height, "across", "down");
    if (with_mean) add(*newest->mean, false, shape_.width, shape_.height, "mean_across", "mean_down");
    const std::string text = figures.line();
    std::string whole;
    whole.reserve(4 + text.size() + pixels.size());
    for (unsigned byte = 0; byte < 4; ++byte) whole += static_cast<char>(text.size() >> 8 * byte & 255);
    whole += text;
    whole += pixels;
    return whole;
  }
  std::uint64_t sweeps() {
    const std::lock_guard hold(mutex_);
    return sweeps_;
  }

 private:
  void run() {
    try {
      make_sampler();
      while (step()) continue;
    } catch (const std::exception& failure) {
      const std::lock_guard hold(mutex_);
      error_ = failure.what();
      publish({});
    }
  }

  void make_sampler() {
    sampler_ = make_picture_sampler(model_, shape_, method_, seed_);
    if (terms_.temperature != 1 || terms_.field != 0) sampler_->set_terms(terms_);
    std::vector<PixelChange> all;
    for (std::uint32_t p = 0; p < held_.size(); ++p)
      if (held_[p] >= 0) all.push_back({p, held_[p]});
    if (!all.empty()) sampler_->hold(all);
    begun_ = Clock::now();
    rested_ = 0;
    begun_sweeps_ = 0;
  }

  /// Whatever is next: a change, a frame, rest, a sweep. False: the end.
  bool step() {
    bool frame = false;
    {
      std::unique_lock lock(mutex_);
      const auto idle = [&] {
        const bool nobody = seconds_between(asked_, Clock::now()) > rest_after_;
        return !ending_ && !has_pending_ && (paused_ || nobody) && !is_due();
      };
      if (idle()) {
        const Clock::time_point start = Clock::now();
        while (idle()) changed_.wait_for(lock, std::chrono::milliseconds(20));
        rested_ += seconds_between(start, Clock::now());
      }
      if (ending_) return false;
      frame = is_due();
      if (has_pending_) {
        const PictureChange wanted = std::exchange(pending_, {});
        has_pending_ = false;
        lock.unlock();
        apply(wanted);
        lock.lock();
        // What was changed is shown at once, a paused picture too.
        frame = frame || paused_;
      }
      if (paused_ && !frame) return true;
    }
    if (!paused_) {
      sampler_->sweep();
      const std::lock_guard hold(mutex_);
      ++sweeps_;
      ++begun_sweeps_;
    }
    if (frame) make_frame();
    return true;
  }

  bool is_due() const {
    return wanted_ && (shown_sweeps_ != sweeps_ || !paused_ || version_ == 0) &&
           seconds_between(shown_, Clock::now()) >= 1 / most_frames;
  }

  void apply(const PictureChange& wanted) {
    const bool anew = wanted.method.value_or(method_) != method_ || wanted.seed;
    method_ = wanted.method.value_or(method_);
    seed_ = wanted.seed.value_or(seed_);
    PictureTerms terms = terms_;
    terms.temperature = wanted.temperature.value_or(terms.temperature);
    terms.field = wanted.field.value_or(terms.field);
    const bool changed = terms.temperature != terms_.temperature || terms.field != terms_.field;
    terms_ = terms;
    if (changed && !anew) sampler_->set_terms(terms_);
    std::vector<PixelChange> changes;
    if (wanted.clear)
      for (std::uint32_t p = 0; p < held_.size(); ++p)
        if (held_[p] >= 0) changes.push_back({p, -1});
    for (const Stroke& stroke : wanted.strokes) add_pixels(stroke, shape_, changes);
    std::erase_if(changes, [&](const PixelChange& one) {
      if (held_[one.pixel] == one.value) return true;
      held_count_ += (one.value >= 0 ? 1 : 0) - (held_[one.pixel] >= 0 ? 1 : 0);
      held_[one.pixel] = static_cast<std::int16_t>(one.value);
      return false;
    });
    if (!changes.empty() && !anew) sampler_->hold(changes);
    if (anew) make_sampler();
    fresh_ = true;
  }

  std::uint8_t shade(std::uint8_t value, std::size_t pixel) const {
    return static_cast<std::uint8_t>(value * 127 / (shape_.states - 1) + (held_[pixel] >= 0 ? 128 : 0));
  }

  std::uint32_t images() const { return shape_.is_grid ? 1 : std::min(sampler_->chains(), most_images); }
  /// How many images a row and a column of the sheet has.
  std::pair<std::size_t, std::size_t> sheet() const {
    const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(images())));
    return {columns, (images() + columns - 1) / columns};
  }

  void make_frame() {
    const Clock::time_point start = Clock::now();
    const auto [columns, rows] = sheet();
    const std::size_t width = columns * (shape_.width + 1) - 1, height = rows * (shape_.height + 1) - 1;
    const auto bytes = [](std::string& text) {
      return std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size());
    };
    std::string state;
    values_.resize(shape_.size());
    const bool packed =
        images() == 1 && shape_.states == 2 && held_count_ == 0 && shape_.size() >= packed_from;
    if (packed) {
      sampler_->read(0, values_);
      state = as_bits(values_);
    } else {
      state.resize(width * height);
      for (std::uint32_t chain = 0; chain < images(); ++chain) {
        sampler_->read(chain, values_);
        const std::size_t left = chain % columns * (shape_.width + 1),
                          top = chain / columns * (shape_.height + 1);
        for (std::size_t y = 0, p = 0; y < shape_.height; ++y)
          for (std::size_t x = 0; x < shape_.width; ++x, ++p)
            bytes(state)[(top + y) * width + left + x] = shade(values_[p], p);
      }
    }
    // A change is seen at once.
    if (!mean_ || fresh_ || paused_ || seconds_between(meant_, Clock::now()) >= 1 / most_means) {
      std::string mean(shape_.size(), '\0');
      sampler_->mean(bytes(mean));
      std::uint64_t total = 0;
      for (std::uint8_t one : bytes(mean)) total += one;
      if (shape_.levels) level_ = static_cast<double>(total) / 255 / static_cast<double>(shape_.size());
      mean_ = std::make_shared<const std::string>(std::move(mean));
      mean_version_ = newer_than(mean_version_);
      meant_ = Clock::now();
      fresh_ = false;
    }

    const std::lock_guard hold(mutex_);
    const double seconds = seconds_between(begun_, Clock::now()) - rested_;
    Published made;
    made.state = std::move(state);
    made.width = width;
    made.height = height;
    made.bits = packed;
    made.mean = mean_;
    made.mean_version = mean_version_;
    JsonObject& object = made.figures;
    object.add("width", width);
    object.add("height", height);
    object.add("bits", packed);
    object.add("columns", columns);
    object.add("rows", rows);
    if (shape_.levels) object.add("mean_level", level_);
    object.add("sampler", sampler_->summary());
    object.add("chains", sampler_->chains());
    const double rate = seconds > 0 ? static_cast<double>(begun_sweeps_) / seconds : 0;
    object.add("sweeps_per_second", rate);
    object.add("updates_per_nanosecond",
               rate * static_cast<double>(model_.variable_count()) * sampler_->chains() / 1e9);
    object.add("frame_seconds", frame_seconds_);  // of those before: for whoever measures what looking costs
    publish(std::move(made));
    frame_seconds_ += seconds_between(start, Clock::now());
  }

  /// Larger than any version before, of other pictures too.
  static std::uint64_t newer_than(std::uint64_t version) {
    const auto now =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
    return std::max(version + 1, static_cast<std::uint64_t>(now));
  }

  /// With the lock held.
  void publish(Published made) {
    made.version = version_ = newer_than(version_);
    JsonObject& object = made.figures;
    object.add("version", std::to_string(version_));
    object.add("mean_version", std::to_string(made.mean_version));
    object.add("image_width", shape_.width);
    object.add("image_height", shape_.height);
    object.add("states", shape_.states);
    object.add("sweeps", sweeps_);
    object.add("method", choice_name(method_));
    object.add("temperature", terms_.temperature);
    object.add("field", terms_.field);
    object.add("held", held_count_);
    object.add("seed", seed_);
    object.add("paused", paused_);
    object.add("error", error_);
    published_ = std::make_shared<const Published>(std::move(made));
    wanted_ = false;
    shown_ = Clock::now();
    shown_sweeps_ = sweeps_;
    changed_.notify_all();
  }

  const Model& model_;
  const PictureShape shape_;
  const double rest_after_;

  std::mutex mutex_;  ///< what follows
  std::condition_variable changed_;
  bool ending_ = false, has_pending_ = false, wanted_ = false;
  std::atomic<bool> paused_ = false;
  PictureChange pending_;
  std::uint64_t version_ = 0, sweeps_ = 0;
  std::shared_ptr<const Published> published_;  ///< null: no frame yet
  std::string error_;
  Clock::time_point asked_ = Clock::now(), shown_{};

  // Of the sampling thread; the others read them only in frames.
  std::uint64_t seed_;
  PictureMethod method_;
  PictureTerms terms_;
  std::vector<std::int16_t> held_;
  std::int64_t held_count_ = 0;
  bool fresh_ = true;                 ///< something was changed since the mean was taken
  double level_ = 0;                  ///< the mean of the mean
  std::vector<std::uint8_t> values_;  ///< of the chain that is read
  std::shared_ptr<const std::string> mean_;
  std::uint64_t mean_version_ = 0;
  Clock::time_point meant_{};
  std::unique_ptr<PictureSampler> sampler_;
  Clock::time_point begun_ = Clock::now();
  double rested_ = 0, frame_seconds_ = 0;
  std::uint64_t begun_sweeps_ = 0, shown_sweeps_ = 0;

  std::thread thread_;  ///< last: it begins when all else is there
};

LivePicture::LivePicture(const Model& model, const PictureShape& shape, std::uint64_t seed, double rest_after)
    : engine_(std::make_unique<Engine>(model, shape, seed, rest_after)) {}
LivePicture::~LivePicture() = default;
void LivePicture::change(const PictureChange& change) {
  engine_->change(change);
}
std::string LivePicture::frame(PictureView& view, double seconds) {
  return engine_->frame(view, seconds);
}
std::uint64_t LivePicture::sweeps() {
  return engine_->sweeps();
}

}  // namespace drover
