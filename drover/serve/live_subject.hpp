// What is open on the live page: a model, and what is found out about it when it is first asked for.
#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/draw/network.hpp"
#include "drover/model/model.hpp"
#include "drover/serve/exact_network.hpp"
#include "drover/serve/live_picture.hpp"
#include "drover/serve/live_run.hpp"
#include "drover/serve/sampled_network.hpp"

namespace drover {

/// Which samplers fit the model. Found out in a thread of its own: for a large model it takes seconds.
class FittingMethods {
 public:
  explicit FittingMethods(const Model& model);
  ~FittingMethods();
  FittingMethods(const FittingMethods&) = delete;
  FittingMethods& operator=(const FittingMethods&) = delete;

  /// {methods: [{name, summary, why_not}], pending}: what is known by now, after waiting for all of it for at
  /// most so many seconds. why_not is null where it is not known.
  std::string json(double seconds);

 private:
  struct Row {
    std::string_view name, summary;
    std::optional<std::string> why_not;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Row> rows_;
  bool done_ = false, ending_ = false;
  std::thread thread_;
};

class LiveSubject {
 public:
  LiveSubject(Model model, std::string name, std::optional<PictureShape> picture,
              std::size_t memory_limit_bytes, std::uint64_t seed, const RunControl& control);
  ~LiveSubject();
  LiveSubject(const LiveSubject&) = delete;
  LiveSubject& operator=(const LiveSubject&) = delete;

  const Model& model() const { return model_; }
  const std::string& name() const { return name_; }
  const std::optional<PictureShape>& picture_shape() const { return shape_; }
  bool has_network() const { return model_.variable_count() <= most_network; }

  /// Plans exact inference in a thread of its own; null while it has not done so after so many seconds.
  ExactNetwork* exact(double seconds);
  SampledNetwork& sampled();
  LiveRun& run();
  FittingMethods& methods();
  /// Raises usage when the model is no picture.
  LivePicture& picture();
  const std::vector<Arc>& arcs();

  /// Larger models have no view of their network.
  static constexpr std::size_t most_network = 20'000;

 private:
  const Model model_;
  const std::string name_;
  const std::optional<PictureShape> shape_;
  const std::size_t memory_limit_bytes_;
  const std::uint64_t seed_;
  const RunControl& control_;
  std::mutex mutex_;
  std::shared_future<std::unique_ptr<ExactNetwork>> exact_;
  std::optional<std::vector<Arc>> arcs_;
  std::unique_ptr<SampledNetwork> sampled_;
  std::unique_ptr<FittingMethods> methods_;
  std::unique_ptr<LiveRun> run_;
  std::unique_ptr<LivePicture> picture_;
};

/// The models that are shown when none was named.
struct LiveExample {
  std::string name;
  Model (*make)();
};
const std::vector<LiveExample>& live_examples();

}  // namespace drover
