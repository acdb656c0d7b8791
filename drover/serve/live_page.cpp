#include "drover/serve/live_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/core/error.hpp"
#include "drover/core/json_text.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/draw/network.hpp"
#include "drover/io/bif.hpp"
#include "drover/io/text_source.hpp"
#include "drover/methods/method.hpp"
#include "drover/model/builders.hpp"
#include "drover/serve/exact_network.hpp"
#include "drover/serve/live_assets.hpp"
#include "drover/serve/live_run.hpp"

namespace drover {

namespace {

using nlohmann::json;

/// Larger networks are shown by neighbourhoods.
constexpr std::size_t whole_network = 500, neighbourhood = 120;
/// Still larger models have no view of their network.
constexpr std::size_t most_network = 20'000;

struct Example {
  std::string name;
  Model (*make)();
};

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {{"sprinkler", live_example},
                                           {"grid-6x6", [] { return grid_ising(6, 6, false, 0.4, 0.1); }}};
  return all;
}

/// What is open. Found out when it is first asked for, and kept.
class Subject {
 public:
  Subject(Model model, std::string name, const LiveOptions& options)
      : model_(std::move(model)), name_(std::move(name)), options_(options) {}

  const Model& model() const { return model_; }
  const std::string& name() const { return name_; }
  ExactNetwork& exact() {
    const std::lock_guard hold(mutex_);
    if (!exact_) exact_ = std::make_unique<ExactNetwork>(model_, options_.memory_limit_bytes);
    return *exact_;
  }
  LiveRun& run() {
    const std::lock_guard hold(mutex_);
    if (!run_) run_ = std::make_unique<LiveRun>(model_);
    return *run_;
  }
  const Problem& problem() {
    const std::lock_guard hold(mutex_);
    if (!problem_) problem_ = std::make_unique<Problem>(compile(model_), InferenceOptions{});
    return *problem_;
  }
  const std::vector<Arc>& arcs() {
    const std::lock_guard hold(mutex_);
    if (!arcs_) arcs_ = arcs_of(model_);
    return *arcs_;
  }

 private:
  const Model model_;
  const std::string name_;
  const LiveOptions options_;
  std::mutex mutex_;
  std::unique_ptr<ExactNetwork> exact_;
  std::optional<std::vector<Arc>> arcs_;
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<LiveRun> run_;
};

/// The variables nearest to one of them along arcs, at most so many, in order.
std::vector<VariableId> around(VariableId centre, std::span<const Arc> arcs, std::size_t size,
                               std::size_t most) {
  std::vector<std::vector<VariableId>> near(size);
  for (const Arc& arc : arcs) {
    near[arc.from].push_back(arc.to);
    near[arc.to].push_back(arc.from);
  }
  std::vector<VariableId> met{centre};
  std::vector<char> seen(size);
  seen[centre] = 1;
  for (std::size_t next = 0; next < met.size() && met.size() < most; ++next)
    for (VariableId v : near[met[next]])
      if (!seen[v] && met.size() < most) {
        seen[v] = 1;
        met.push_back(v);
      }
  std::ranges::sort(met);
  return met;
}

json parse(const std::string& body) {
  json question = json::parse(body, nullptr, false);
  if (!question.is_object()) throw Error(ErrorKind::usage, "a request is a JSON object");
  return question;
}

std::vector<Finding> findings_in(const json& question) {
  std::vector<Finding> findings;
  const auto list = question.find("findings");
  if (list == question.end()) return findings;
  if (!list->is_array())
    throw Error(ErrorKind::usage, "findings: expected [[variable, [likelihood, ...]], ...]");
  for (const json& one : *list) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_unsigned() || !one[1].is_array())
      throw Error(ErrorKind::usage, "findings: expected [[variable, [likelihood, ...]], ...]");
    Finding finding{one[0].get<VariableId>(), {}};
    for (const json& value : one[1]) {
      if (!value.is_number()) throw Error(ErrorKind::usage, "findings: a likelihood is a number");
      finding.likelihood.push_back(value.get<double>());
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<VariableId> variables_in(const json& question) {
  std::vector<VariableId> variables;
  const auto list = question.find("variables");
  if (list == question.end()) return variables;
  if (!list->is_array()) throw Error(ErrorKind::usage, "variables: expected a list of numbers");
  for (const json& one : *list) {
    if (!one.is_number_unsigned()) throw Error(ErrorKind::usage, "variables: expected a list of numbers");
    variables.push_back(one.get<VariableId>());
  }
  return variables;
}

HttpAnswer answer(const JsonObject& object) {
  return {object.line()};
}

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

Model live_example() {
  TextSource source(live_example_text(), "sprinkler.bif");
  return read_bif(source);
}

class LivePage::Engine {
 public:
  Engine(Model model, const LiveOptions& options, HttpServer& server, const RunControl& control)
      : options_(options), control_(control) {
    const std::string name = options.input.empty() ? examples()[0].name : file_name(options.input);
    subject_ = std::make_shared<Subject>(std::move(model), name, options);
    for (const LiveAsset& asset : live_assets())
      server.on_get(std::string(asset.path), [asset](const HttpServer::Query&) {
        return HttpAnswer{std::string(asset.bytes()), std::string(asset.type)};
      });
    server.on_get("/api/model", [this](const auto&) { return describe(); });
    server.on_get("/api/names", [this](const auto&) { return names(); });
    server.on_get("/api/network", [this](const auto& query) { return network(query); });
    server.on_post("/api/marginals", [this](const std::string& body) { return marginals(parse(body)); });
    server.on_post("/api/best", [this](const std::string& body) { return best(parse(body)); });
    server.on_post("/api/joint", [this](const std::string& body) { return joint(parse(body)); });
    server.on_post("/api/information", [this](const std::string& body) { return information(parse(body)); });
    server.on_get("/api/methods", [this](const auto&) { return methods(); });
    server.on_post("/api/run/start", [this](const std::string& body) { return start(parse(body)); });
    server.on_post("/api/run/pause", [this](const std::string&) {
      subject()->run().pause();
      return HttpAnswer{"{}"};
    });
    server.on_post("/api/run/continue", [this](const std::string&) {
      subject()->run().go_on();
      return HttpAnswer{"{}"};
    });
    server.on_post("/api/run/stop", [this](const std::string&) {
      subject()->run().stop();
      return HttpAnswer{"{}"};
    });
    server.on_events("/api/run/events", [this](std::uint64_t version, double seconds) {
      return subject()->run().wait(version, seconds);
    });
    server.on_get("/api/run/report",
                  [this](const auto&) { return HttpAnswer{subject()->run().wait(0, 0).text}; });
    server.on_post("/api/open", [this](const std::string& body) { return open(parse(body)); });
  }

 private:
  std::shared_ptr<Subject> subject() {
    const std::lock_guard hold(mutex_);
    return subject_;
  }

  HttpAnswer describe() {
    const auto open = subject();
    JsonObject object;
    object.add("name", open->name());
    object.add("input", options_.input.empty() ? open->name() : options_.input);
    object.add("variables", open->model().variable_count());
    object.add("factors", open->model().factor_count());
    object.add("bayes", open->model().kind == ModelKind::bayes);
    std::vector<std::string> views;
    if (open->model().variable_count() <= most_network) views.push_back("network");
    views.push_back("run");
    object.add("views", views);
    std::vector<std::string> choices;
    if (options_.input.empty())
      for (const Example& example : examples()) choices.push_back(example.name);
    object.add("examples", choices);
    return answer(object);
  }

  HttpAnswer names() {
    const auto open = subject();
    std::vector<std::string> all;
    for (VariableId v = 0; v < open->model().variable_count(); ++v)
      all.push_back(open->model().variable_name(v));
    JsonObject object;
    object.add("names", all);
    return answer(object);
  }

  HttpAnswer network(const HttpServer::Query& query) {
    const auto open = subject();
    const Model& model = open->model();
    const std::vector<Arc>& arcs = open->arcs();
    std::vector<VariableId> shown;
    if (model.variable_count() <= whole_network) {
      for (VariableId v = 0; v < model.variable_count(); ++v) shown.push_back(v);
    } else {
      const auto centre = query.find("centre");
      VariableId middle = 0;
      if (centre != query.end()) {
        const std::string& text = centre->second;
        if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
          throw Error(ErrorKind::usage, "centre: expected the number of a variable");
        middle = static_cast<VariableId>(std::stoul(text));
        if (middle >= model.variable_count())
          throw Error(ErrorKind::usage, "centre: there is no such variable");
      }
      shown = around(middle, arcs, model.variable_count(), neighbourhood);
    }
    std::vector<NodeSize> boxes;
    std::vector<Arc> inside;
    for (VariableId v : shown) boxes.push_back(box_size(model.cardinalities[v]));
    const auto place = [&](VariableId v) { return std::ranges::lower_bound(shown, v) - shown.begin(); };
    for (const Arc& arc : arcs)
      if (std::ranges::binary_search(shown, arc.from) && std::ranges::binary_search(shown, arc.to))
        inside.push_back(
            {static_cast<std::uint32_t>(place(arc.from)), static_cast<std::uint32_t>(place(arc.to))});
    const LayeredLayout layout = layered_layout(boxes, inside);
    std::vector<std::string> nodes, lines;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      JsonObject node;
      node.add("id", shown[i]);
      node.add("name", model.variable_name(shown[i]));
      std::vector<std::string> states;
      for (std::uint32_t k = 0; k < model.cardinalities[shown[i]]; ++k)
        states.push_back(model.state_name(shown[i], static_cast<Value>(k)));
      node.add("states", states);
      node.add("x", layout.corners[i].x);
      node.add("y", layout.corners[i].y);
      node.add("height", boxes[i].height);
      nodes.push_back(node.line());
    }
    for (std::size_t a = 0; a < inside.size(); ++a) {
      JsonObject line;
      line.add("from", shown[inside[a].from]);
      line.add("to", shown[inside[a].to]);
      line.add("d", arc_curve(layout.paths[a]));
      lines.push_back(line.line());
    }
    const BoxShape box;
    JsonObject size;
    size.add("width", box.width);
    size.add("head", box.head);
    size.add("row", box.row);
    size.add("bar_begin", box.bar_begin);
    size.add("bar_end", box.bar_end);
    size.add("inset", box.inset);
    size.add("max_rows", network_max_rows);
    JsonObject object;
    object.add("directed", model.kind == ModelKind::bayes);
    object.add("whole", shown.size() == model.variable_count());
    object.add("width", layout.width);
    object.add("height", layout.height);
    object.add("shape", size);
    object.add_raw("nodes", json_list(nodes));
    object.add_raw("arcs", json_list(lines));
    object.add("why_not", open->exact().why_not());
    return answer(object);
  }

  HttpAnswer marginals(const json& question) {
    const auto open = subject();
    const auto start = std::chrono::steady_clock::now();
    const RunControl limit(control_, options_.seconds_per_request);
    NetworkAnswer found;
    try {
      found = open->exact().marginals(findings_in(question), limit);
    } catch (const Error& error) {  // no fault of the request: the page shows it
      if (error.kind() != ErrorKind::bad_data) throw;
      JsonObject object;
      object.add("impossible", error.what());
      return answer(object);
    }
    std::vector<VariableId> variables = variables_in(question);
    if (variables.empty())
      for (VariableId v = 0; v < open->model().variable_count(); ++v) variables.push_back(v);
    std::vector<std::string> rows;
    for (VariableId v : variables) {
      if (v >= open->model().variable_count())
        throw Error(ErrorKind::usage, fmt::format("there is no variable {}", v));
      rows.push_back(json_array(found.probabilities[v]));
    }
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    JsonObject object;
    object.add("log_evidence", found.log_evidence);
    object.add("exact", true);
    object.add("method", "exact (junction tree)");
    object.add("milliseconds", taken.count());
    object.add("variables", variables);
    object.add_raw("probabilities", json_list(rows));
    return answer(object);
  }

  HttpAnswer best(const json& question) {
    const RunControl limit(control_, options_.seconds_per_request);
    const NetworkBest found = subject()->exact().best(findings_in(question), limit);
    JsonObject object;
    object.add("assignment", found.assignment);
    object.add("log_probability", found.log_probability);
    return answer(object);
  }

  HttpAnswer joint(const json& question) {
    const RunControl limit(control_, options_.seconds_per_request);
    const std::vector<VariableId> variables = variables_in(question);
    JsonObject object;
    object.add("variables", variables);
    object.add("probabilities", subject()->exact().joint(findings_in(question), variables, limit));
    return answer(object);
  }

  HttpAnswer information(const json& question) {
    const RunControl limit(control_, options_.seconds_per_request);
    const auto target = question.find("target");
    if (target == question.end() || !target->is_number_unsigned())
      throw Error(ErrorKind::usage, "target: expected the number of a variable");
    JsonObject object;
    object.add("information",
               subject()->exact().information(findings_in(question), target->get<VariableId>(), limit));
    return answer(object);
  }

  HttpAnswer methods() {
    const auto open = subject();
    const Problem& problem = open->problem();
    std::vector<std::string> rows;
    for (const Method& method : all_methods()) {
      if (!method.does(Task::sample)) continue;
      JsonObject row;
      row.add("name", method.name);
      row.add("summary", method.summary);
      row.add("why_not", why_not(method, problem, Task::sample));
      rows.push_back(row.line());
    }
    JsonObject object;
    object.add_raw("methods", json_list(rows));
    object.add("chosen", "gibbs");
    return answer(object);
  }

  HttpAnswer start(const json& question) {
    const auto open = subject();
    InferenceOptions asked;
    const auto method = question.find("method"), seed = question.find("seed");
    asked.method = method != question.end() && method->is_string() ? method->get<std::string>() : "gibbs";
    asked.seed =
        seed != question.end() && seed->is_number_unsigned() ? seed->get<std::uint64_t>() : options_.seed;
    method_named(asked.method);
    for (const Finding& finding : findings_in(question)) {
      const auto seen = std::ranges::find_if(finding.likelihood, [](double l) { return l > 0; });
      if (std::ranges::count_if(finding.likelihood, [](double l) { return l > 0; }) != 1)
        throw Error(ErrorKind::usage, "a run takes observed states only, no soft evidence");
      asked.evidence.add(finding.variable, static_cast<Value>(seen - finding.likelihood.begin()));
    }
    asked.samples = 1'000'000'000'000;  // until it is stopped
    // Taking a draw of a large model costs as much as a sweep.
    asked.chains.thin = open->model().variable_count() > 20'000 ? 20 : 1;
    asked.input = open->name();
    open->run().start(asked);
    return {"{}"};
  }

  HttpAnswer open(const json& question) {
    const std::string wanted =
        question.value("example", json("")).is_string() ? question.value("example", "") : "";
    const auto& all = examples();
    const auto chosen = std::ranges::find(all, wanted, &Example::name);
    if (!options_.input.empty() || chosen == all.end())
      throw Error(ErrorKind::usage, "there is no such example");
    auto opened = std::make_shared<Subject>(chosen->make(), chosen->name, options_);
    const std::lock_guard hold(mutex_);
    subject_ = std::move(opened);
    return {"{}"};
  }

  const LiveOptions options_;
  const RunControl& control_;
  std::mutex mutex_;
  std::shared_ptr<Subject> subject_;
};

LivePage::LivePage(Model model, const LiveOptions& options, HttpServer& server, const RunControl& control)
    : engine_(std::make_unique<Engine>(std::move(model), options, server, control)) {}
LivePage::~LivePage() = default;

}  // namespace drover
