// drover serve: the live page of a model, until Ctrl-C.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "drover/io/evidence.hpp"
#include "drover/io/model_file.hpp"
#include "drover/report/pages.hpp"
#include "drover/serve/live_page.hpp"
#include "drover/task/denoise.hpp"
#endif

namespace drover::app {

namespace {

struct ServeOptions {
  std::optional<std::uint32_t> port;
  std::string host = "127.0.0.1";
  bool no_open = false;
  std::string names;
  std::uint32_t levels = 2;
  double noise = 0;
  std::string picture;
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

bool is_image(const std::string& path) {
  return std::ranges::any_of(std::array{".png", ".pbm", ".pgm", ".jpg", ".jpeg", ".tif", ".tiff"},
                             [&](const char* ending) { return path.ends_with(ending); });
}

/// The model that cleans an image; the image is shown beside it.
Model model_of_image(const ServeOptions& asked, LiveOptions& options) {
  DenoiseOptions how{.levels = asked.levels, .noise = asked.noise};
  how.inference.seed = options.seed;
  ImageModel image = image_model(read_image(options.input, run_control()), how);
  for (double value : image.noisy.values)
    options.seen.push_back(static_cast<std::uint8_t>(std::clamp(127.5 * (value + 1), 0.0, 255.0)));
  options.picture = PictureShape{true, image.noisy.width, image.noisy.height, asked.levels};
  return std::move(image.model);
}

/// "28x28".
PictureShape shape_named(const std::string& text, const Model& model) {
  std::size_t width = 0, height = 0;
  char end = 0;
  if (std::sscanf(text.c_str(), "%5zux%5zu%c", &width, &height, &end) != 2)
    throw OptionError("picture", text, "a width and a height, as in 28x28");
  return sheet_shape(model, width, height);
}

int run_serve(const Call& call, const ServeOptions& asked) {
  apply(asked.limits);
  LiveOptions options;
  options.memory_limit_bytes = static_cast<std::size_t>(asked.memory_limit * 0x1p30);
  if (!call.arguments.empty()) options.input = call.arguments[0];
  options.is_file = !is_image(options.input);
  options.report_samples = [](const Samples& answer) { return page_of(answer, to_json(answer).text()); };
  options.report_marginals = [](const Marginals& answer, const Model& model) {
    return page_of(answer, model, to_json(answer).text());
  };
  HttpServer server({.host = asked.host,
                     .port = static_cast<std::uint16_t>(asked.port.value_or(0)),
                     .names = split_names(asked.names)});
  Model model = options.input.empty()     ? live_example()
                : is_image(options.input) ? model_of_image(asked, options)
                                          : read_model(options.input, run_control());
  if (!asked.picture.empty()) options.picture = shape_named(asked.picture, model);
  auto page = std::make_unique<LivePage>(std::move(model), options, server, run_control());
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
    page.reset();
    ended.set_value();
  });
  while (!run_control().should_stop() &&
         end.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    continue;
  server.stop();
  // Neither a client that does not read nor a plan that is being made can keep the program from ending.
  if (end.wait_for(std::chrono::milliseconds(400)) != std::future_status::ready) std::_Exit(0);
  serving.join();
  return 0;
}

#else

int run_serve(const Call&, const ServeOptions&) {
  throw Error(ErrorKind::misfit,
              "this drover was built without the live page, which needs cpp-httplib (libcpp-httplib-dev)");
}

#endif

}  // namespace

Command serve_command() {
  auto options = std::make_shared<ServeOptions>();
  Command command{
      "serve",
      "the live page: a network that answers clicks, a sampler that is watched, a picture to paint on",
      {{"MODEL",
        "a model file, any format, plain or gzip; or an image to clean (.png, .jpg, .tif, .pbm, .pgm); "
        "without it, "
        "embedded examples",
        false, true}},
      "drover serve models/sprinkler.bif",
      {},
      [options](const Call& call) { return run_serve(call, *options); }};
  command.options.add("port", "N", "listen on this port", options->port, {1, 65535}, "any that is free");
  command.options.add("host", "NAME",
                      "listen on this interface, 0.0.0.0: on all; on any but the loopback one the page can "
                      "be reached over the "
                      "network, by whoever has the address with its token, unencrypted",
                      options->host);
  command.options.add(
      "allow-host", "NAMES",
      "further names, with commas between, that browsers may call this machine by, as behind a proxy",
      options->names);
  command.options.add("no-open", "print the address and open no browser", options->no_open);
  command.options.add("levels", "N", "an image: grey levels of the clean one; 2 is black and white",
                      options->levels, {2, 64});
  command.options.add("noise", "X", "an image: first add noise of this standard deviation", options->noise,
                      {0, 1000});
  command.options.add("picture", "WIDTHxHEIGHT",
                      "look at the first variables of the model as an image of this size", options->picture);
  command.options.add("memory-limit", "GIGABYTES",
                      "refuse exact answers that would need more memory than this", options->memory_limit,
                      {1e-3, 1e6});
  describe_threads(command.options, options->limits);
  return command;
}

}  // namespace drover::app
