#include "drover/io/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string_view>

namespace drover {

namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// "<file>.<process>-<number>.tmp"
bool is_temporary_of(std::string_view file, std::string_view name) {
  constexpr std::string_view ending = ".tmp";
  if (name.size() <= file.size() + 1 + ending.size() || !name.starts_with(file) || name[file.size()] != '.' ||
      !name.ends_with(ending))
    return false;
  const std::string_view middle = name.substr(file.size() + 1, name.size() - file.size() - 1 - ending.size());
  const std::size_t dash = middle.find('-');
  const auto digits = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  return dash != std::string_view::npos && digits(middle.substr(0, dash)) && digits(middle.substr(dash + 1));
}

void remove_stale(const std::string& target) {
  const std::filesystem::path place(target);
  const std::filesystem::path folder = place.has_parent_path() ? place.parent_path() : ".";
  const std::string file = place.filename().string();
  std::error_code code;
  for (auto entry = std::filesystem::directory_iterator(folder, code);
       !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!is_temporary_of(file, name)) continue;
    const int descriptor = open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (lock_file(descriptor)) unlink(entry->path().c_str());
    close(descriptor);
  }
}

/// Names for a signal handler, which may neither allocate nor wait. The oldest gives way; a name that is no
/// longer there does no harm, since none is used twice.
struct NameSlot {
  std::atomic<bool> is_set = false;
  char name[4096];
};
NameSlot slots[8];

void remember(const std::string& name) {
  static std::atomic<unsigned> next{0};
  NameSlot& slot = slots[next++ % std::size(slots)];
  slot.is_set = false;
  if (name.size() >= sizeof(slot.name)) return;
  std::copy_n(name.c_str(), name.size() + 1, slot.name);
  slot.is_set = true;
}

}  // namespace

void remove_temporaries() noexcept {
  for (NameSlot& slot : slots)
    if (slot.is_set) unlink(slot.name);
}

bool lock_file(int descriptor) {
  struct flock lock = whole_file();
  return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

std::string without_links(const std::string& path) {
  constexpr int most = 40;  // as the system has it
  std::filesystem::path place(path);
  std::error_code code;
  for (int k = 0; k < most && std::filesystem::is_symlink(place, code); ++k) {
    const std::filesystem::path next = std::filesystem::read_symlink(place, code);
    if (code) break;
    place = next.is_absolute() ? next : place.parent_path() / next;
  }
  return place.string();
}

int create_temporary(const std::string& target, std::string& name) {
  remove_stale(target);
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.{}-{}.tmp", target, getpid(), counter++);
    const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) break;
    // Between these two another program may have taken it for a stale one. File systems without locks have
    // no stale ones removed.
    struct stat own {};
    if (!lock_file(descriptor) && (errno == EAGAIN || errno == EACCES)) {
      close(descriptor);
      continue;
    }
    if (fstat(descriptor, &own) != 0 || own.st_nlink == 0) {
      close(descriptor);
      continue;
    }
    struct stat before {};
    if (stat(target.c_str(), &before) == 0) {
      if (before.st_uid != own.st_uid || before.st_gid != own.st_gid)
        // Only root may give files away; whoever may not still keeps the group where it can.
        if (fchown(descriptor, before.st_uid, before.st_gid) != 0 &&
            fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) != 0)
          errno = 0;
      if (fchmod(descriptor, before.st_mode & 07777) != 0) {
        const int reason = errno;
        unlink(name.c_str());
        close(descriptor);
        errno = reason;
        break;
      }
    }
    remember(std::filesystem::absolute(name).string());
    return descriptor;
  }
  const int reason = errno;
  name.clear();
  errno = reason;
  return -1;
}

}  // namespace drover
