// drover serve: the live page of a model, until Ctrl-C.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "app/commands.hpp"
#include "app/progress.hpp"
#include "drover/core/error.hpp"
#ifdef DROVER_SERVE
#include "drover/io/model_file.hpp"
#include "drover/serve/live_page.hpp"
#endif

namespace drover::app {

namespace {

struct ServeOptions {
  std::optional<std::uint32_t> port;
  std::string host = "127.0.0.1";
  bool no_open = false;
  double memory_limit = 1;
  Limits limits;
};

#ifdef DROVER_SERVE

/// Whether a person could see a browser here.
bool has_screen() {
  return isatty(STDOUT_FILENO) != 0 &&
         (std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr);
}

void open_browser(const std::string& address) {
  const pid_t child = fork();
  if (child != 0) {
    if (child > 0) waitpid(child, nullptr, 0);
    return;
  }
  if (fork() == 0) {  // whose parent ends at once: nobody waits for the browser
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
    _exit(127);
  }
  _exit(0);
}

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

int run(const Call& call, const ServeOptions& asked) {
  apply(asked.limits);
  LiveOptions options;
  options.memory_limit_bytes = static_cast<std::size_t>(asked.memory_limit * 0x1p30);
  if (!call.arguments.empty()) options.input = call.arguments[0];
  HttpServer server({.host = asked.host, .port = static_cast<std::uint16_t>(asked.port.value_or(0))});
  Model model = options.input.empty() ? live_example() : read_model(options.input);
  const LivePage page(std::move(model), options, server, run_control());
  server.on_new_address([](const std::string& address) { say("For another browser: " + address); });
  const std::string address = server.address();
  expect_result();  // from here on a signal ends the page in good order
  say("drover serves " + (options.input.empty() ? std::string("its examples") : options.input) + " at " +
      address);
  say("Ctrl-C ends it.");
  if (!asked.no_open && has_screen()) open_browser(address);

  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  std::thread serving([&] {
    server.run();
    ended.set_value();
  });
  while (!run_control().should_stop() &&
         end.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    continue;
  server.stop();
  // A client that does not read cannot keep the program from ending.
  if (end.wait_for(std::chrono::milliseconds(400)) != std::future_status::ready) std::_Exit(0);
  serving.join();
  return 0;
}

#else

int run(const Call&, const ServeOptions&) {
  throw Error(ErrorKind::misfit,
              "this drover was built without the live page, which needs cpp-httplib (libcpp-httplib-dev)");
}

#endif

}  // namespace

Command serve_command() {
  auto options = std::make_shared<ServeOptions>();
  Command command{
      "serve",
      "the live page: a network that answers clicks, a sampler that is watched",
      {{"MODEL", "a model file, any format, plain or gzip; without it, embedded examples", false, true}},
      "drover serve models/sprinkler.bif",
      {},
      [options](const Call& call) { return run(call, *options); }};
  command.options.add("port", "N", "listen on this port", options->port, {1, 65535}, "any that is free");
  command.options.add(
      "host", "NAME",
      "listen on this interface; on any but the loopback one the page can be reached over the network, "
      "by whoever has the address, unencrypted",
      options->host);
  command.options.add("no-open", "print the address and open no browser", options->no_open);
  command.options.add("memory-limit", "GIGABYTES",
                      "refuse exact answers that would need more memory than this", options->memory_limit,
                      {1e-3, 1e6});
  describe_threads(command.options, options->limits);
  return command;
}

}  // namespace drover::app
