#include "drover/serve/live_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/json_writer.hpp"
#include "drover/methods/method.hpp"
#include "drover/serve/live_assets.hpp"
#include "drover/serve/live_questions.hpp"
#include "drover/serve/live_subject.hpp"
#include "drover/serve/network_outline.hpp"

namespace drover {

namespace {

using nlohmann::json;

/// Grids of so many pixels are first shown as pictures.
constexpr std::size_t picture_first = 100;

HttpAnswer answer(const JsonObject& object) {
  return {object.line()};
}

HttpAnswer nothing() {
  return {"{}"};
}

/// To be saved under this name.
HttpAnswer saved(std::string bytes, const std::string& type, const std::string& name) {
  return {std::move(bytes), type, 200, {{"Content-Disposition", "attachment; filename=\"" + name + "\""}}};
}

std::string file_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::uint64_t version_in(const HttpServer::Query& query, const char* name) {
  const auto found = query.find(name);
  if (found == query.end()) return 0;
  const std::string& text = found->second;
  if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string::npos)
    throw Error(ErrorKind::usage, std::string(name) + ": expected a whole number");
  return std::stoull(text);
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

class LivePage::Engine {
 public:
  Engine(Model model, const LiveOptions& options, HttpServer& server, const RunControl& control)
      : options_(options), control_(control) {
    const std::string name = options.input.empty() ? live_examples()[0].name : file_name(options.input);
    subject_ = std::make_shared<LiveSubject>(std::move(model), name, options.picture,
                                             options.memory_limit_bytes, options.seed, control);
    for (const LiveAsset& asset : live_assets())
      server.on_get(std::string(asset.path), [asset](const HttpServer::Query&) {
        return HttpAnswer{std::string(asset.bytes()), std::string(asset.type)};
      });
    server.on_get("/api/model", [this](const auto&) { return describe(); });
    server.on_get("/api/find", [this](const auto& query) { return find(query); });
    server.on_get("/api/network", [this](const auto& query) { return network(query); });
    server.on_get("/api/methods", [this](const auto&) { return HttpAnswer{subject()->methods().json(0.3)}; });
    const auto question = [&](const char* path, HttpAnswer (Engine::*ask)(const json&)) {
      server.on_post(path,
                     [this, ask](const std::string& body) { return (this->*ask)(parse_question(body)); });
    };
    question("/api/marginals", &Engine::marginals);
    question("/api/best", &Engine::best);
    question("/api/joint", &Engine::joint);
    question("/api/information", &Engine::information);
    question("/api/open", &Engine::open);
    add_run(server);
    question("/api/run/start", &Engine::start);
    add_picture(server);
  }

 private:
  std::shared_ptr<LiveSubject> subject() {
    const std::lock_guard hold(mutex_);
    return subject_;
  }

  HttpAnswer describe() {
    const auto open = subject();
    const Model& model = open->model();
    JsonObject object;
    object.add("name", open->name());
    object.add("file", options_.is_file ? options_.input : "");
    object.add("variables", model.variable_count());
    object.add("factors", model.factor_count());
    object.add("bayes", model.kind == ModelKind::bayes);
    std::vector<std::string> views;
    if (open->has_network()) views.emplace_back("network");
    views.emplace_back("run");
    if (const auto& shape = open->picture_shape()) {
      views.insert(shape->size() >= picture_first ? views.begin() : views.end(), "picture");
      JsonObject picture;
      picture.add("width", shape->width);
      picture.add("height", shape->height);
      picture.add("states", shape->states);
      picture.add("levels", shape->levels);
      picture.add("grid", shape->is_grid);
      picture.add("seen", !options_.seen.empty());
      object.add("picture", picture);
    }
    object.add("views", views);
    object.add("reports", static_cast<bool>(options_.report_samples));
    std::vector<std::string> choices;
    if (options_.input.empty())
      for (const LiveExample& example : live_examples()) choices.push_back(example.name);
    object.add("examples", choices);
    return answer(object);
  }

  HttpAnswer find(const HttpServer::Query& query) {
    constexpr std::size_t most = 20;
    const auto open = subject();
    const Model& model = open->model();
    const auto given = query.find("text");
    const std::string wanted = given == query.end() ? "" : lower(given->second);
    std::vector<VariableId> found;
    // The very name first, then those that begin with it, then those that hold it.
    for (int round = 0; round < 3 && found.size() < most && !wanted.empty(); ++round)
      for (VariableId v = 0; v < model.variable_count() && found.size() < most; ++v) {
        const std::string name = lower(model.variable_name(v));
        const int fits = name == wanted                           ? 0
                         : name.starts_with(wanted)               ? 1
                         : name.find(wanted) != std::string::npos ? 2
                                                                  : 3;
        if (fits == round) found.push_back(v);
      }
    std::vector<std::string> rows;
    for (VariableId v : found) {
      JsonObject row;
      row.add("id", v);
      row.add("name", model.variable_name(v));
      std::vector<std::string> states;
      for (std::uint32_t k = 0; k < model.cardinalities[v]; ++k)
        states.push_back(model.state_name(v, static_cast<Value>(k)));
      row.add("states", states);
      rows.push_back(row.line());
    }
    JsonObject object;
    object.add_raw("found", json_list(rows));
    return answer(object);
  }

  // ---- the network
  // ------------------------------------------------------------------------------------------

  HttpAnswer network(const HttpServer::Query& query) {
    const auto open = subject();
    std::optional<VariableId> centre;
    if (query.contains("centre")) {
      const std::uint64_t wanted = version_in(query, "centre");
      if (wanted >= open->model().variable_count())
        throw Error(ErrorKind::usage, "centre: there is no such variable");
      centre = static_cast<VariableId>(wanted);
    }
    if (!open->has_network()) throw Error(ErrorKind::usage, "the model is too large for this view");
    JsonObject object = network_outline(open->model(), open->arcs(), centre);
    open->exact(0);  // plans it meanwhile
    return answer(object);
  }

  /// The exact network when it is planned and fits; else null.
  static ExactNetwork* exact_or_null(LiveSubject& open) {
    constexpr double patience = 1.5;
    ExactNetwork* const exact = open.exact(patience);
    return exact != nullptr && exact->why_not().empty() ? exact : nullptr;
  }
  static std::string why_not_exact(LiveSubject& open) {
    const ExactNetwork* const exact = open.exact(0);
    return exact == nullptr ? "exact inference is still being planned" : exact->why_not();
  }

  HttpAnswer marginals(const json& question) {
    const auto open = subject();
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Finding> findings = findings_in(question);
    std::vector<VariableId> variables = variables_in(question);
    for (VariableId v : variables)
      if (v >= open->model().variable_count())
        throw Error(ErrorKind::usage, fmt::format("there is no variable {}", v));
    if (variables.empty())
      for (VariableId v = 0; v < open->model().variable_count(); ++v) variables.push_back(v);
    const auto rows = [&](const Distributions& all) {
      std::vector<std::string> list;
      for (VariableId v : variables) list.push_back(json_array(all[v]));
      return json_list(list);
    };
    const auto impossible = [&](const std::string& why) {  // no fault of the request: the page shows it
      JsonObject object;
      object.add("impossible", why);
      return answer(object);
    };
    JsonObject object;
    object.add("variables", variables);
    if (ExactNetwork* const exact = exact_or_null(*open)) {
      const RunControl limit(control_, options_.seconds_per_request);
      NetworkAnswer found;
      try {
        found = exact->marginals(findings, limit);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::bad_data) throw;
        return impossible(error.what());
      }
      const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
      object.add("log_evidence", found.log_evidence);
      object.add("exact", true);
      object.add("method", "exact (junction tree)");
      object.add("milliseconds", taken.count());
      object.add_raw("probabilities", rows(found.probabilities));
      return answer(object);
    }
    const std::uint64_t version = number_in(question, "version", 0);
    const auto found =
        open->sampled().marginals(findings, text_in(question, "method"), version, version == 0 ? 3 : 1);
    object.add("exact", false);
    object.add("why_not", why_not_exact(*open));
    if (!found) {
      object.add("version", version);
      return answer(object);
    }
    if (found->impossible) return impossible(found->failure);
    object.add("version", found->version);
    object.add("failure", found->failure);
    if (found->probabilities.size() == 0) throw Error(ErrorKind::misfit, found->failure);
    object.add("method", found->method);
    object.add("sweeps", found->sweeps);
    object.add("chains", found->chains);
    object.add("seconds", found->seconds);
    object.add("rhat_max", found->diagnostics.rhat_max);
    object.add("ess_min", found->diagnostics.ess_min);
    object.add("mcse_max", found->diagnostics.mcse_max);
    add_judgement(found->judgement, object);
    object.add_raw("probabilities", rows(found->probabilities));
    object.add_raw("mcse", rows(found->mcse));
    return answer(object);
  }

  /// For questions that are answered from scratch where exact inference does not fit: so long it may take.
  RunControl short_limit() const { return RunControl(control_, std::min(5.0, options_.seconds_per_request)); }

  HttpAnswer best(const json& question) {
    const auto open = subject();
    const std::vector<Finding> findings = findings_in(question);
    JsonObject object;
    if (ExactNetwork* const exact = exact_or_null(*open)) {
      const RunControl limit(control_, options_.seconds_per_request);
      const NetworkBest found = exact->best(findings, limit);
      object.add("assignment", found.assignment);
      object.add("log_probability", found.log_probability);
      object.add("optimal", true);
      return answer(object);
    }
    check_findings(open->model(), findings);
    InferenceOptions asked;
    asked.evidence = observations_of(findings);
    const RunControl limit = short_limit();
    const BestState found = best_state(open->model(), asked, limit);
    object.add("assignment", found.assignment);
    object.add("log_score", found.log_score);
    object.add("optimal", found.optimal);
    return answer(object);
  }

  HttpAnswer joint(const json& question) {
    const auto open = subject();
    const std::vector<VariableId> variables = variables_in(question);
    const std::vector<Finding> findings = findings_in(question);
    check_joint(open->model(), variables);
    JsonObject object;
    object.add("variables", variables);
    if (ExactNetwork* const exact = exact_or_null(*open)) {
      const RunControl limit(control_, options_.seconds_per_request);
      object.add("probabilities", exact->joint(findings, variables, limit));
      return answer(object);
    }
    check_findings(open->model(), findings);
    InferenceOptions asked;
    asked.evidence = observations_of(findings);
    asked.joint.emplace_back();
    for (VariableId v : variables) asked.joint[0].push_back(std::to_string(v));
    const RunControl limit = short_limit();
    const Marginals found = drover::marginals(open->model(), asked, limit);
    object.add("probabilities", found.joints.at(0).probabilities);
    object.add("mcse", found.joints.at(0).mcse);
    return answer(object);
  }

  HttpAnswer information(const json& question) {
    const auto open = subject();
    const RunControl limit(control_, options_.seconds_per_request);
    const auto target = question.find("target");
    if (target == question.end() || !target->is_number_unsigned())
      throw Error(ErrorKind::usage, "target: expected the number of a variable");
    ExactNetwork* const exact = exact_or_null(*open);
    if (exact == nullptr)
      throw Error(ErrorKind::misfit, "what to ask next needs exact answers: " + why_not_exact(*open));
    JsonObject object;
    object.add("information", exact->information(findings_in(question), target->get<VariableId>(), limit));
    return answer(object);
  }

  // ---- the run
  // ----------------------------------------------------------------------------------------------

  void add_run(HttpServer& server) {
    server.on_post("/api/run/pause", [this](const std::string&) {
      subject()->run().pause();
      return nothing();
    });
    server.on_post("/api/run/continue", [this](const std::string&) {
      subject()->run().go_on();
      return nothing();
    });
    server.on_post("/api/run/stop", [this](const std::string&) {
      subject()->run().stop();
      return nothing();
    });
    server.on_events("/api/run/events", [this](std::uint64_t version, double seconds) {
      return subject()->run().wait(version, seconds);
    });
    server.on_get("/api/run/figures", [this](const auto&) {
      return saved(subject()->run().wait(0, 0).text, HttpAnswer().type, "run.json");
    });
    server.on_get("/api/run/report", [this](const auto&) { return report(); });
    for (const char* kind : {".npz", ".csv"})
      server.on_get(std::string("/api/run/draws") + kind, [this, kind](const auto&) {
        return saved(subject()->run().draws_file(kind), "application/octet-stream",
                     std::string("draws") + kind);
      });
  }

  HttpAnswer report() {
    const auto open = subject();
    const auto said = open->run().answer();
    const std::string type = "text/html; charset=utf-8";
    if (const Samples* const samples = std::get_if<Samples>(&said); samples && options_.report_samples)
      return saved(options_.report_samples(*samples), type, "report.html");
    if (const Marginals* const found = std::get_if<Marginals>(&said); found && options_.report_marginals)
      return saved(options_.report_marginals(*found, open->model()), type, "report.html");
    throw Error(ErrorKind::usage, "there is nothing to report yet");
  }

  HttpAnswer start(const json& question) {
    const auto open = subject();
    InferenceOptions asked;
    asked.method = text_in(question, "method", "gibbs");
    asked.seed = number_in(question, "seed", options_.seed);
    method_named(asked.method);
    const std::vector<Finding> findings = findings_in(question);
    check_findings(open->model(), findings);
    asked.evidence = observations_of(findings);
    if (asked.method != "race") {
      asked.samples = 1'000'000'000'000;  // until it is stopped
      // Taking a draw of a large model costs as much as a sweep.
      asked.chains.thin = open->model().variable_count() > 20'000 ? 20 : 1;
    }
    asked.input = open->name();
    open->run().start(asked);
    return nothing();
  }

  // ---- the picture
  // ------------------------------------------------------------------------------------------

  void add_picture(HttpServer& server) {
    server.on_get("/api/picture", [this](const auto& query) {
      PictureView view{.version = version_in(query, "after")};
      std::string frame = subject()->picture().frame(view, 0.5);
      const std::string type = "application/octet-stream";
      return frame.empty() ? HttpAnswer{"", type, 204, {}} : HttpAnswer{std::move(frame), type};
    });
    // One answer brings several pictures: a request of its own would cost the browser more than showing one.
    // It ends after a second, so that a viewer who is slow is never further behind.
    server.on_stream("/api/pictures", [this](const auto& query) -> HttpServer::Parts {
      const auto across = std::min<std::uint64_t>(version_in(query, "across"), 1U << 20);
      const PictureView seen{version_in(query, "after"), version_in(query, "mean"),
                             static_cast<std::uint32_t>(across)};
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      const auto open = subject();
      open->picture();  // raises when there is none
      return [this, open, end, view = seen]() mutable -> std::optional<std::string> {
        if (std::chrono::steady_clock::now() >= end || open != subject()) return {};
        return open->picture().frame(view, 0.5);
      };
    });
    server.on_get("/api/picture/seen", [this](const auto&) {
      return HttpAnswer{std::string(options_.seen.begin(), options_.seen.end()), "application/octet-stream"};
    });
    server.on_post("/api/picture/change", [this](const std::string& body) {
      subject()->picture().change(picture_change_in(parse_question(body)));
      return nothing();
    });
  }

  HttpAnswer open(const json& question) {
    const std::string wanted = text_in(question, "example");
    const auto& all = live_examples();
    const auto chosen = std::ranges::find(all, wanted, &LiveExample::name);
    if (!options_.input.empty() || chosen == all.end())
      throw Error(ErrorKind::usage, "there is no such example");
    auto opened = std::make_shared<LiveSubject>(chosen->make(), chosen->name, std::nullopt,
                                                options_.memory_limit_bytes, options_.seed, control_);
    const std::lock_guard hold(mutex_);
    subject_.swap(opened);
    return nothing();
  }

  const LiveOptions options_;
  const RunControl& control_;
  std::mutex mutex_;
  std::shared_ptr<LiveSubject> subject_;
};

LivePage::LivePage(Model model, const LiveOptions& options, HttpServer& server, const RunControl& control)
    : engine_(std::make_unique<Engine>(std::move(model), options, server, control)) {}
LivePage::~LivePage() = default;

}  // namespace drover
