#include "drover/serve/live_subject.hpp"

#include "drover/compile/graph.hpp"
#include "drover/core/error.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/methods/method.hpp"

namespace drover {

FittingMethods::FittingMethods(const Model& model) {
  // Exact inference asks for an elimination order, which takes longest: it comes last.
  for (const Method& method : all_methods())
    if (method.does(Task::sample) && method.name != "exact")
      rows_.push_back({method.name, method.summary, {}});
  const Method& exact = method_named("exact");
  rows_.push_back({exact.name, exact.summary, {}});
  thread_ = std::thread([this, &model] {
    std::string failure;
    std::unique_ptr<Problem> problem;
    try {
      problem = std::make_unique<Problem>(compile(model), InferenceOptions{});
    } catch (const std::exception& error) {
      failure = error.what();
    }
    for (Row& row : rows_) {
      std::string reason = problem ? why_not(method_named(row.name), *problem, Task::sample) : failure;
      const std::lock_guard hold(mutex_);
      if (ending_) return;
      row.why_not = std::move(reason);
      changed_.notify_all();
    }
    const std::lock_guard hold(mutex_);
    done_ = true;
    changed_.notify_all();
  });
}

FittingMethods::~FittingMethods() {
  {
    const std::lock_guard hold(mutex_);
    ending_ = true;
  }
  thread_.join();
}

std::string FittingMethods::json(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return done_; });
  std::vector<std::string> rows;
  for (const Row& row : rows_) {
    JsonObject object;
    object.add("name", row.name);
    object.add("summary", row.summary);
    if (row.why_not)
      object.add("why_not", *row.why_not);
    else
      object.add_raw("why_not", "null");
    rows.push_back(object.line());
  }
  JsonObject object;
  object.add_raw("methods", json_list(rows));
  object.add("pending", !done_);
  return object.line();
}

LiveSubject::LiveSubject(Model model, std::string name, std::optional<PictureShape> picture,
                         std::size_t memory_limit_bytes, std::uint64_t seed, const RunControl& control)
    : model_(std::move(model)),
      name_(std::move(name)),
      shape_(picture ? picture : drover::picture_shape(model_)),
      memory_limit_bytes_(memory_limit_bytes),
      seed_(seed),
      control_(control) {}

LiveSubject::~LiveSubject() = default;

ExactNetwork* LiveSubject::exact(double seconds) {
  std::shared_future<std::unique_ptr<ExactNetwork>> plan;
  {
    const std::lock_guard hold(mutex_);
    if (!exact_.valid())
      exact_ = std::async(std::launch::async, [this] {
                 return std::make_unique<ExactNetwork>(model_, memory_limit_bytes_);
               }).share();
    plan = exact_;
  }
  if (plan.wait_for(std::chrono::duration<double>(seconds)) != std::future_status::ready) return nullptr;
  return plan.get().get();
}

SampledNetwork& LiveSubject::sampled() {
  const std::lock_guard hold(mutex_);
  if (!sampled_) sampled_ = std::make_unique<SampledNetwork>(model_, seed_, control_);
  return *sampled_;
}
LiveRun& LiveSubject::run() {
  const std::lock_guard hold(mutex_);
  if (!run_) run_ = std::make_unique<LiveRun>(model_);
  return *run_;
}
FittingMethods& LiveSubject::methods() {
  const std::lock_guard hold(mutex_);
  if (!methods_) methods_ = std::make_unique<FittingMethods>(model_);
  return *methods_;
}
LivePicture& LiveSubject::picture() {
  const std::lock_guard hold(mutex_);
  if (!shape_) throw Error(ErrorKind::usage, "this model is no picture");
  if (!picture_) picture_ = std::make_unique<LivePicture>(model_, *shape_, seed_);
  return *picture_;
}
const std::vector<Arc>& LiveSubject::arcs() {
  const std::lock_guard hold(mutex_);
  if (!arcs_) arcs_ = arcs_of(model_);
  return *arcs_;
}

}  // namespace drover
