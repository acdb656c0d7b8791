// Debian's Chromium, driven by the DevTools protocol over a pipe: JSON messages that end with a zero byte.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace drover::testing {

/// The command that starts it, empty where it is not installed. The form that never shows a window starts in a third of
/// the time and paints for half as much.
inline const std::string& chromium_command() {
  static const std::string found = [] {
    for (const char* name : {"chromium-headless-shell", "chromium"})
      if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0)
        return std::string(name);
    return std::string();
  }();
  return found;
}

inline bool has_chromium() {
  return !chromium_command().empty();
}

constexpr const char* no_chromium =
    "Chromium is not installed (Debian: apt-get install chromium-headless-shell)";

class Chromium {
 public:
  using json = nlohmann::json;

  /// `width` and `height` of the page, which is dark on request.
  Chromium(int width, int height, bool dark) {
    std::string name = (std::filesystem::temp_directory_path() / "drover-chromium-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ == 0) {
      setpgid(0, 0);
      // Descriptors 3 and 4 are the protocol's; first out of their way.
      const int read_end = fcntl(in[0], F_DUPFD, 10), write_end = fcntl(out[1], F_DUPFD, 10);
      dup2(read_end, 3);
      dup2(write_end, 4);
      const int nothing = ::open("/dev/null", O_RDWR);
      for (int stream : {0, 1, 2}) dup2(nothing, stream);
      const std::string profile = "--user-data-dir=" + folder_.string();
      const std::string size = "--window-size=" + std::to_string(width) + "," + std::to_string(height);
      const char* command = chromium_command().c_str();
      execlp(command, command, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--no-first-run", "--remote-debugging-pipe", profile.c_str(), size.c_str(), "about:blank",
             nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    write_ = in[1];
    read_ = out[0];
    const json targets = call("Target.getTargets", {}, false)["targetInfos"];
    for (const json& target : targets)
      if (target["type"] == "page") attach(target["targetId"]);
    resize(width, height);
    set_dark(dark);
  }
  ~Chromium() {
    close(write_);
    close(read_);
    kill(-child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Chromium(const Chromium&) = delete;
  Chromium& operator=(const Chromium&) = delete;

  json call(const std::string& method, const json& parameters = json::object(), bool in_page = true) {
    json message = {
        {"id", ++last_}, {"method", method}, {"params", parameters.is_null() ? json::object() : parameters}};
    if (in_page) message["sessionId"] = session_;
    const std::string text = message.dump();
    if (write(write_, text.c_str(), text.size() + 1) < 0) throw std::runtime_error("chromium has gone");
    for (;;) {
      const json said = next();
      if (said.value("id", 0) == last_) {
        if (said.contains("error")) throw std::runtime_error(method + ": " + said["error"].dump());
        return said["result"];
      }
      note(said);
    }
  }

  /// Another tab, which everything speaks to from now on; shares cookies with the others. Returns its number,
  /// the first one's being 0.
  std::size_t new_tab(int width, int height) {
    attach(call("Target.createTarget", {{"url", "about:blank"}}, false)["targetId"]);
    resize(width, height);
    return sessions_.size() - 1;
  }
  void use_tab(std::size_t tab) { session_ = sessions_.at(tab); }
  void resize(int width, int height) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
  }
  void set_dark(bool dark) {
    call("Emulation.setEmulatedMedia",
         {{"features", {{{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}}}}});
  }
  /// Cuts the network off, or joins it again.
  void set_offline(bool offline) {
    call("Network.enable");
    call("Network.emulateNetworkConditions",
         {{"offline", offline}, {"latency", 0}, {"downloadThroughput", -1}, {"uploadThroughput", -1}});
  }
  /// Bytes of the page's scripts and the number of its nodes, once what is not used has gone.
  std::pair<double, double> memory() {
    call("HeapProfiler.enable");
    call("HeapProfiler.collectGarbage");
    call("Performance.enable");
    double bytes = 0, nodes = 0;
    const json said = call("Performance.getMetrics");
    for (const json& metric : said["metrics"]) {
      if (metric["name"] == "JSHeapUsedSize") bytes = metric["value"];
      if (metric["name"] == "Nodes") nodes = metric["value"];
    }
    return {bytes, nodes};
  }

  /// Whatever is saved goes into this folder.
  void save_to(const std::filesystem::path& folder) {
    call("Browser.setDownloadBehavior", {{"behavior", "allow"}, {"downloadPath", folder.string()}}, false);
  }

  void open(const std::string& address) { call("Page.navigate", {{"url", address}}); }
  /// The value of an expression, promises awaited.
  json run(const std::string& script) {
    const json result =
        call("Runtime.evaluate", {{"expression", script}, {"awaitPromise", true}, {"returnByValue", true}});
    if (result.contains("exceptionDetails"))
      throw std::runtime_error(script + ": " + result["exceptionDetails"].dump());
    return result["result"].value("value", json());
  }
  /// Until the expression is true: looked at in the page, a frame at a time.
  bool wait_for(const std::string& condition) {
    return run("new Promise((resolve) => { const begin = Date.now(); const look = () => { let yes = false; "
               "try { yes = (" +
               condition +
               "); } catch {} if (yes) resolve(true); else if (Date.now() - begin > 60000) resolve(false); "
               "else setTimeout(look, 10); }; look(); })") == true;
  }
  void click(double x, double y) {
    for (const char* type : {"mousePressed", "mouseReleased"})
      call("Input.dispatchMouseEvent",
           {{"type", type}, {"x", x}, {"y", y}, {"button", "left"}, {"clickCount", 1}});
  }
  void drag(double x1, double y1, double x2, double y2) {
    call("Input.dispatchMouseEvent",
         {{"type", "mousePressed"}, {"x", x1}, {"y", y1}, {"button", "left"}, {"clickCount", 1}});
    for (int step = 1; step <= 4; ++step)
      call("Input.dispatchMouseEvent", {{"type", "mouseMoved"},
                                        {"x", x1 + (x2 - x1) * step / 4},
                                        {"y", y1 + (y2 - y1) * step / 4},
                                        {"button", "left"},
                                        {"buttons", 1}});
    call("Input.dispatchMouseEvent",
         {{"type", "mouseReleased"}, {"x", x2}, {"y", y2}, {"button", "left"}, {"clickCount", 1}});
  }
  void press(const std::string& key, const std::string& code, int number, const std::string& text = "") {
    json down = {{"type", text.empty() ? "rawKeyDown" : "keyDown"},
                 {"key", key},
                 {"code", code},
                 {"windowsVirtualKeyCode", number}};
    if (!text.empty()) down["text"] = text;
    call("Input.dispatchKeyEvent", down);
    call("Input.dispatchKeyEvent",
         {{"type", "keyUp"}, {"key", key}, {"code", code}, {"windowsVirtualKeyCode", number}});
  }
  /// As a PNG file.
  void picture(const std::filesystem::path& file) {
    const std::string text = call("Page.captureScreenshot", {{"format", "png"}})["data"];
    std::string bytes;
    unsigned word = 0;
    int bits = 0;
    for (char c : text) {
      const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                        : c >= 'a' && c <= 'z' ? c - 'a' + 26
                        : c >= '0' && c <= '9' ? c - '0' + 52
                        : c == '+'             ? 62
                        : c == '/'             ? 63
                                               : -1;
      if (digit < 0) break;
      word = word << 6 | static_cast<unsigned>(digit);
      bits += 6;
      if (bits >= 8) bytes += static_cast<char>(word >> (bits -= 8) & 255);
    }
    std::ofstream(file, std::ios::binary) << bytes;
  }
  /// What the console, the policy and uncaught errors said so far.
  const std::vector<std::string>& complaints() const { return complaints_; }
  void forget_complaints() { complaints_.clear(); }

 private:
  void attach(const json& target) {
    session_ = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}, false)["sessionId"];
    sessions_.push_back(session_);
    call("Page.enable");
    call("Runtime.enable");
    call("Log.enable");
  }
  json next() {
    for (;;) {
      const std::size_t end = buffer_.find('\0');
      if (end != std::string::npos) {
        const json message = json::parse(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
        return message;
      }
      char bytes[65536];
      const ssize_t count = read(read_, bytes, sizeof bytes);
      if (count <= 0) throw std::runtime_error("chromium has gone");
      buffer_.append(bytes, static_cast<std::size_t>(count));
    }
  }
  void note(const json& said) {
    const std::string method = said.value("method", "");
    if (method == "Runtime.exceptionThrown") complaints_.push_back(said["params"].dump());
    if (method == "Log.entryAdded" && said["params"]["entry"]["level"] == "error")
      complaints_.push_back(said["params"]["entry"].dump());
    if (method == "Runtime.consoleAPICalled" &&
        (said["params"]["type"] == "error" || said["params"]["type"] == "warning"))
      complaints_.push_back(said["params"].dump());
  }

  std::filesystem::path folder_;
  pid_t child_ = -1;
  int write_ = -1, read_ = -1, last_ = 0;
  std::string buffer_, session_;
  std::vector<std::string> sessions_;
  std::vector<std::string> complaints_;
};

}  // namespace drover::testing
