// Work that may crash, done in a child process: a library that does not survive damaged files or full disks
// (HDF5) ends its own process, not ours.
//
// The child is a fork of this process, so it begins with all that this one knows and needs no program of its
// own. It has none of our open files, hears no Ctrl-C (this process decides what becomes of the work), prints
// nothing, leaves no core file and ends without any exit handlers; when the thread that began it ends, however
// that comes, it ends too. In a process of many threads only the one that forks goes on in the child: glibc keeps
// memory allocation and the loading of libraries usable there, but nothing may wait for another thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace drover {

/// The other process is gone.
struct ChannelClosed : std::runtime_error {
  ChannelClosed() : std::runtime_error("the other end of the channel is gone") {}
};

/// One end of a stream of bytes in both directions. What is sent is held back until flush() or until it is
/// much.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(const void* data, std::size_t size);
  void flush();
  void receive(void* data, std::size_t size);
  /// Called every few milliseconds while receive() waits; what it throws ends the wait.
  void while_waiting(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  void send_number(std::uint64_t number) { send(&number, sizeof(number)); }
  std::uint64_t receive_number();
  void send_text(const std::string& text);
  std::string receive_text();
  template <class Item>
  void send_items(const std::vector<Item>& items) {
    send_number(items.size());
    send(items.data(), items.size() * sizeof(Item));
  }
  template <class Item>
  std::vector<Item> receive_items() {
    std::vector<Item> items(static_cast<std::size_t>(receive_number()));
    receive(items.data(), items.size() * sizeof(Item));
    return items;
  }

 private:
  void wait_for_bytes() const;

  int descriptor_;
  std::vector<std::uint8_t> held_;
  std::function<void()> meanwhile_;
};

/// The work ended its process. what() is a predicate: "crashed (Segmentation fault)".
struct HelperCrashed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HelperProcess {
 public:
  /// `work` runs in the child. It answers by reply_good() and what was agreed on after it; what it throws
  /// (Error, std::bad_alloc) is thrown here in the place of the answer.
  explicit HelperProcess(const std::function<void(Channel&)>& work);
  /// The child is ended where it stands.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  /// Sends to the child; raises what its work threw, or HelperCrashed, when it no longer listens.
  void send(const std::function<void(Channel&)>& message);
  /// Called every few milliseconds while an answer is waited for; what it throws ends the wait.
  void while_waiting(std::function<void()> meanwhile) { channel_.while_waiting(std::move(meanwhile)); }
  /// Waits for an answer and reads it.
  void receive(const std::function<void(Channel&)>& answer);

 private:
  HelperProcess(const std::function<void(Channel&)>& work, std::array<int, 2> ends);
  void expect_good_reply();
  [[noreturn]] void raise_crash();

  Channel channel_;
  pid_t child_ = -1;
};

/// In the child: the answer so far is good.
void reply_good(Channel& channel);
/// In the child: the process is ended when what follows takes more seconds of computing than this, and is
/// refused memory beyond so many bytes more than it has.
void limit_computing(double seconds);
void limit_growth(double bytes);

}  // namespace drover
