// A link between two network namespaces on which every packet travels for a given time: what `tc netem delay` does, for kernels
// that do not have it.
//
//   bench_delay_link CARD_A CARD_B
//
// Makes two cards (TUN devices), says "ready", and from then on hands what one of them sends to the other, each packet so many
// microseconds after it was sent. The number is read from the standard input, a new one at any time; the end of the input
// ends the program, and the cards go with it. Whoever starts it moves the cards to their namespaces. Give it a higher
// real-time priority than the ranks that it joins. It sleeps while nothing travels, so that they have the cores, but
// not in the last tenth of a millisecond before a packet is due: to be woken by a timer takes a virtual machine up to 50 us.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds awake{100};

struct Packet {
  Clock::time_point due;
  std::size_t to;  ///< which card
  std::string bytes;
};

int open_card(const char* name) {
  const int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (file < 0 || ioctl(file, TUNSETIFF, &request) != 0) {
    std::perror(name);
    std::exit(1);
  }
  return file;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("bench_delay_link CARD_A CARD_B\n", stderr);
    return 64;
  }
  const std::array<int, 2> cards{open_card(argv[1]), open_card(argv[2])};
  std::puts("ready");
  std::fflush(stdout);
  std::chrono::nanoseconds delay{0};
  std::deque<Packet> travelling;  // one delay for both ways: in the order in which they are due
  std::vector<char> room(1 << 17);
  std::array<pollfd, 3> events{pollfd{cards[0], POLLIN, 0}, {cards[1], POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  while (true) {
    for (Clock::time_point now = Clock::now(); !travelling.empty() && travelling.front().due <= now;
         travelling.pop_front()) {
      const Packet& packet = travelling.front();
      // A card that is down loses packets, as cards do.
      [[maybe_unused]] const auto written = write(cards[packet.to], packet.bytes.data(), packet.bytes.size());
    }
    timespec wait{}, *until = nullptr;
    if (!travelling.empty()) {
      const auto left = std::chrono::nanoseconds(travelling.front().due - Clock::now() - awake).count();
      wait.tv_sec = left > 0 ? left / 1'000'000'000 : 0;
      wait.tv_nsec = left > 0 ? left % 1'000'000'000 : 0;
      until = &wait;
    }
    if (ppoll(events.data(), events.size(), until, nullptr) <= 0) continue;
    for (std::size_t from = 0; from < cards.size(); ++from) {
      if ((events[from].revents & POLLIN) == 0) continue;
      for (ssize_t size = 0; (size = read(cards[from], room.data(), room.size())) > 0;)
        travelling.push_back(
            {Clock::now() + delay, 1 - from, std::string(room.data(), static_cast<std::size_t>(size))});
    }
    if ((events[2].revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t size = read(STDIN_FILENO, room.data(), room.size() - 1);
      if (size <= 0) return 0;
      room[static_cast<std::size_t>(size)] = '\0';
      delay = std::chrono::nanoseconds(static_cast<std::int64_t>(1000 * std::atof(room.data())));
    }
  }
}
