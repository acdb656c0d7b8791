// The live page of a model (drover/serve) inside this process, for Model.explore(). Its threads never touch
// Python.
#include <pybind11/pybind11.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "data.hpp"
#include "drover/core/error.hpp"
#include "python_run.hpp"
#include "stated_model.hpp"
#ifdef DROVER_SERVE
#include "drover/serve/http_server.hpp"
#include "drover/serve/live_page.hpp"
#endif

namespace drover::python {

#ifdef DROVER_SERVE

namespace {

class LiveServer {
 public:
  LiveServer(const StatedModel& model, std::uint16_t port) : state_(std::make_shared<State>(*model, port)) {
    fail_after_fork();
    std::promise<void> ended;
    end_ = ended.get_future();
    serving_ = std::thread([state = state_, ended = std::move(ended)]() mutable {
      state->server.run();
      ended.set_value();
    });
    state_->server.wait_until_serving();
  }
  ~LiveServer() { stop(); }
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  std::string address() const { return state_->server.address(); }
  bool running() const { return serving_.joinable(); }

  void stop() {
    if (!serving_.joinable()) return;
    const py::gil_scoped_release release;
    state_->control.request_stop();
    state_->server.stop();
    // A client that does not read cannot keep Python from ending: the thread keeps what it uses.
    if (end_.wait_for(std::chrono::seconds(1)) == std::future_status::ready)
      serving_.join();
    else
      serving_.detach();
  }

 private:
  struct State {
    State(const NamedModel& named, std::uint16_t port)
        : server({.port = port, .framed_by_loopback = true}),
          page(named.model,
               {.input = named.source.empty() ? "the model" : named.source, .is_file = !named.source.empty()},
               server, control) {}
    RunControl control;
    HttpServer server;
    LivePage page;
  };

  std::shared_ptr<State> state_;
  std::future<void> end_;
  std::thread serving_;
};

}  // namespace

void bind_live(py::module_& module) {
  py::class_<LiveServer>(module, "_LiveServer")
      .def(py::init([](const StatedModel& model, std::uint16_t port) {
             const StatedModel shared = model;
             const py::gil_scoped_release release;
             return std::make_unique<LiveServer>(shared, port);
           }),
           py::arg("model"), py::arg("port"))
      .def("stop", &LiveServer::stop)
      .def_property_readonly("address", &LiveServer::address)
      .def_property_readonly("running", &LiveServer::running);
}

#else

void bind_live(py::module_& module) {
  module.attr("_LiveServer") = py::none();
}

#endif

}  // namespace drover::python
