// The live page of a model: what the browser may ask, and what it is told. Requests and answers are JSON; all
// names of the model travel as JSON strings and reach the page as text.
//
//   GET  /                    the page, its modules and style (web/live)
//   GET  /api/model           what is open: name, sizes, which views it has
//   GET  /api/find            ?text=T: variables whose name holds the text, with their states
//   GET  /api/network         boxes and arcs of the network; ?centre=V the neighbourhood of a variable
//   POST /api/marginals       {findings, variables, method, version} -> probabilities, log P(findings); where
//                             exact inference does not fit: estimates newer than the version, with standard errors
//   POST /api/best            {findings}            -> most probable state
//   POST /api/joint           {findings, variables} -> joint distribution
//   POST /api/information     {findings, target}    -> what to ask next
//   GET  /api/methods         the samplers, and why some do not fit
//   POST /api/run/start       {method, seed, findings}: a run, which all tabs watch
//   POST /api/run/pause, /api/run/continue, /api/run/stop
//   GET  /api/run/events      snapshots of the run as server-sent events
//   GET  /api/run/figures, /api/run/report, /api/run/draws.npz, /api/run/draws.csv: what it has to say so far
//   GET  /api/picture         ?after=VERSION: the next frame, whole (live_picture.hpp)
//   GET  /api/pictures        ?after=VERSION&mean=VERSION&across=PIXELS: frames for a second, as they are made
//   GET  /api/picture/seen    the noisy image, a byte per pixel
//   POST /api/picture/change  {temperature, field, method, seed, paused, clear, strokes}
//   POST /api/open            {example} -> another of the embedded examples
//
// findings: [[variable, [likelihood of every state]], ...].
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/core/run_control.hpp"
#include "drover/model/model.hpp"
#include "drover/serve/http_server.hpp"
#include "drover/serve/picture_shape.hpp"
#include "drover/task/inference.hpp"

namespace drover {

struct LiveOptions {
  /// What the model is called on the command line; empty: the embedded examples are shown.
  std::string input{};
  std::size_t memory_limit_bytes = std::size_t{1} << 30;
  double seconds_per_request = 20;
  std::uint64_t seed = 1;
  bool is_file = true;  ///< whether other commands can read the model from `input`
  /// How the model is looked at as a picture; unset: as picture_shape() sees it.
  std::optional<PictureShape> picture{};
  /// The noisy image that the model is to clean, a byte per pixel; may be empty.
  std::vector<std::uint8_t> seen{};
  /// A run as an HTML page (page_of() in drover/report, which need not be there); unset: none is offered.
  std::function<std::string(const Samples&)> report_samples{};
  std::function<std::string(const Marginals&, const Model&)> report_marginals{};
};

class LivePage {
 public:
  /// Adds its routes to the server, which must outlive it. `control` ends whatever is under way.
  LivePage(Model model, const LiveOptions& options, HttpServer& server, const RunControl& control);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

/// The first of the embedded examples.
Model live_example();

}  // namespace drover
