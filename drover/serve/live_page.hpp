// The live page of a model: what the browser may ask, and what it is told. Requests and answers are JSON; all
// names of the model travel as JSON strings and reach the page as text.
//
//   GET  /                    the page, its modules and style (web/live)
//   GET  /api/model           what is open: name, sizes, which views it has
//   GET  /api/network         boxes and arcs of the network; ?centre=V the neighbourhood of a variable
//   GET  /api/names           all names, to search
//   POST /api/marginals       {findings}            -> probabilities, log P(findings)
//   POST /api/best            {findings}            -> most probable state
//   POST /api/joint           {findings, variables} -> joint distribution
//   POST /api/information     {findings, target}    -> what to ask next
//   GET  /api/methods         the samplers, and why some do not fit
//   POST /api/run/start       {method, seed, findings}: a run, which all tabs watch; findings are observed
//   states POST /api/run/pause, /api/run/continue, /api/run/stop GET  /api/run/events      snapshots of the
//   run as server-sent events; /api/run/report the last one POST /api/open            {example} -> another of
//   the embedded examples
//
// findings: [[variable, [likelihood of every state]], ...].
#pragma once

#include <memory>
#include <string>

#include "drover/core/run_control.hpp"
#include "drover/model/model.hpp"
#include "drover/serve/http_server.hpp"

namespace drover {

struct LiveOptions {
  std::string
      input;  ///< what the model is called on the command line; empty: the embedded examples are shown
  std::size_t memory_limit_bytes = std::size_t{1} << 30;
  double seconds_per_request = 20;
  std::uint64_t seed = 1;
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
