#include "drover/io/helper_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

#include "drover/core/error.hpp"

namespace drover {

namespace {

constexpr std::size_t held_at_most = 1 << 16;
constexpr std::size_t longest_text = 1 << 26;
constexpr std::uint64_t good = 0, out_of_memory = 1;  // else the ErrorKind

void close_other_files(int kept) {
  const int nothing = open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
  if (kept > 3) close_range(3, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

void separate_from_parent(int kept) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE, SIGXFSZ})
    std::signal(number, SIG_IGN);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  close_other_files(kept);
}

void reply_bad(Channel& channel, std::uint64_t kind, const char* message) {
  try {
    channel.send_number(kind);
    channel.send_text(message);
    channel.flush();
  } catch (const std::exception&) {
    // Nobody is left to hear it.
  }
}

[[noreturn]] void run_child(const std::function<void(Channel&)>& work, int descriptor, pid_t parent) {
  // A parent that is killed must not leave behind one who makes files anew that the next run has cleared away.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  separate_from_parent(descriptor);
  Channel channel(descriptor);
  try {
    work(channel);
    channel.flush();
  } catch (const ChannelClosed&) {
  } catch (const Error& error) {
    reply_bad(channel, static_cast<std::uint64_t>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    reply_bad(channel, out_of_memory, "");
  } catch (const std::exception& error) {
    reply_bad(channel, static_cast<std::uint64_t>(ErrorKind::internal), error.what());
  }
  _exit(0);
}

std::array<int, 2> connected_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(ErrorKind::internal, fmt::format("cannot talk to another process: {}", std::strerror(errno)));
  return ends;
}

}  // namespace

Channel::~Channel() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Channel::send(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (held_.size() + size > held_at_most) flush();
  if (size < held_at_most) {
    held_.insert(held_.end(), bytes, bytes + size);
    return;
  }
  while (size > 0) {
    const ssize_t sent = ::send(descriptor_, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw ChannelClosed();
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Channel::flush() {
  std::size_t begin = 0;
  while (begin < held_.size()) {
    const ssize_t sent = ::send(descriptor_, held_.data() + begin, held_.size() - begin, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      held_.clear();
      throw ChannelClosed();
    }
    begin += static_cast<std::size_t>(sent);
  }
  held_.clear();
}

void Channel::wait_for_bytes() const {
  constexpr int between = 20;  // milliseconds
  pollfd waiting{descriptor_, POLLIN, 0};
  for (;;) {
    const int ready = poll(&waiting, 1, between);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
    meanwhile_();
  }
}

void Channel::receive(void* data, std::size_t size) {
  auto* bytes = static_cast<std::uint8_t*>(data);
  while (size > 0) {
    if (meanwhile_) {
      meanwhile_();
      wait_for_bytes();
    }
    const ssize_t got = recv(descriptor_, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw ChannelClosed();
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::uint64_t Channel::receive_number() {
  std::uint64_t number = 0;
  receive(&number, sizeof(number));
  return number;
}

void Channel::send_text(const std::string& text) {
  send_number(text.size());
  send(text.data(), text.size());
}

std::string Channel::receive_text() {
  const std::uint64_t size = receive_number();
  if (size > longest_text) throw ChannelClosed();
  std::string text(static_cast<std::size_t>(size), '\0');
  receive(text.data(), text.size());
  return text;
}

void reply_good(Channel& channel) {
  channel.send_number(good);
}

HelperProcess::HelperProcess(const std::function<void(Channel&)>& work)
    : HelperProcess(work, connected_pair()) {}

HelperProcess::HelperProcess(const std::function<void(Channel&)>& work, std::array<int, 2> ends)
    : channel_(ends[0]) {
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) run_child(work, ends[1], parent);
  const int reason = errno;
  close(ends[1]);
  if (child_ < 0)
    throw Error(ErrorKind::internal, fmt::format("cannot start another process: {}", std::strerror(reason)));
}

HelperProcess::~HelperProcess() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void HelperProcess::send(const std::function<void(Channel&)>& message) {
  try {
    message(channel_);
  } catch (const ChannelClosed&) {
    expect_good_reply();  // usually says why it left
    raise_crash();
  }
}

void HelperProcess::receive(const std::function<void(Channel&)>& answer) {
  send([](Channel& channel) { channel.flush(); });
  expect_good_reply();
  try {
    answer(channel_);
  } catch (const ChannelClosed&) {
    raise_crash();
  }
}

void HelperProcess::expect_good_reply() {
  try {
    const std::uint64_t kind = channel_.receive_number();
    if (kind == good) return;
    const std::string message = channel_.receive_text();
    if (kind == out_of_memory) throw std::bad_alloc();
    throw Error(static_cast<ErrorKind>(kind), message);
  } catch (const ChannelClosed&) {
    raise_crash();
  }
}

void HelperProcess::raise_crash() {
  int status = 0;
  kill(child_, SIGKILL);  // changes nothing for one that is ending already
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) throw HelperCrashed("did not come to an end");
  if (WIFSIGNALED(status)) throw HelperCrashed(fmt::format("crashed ({})", strsignal(WTERMSIG(status))));
  throw HelperCrashed("ended without an answer");
}

void limit_computing(double seconds) {
  rusage used{};
  rlimit limit{};
  if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0) return;
  const double so_far = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  const auto wanted = static_cast<rlim_t>(std::ceil(so_far + seconds + 1));
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? wanted : std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_CPU, &limit);
}

void limit_growth(double bytes) {
  std::ifstream status("/proc/self/statm");  // pages: all, resident, shared, text, 0, data
  double all = 0, resident = 0, shared = 0, text = 0, libraries = 0, data = 0;
  if (!(status >> all >> resident >> shared >> text >> libraries >> data)) return;
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  static const rlim_t own = limit.rlim_cur;  // what this process had been given before
  const double wanted = data * static_cast<double>(sysconf(_SC_PAGESIZE)) + bytes;
  if (limit.rlim_max != RLIM_INFINITY && wanted > static_cast<double>(limit.rlim_max)) return;
  limit.rlim_cur = std::min(own, static_cast<rlim_t>(wanted));
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace drover
