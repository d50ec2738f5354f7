#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/error.h>
#include <adjoint/core/file.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

namespace fs = std::filesystem;
using detail::Descriptor;
using detail::write_all;

constexpr int kMostLinks = 40;  // as the system follows
constexpr int kMostTries = 100;
constexpr std::string_view kPrefix = ".adjoint-", kSuffix = ".tmp";
constexpr size_t kDigits = 16;
constexpr time_t kStaleSeconds = 600;

std::string system_says() { return std::strerror(errno); }

/// Follows links to what is not there, too, which no function of the library does.
fs::path follow(fs::path path) {
  std::error_code error;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : "."; }

/// Of what stands at `path`, if anything; nothing is tried.
std::string obstacle_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return "a folder, expected a file";
    if (!S_ISREG(status.st_mode)) return "not a regular file";
    return ::access(path.c_str(), W_OK) == 0 ? "" : system_says();
  }
  if (errno != ENOENT) return system_says();
  const fs::path target = follow(path);
  if (target.filename().empty()) return path.empty() ? system_says() : "a folder, expected a file";
  const long longest = ::pathconf(folder_of(target).c_str(), _PC_NAME_MAX);
  if (longest > 0 && target.filename().string().size() > static_cast<size_t>(longest))
    return std::strerror(ENAMETOOLONG);
  return "";
}

/// Names of the files that are being written, for a signal that ends the program: in places of their own, for
/// its handler may neither wait nor allocate. What finds no place is left to remove_stale().
struct Pending {
  std::atomic<pid_t> process{0};  // that writes it, and not one that was forked from it; 0: none
  std::atomic<bool> taken{false};
  char path[PATH_MAX];
};
Pending all_pending[16];

class PendingName {
 public:
  explicit PendingName(const std::string& path) {
    if (path.size() >= sizeof(Pending::path)) return;
    for (Pending& pending : all_pending) {
      if (pending.taken.exchange(true)) continue;
      pending_ = &pending;
      std::memcpy(pending.path, path.c_str(), path.size() + 1);
      pending.process = ::getpid();
      return;
    }
  }
  ~PendingName() {
    if (pending_ == nullptr) return;
    pending_->process = 0;
    pending_->taken = false;
  }
  PendingName(const PendingName&) = delete;
  PendingName& operator=(const PendingName&) = delete;

 private:
  Pending* pending_ = nullptr;
};

extern "C" void remove_and_die(int signal) {
  for (const Pending& pending : all_pending)
    if (pending.process == ::getpid()) ::unlink(pending.path);
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // when this returns
}

/// Gives a new file, which nobody else may read yet, what the one that it is to replace has: owner, group and
/// permissions. Where the group is not to be had, that group's permissions are those of all others.
void take_after(int file, const struct stat& old) {
  struct stat made {};
  if (::fstat(file, &made) != 0) return;
  mode_t mode = old.st_mode & 0777;
  if (made.st_uid != old.st_uid) (void)!::fchown(file, old.st_uid, static_cast<gid_t>(-1));
  if (made.st_gid != old.st_gid && ::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0)
    mode = (mode & ~mode_t{070}) | (mode & 07) << 3;
  (void)::fchmod(file, mode);
}

/// A new file beside the one that it is to replace, locked for as long as it is open, and gone with the
/// object unless it was renamed. Not named after its process: in a container that is often number 1 again.
class Temporary {
 public:
  /// Where there is none to be had, get() is negative and errno says why.
  explicit Temporary(const fs::path& target) : file_(make(target)) {}
  ~Temporary() {
    if (file_.get() >= 0 && !renamed_) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int get() const { return file_.get(); }
  bool rename_to(const fs::path& target) {
    renamed_ = ::rename(path_.c_str(), target.c_str()) == 0;
    return renamed_;
  }

 private:
  static uint64_t random_number() {
    static std::atomic<uint64_t> count{0};
    uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
    number = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    return (number << 20) + (static_cast<uint64_t>(::getpid()) << 8) + ++count;
  }

  Descriptor make(const fs::path& target) {
    struct stat old {};
    const bool replaces = ::stat(target.c_str(), &old) == 0;
    for (int tries = 0; tries < kMostTries; ++tries) {
      path_ = folder_of(target) / fmt::format("{}{:0{}x}{}", kPrefix, random_number(), kDigits, kSuffix);
      std::error_code unknown;
      pending_.emplace(fs::absolute(path_, unknown).string());
      Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666));
      if (file.get() < 0 && errno == EEXIST) continue;
      if (file.get() < 0) return file;
      if (replaces) take_after(file.get(), old);
      // Where there are no locks, remove_stale gets none either; where it was faster, the name is lost.
      const bool lost = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      struct stat status {};
      if (!lost && ::fstat(file.get(), &status) == 0 && status.st_nlink > 0) return file;
      ::unlink(path_.c_str());
    }
    errno = EEXIST;
    return Descriptor(-1);
  }

  fs::path path_;
  std::optional<PendingName> pending_;  // until the file is gone or renamed
  Descriptor file_;
  bool renamed_ = false;
};

bool is_temporary(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size() || !name.starts_with(kPrefix) ||
      !name.ends_with(kSuffix))
    return false;
  const std::string_view digits = name.substr(kPrefix.size(), kDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Whoever writes a temporary holds its lock, and the system lets go of it when he dies; process ids say
/// nothing where containers or hosts share a folder. The age is for folders whose locks are not shared.
bool is_stale(int descriptor) {
  struct stat status {};
  return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_nlink == 1 && status.st_uid == ::geteuid() &&
         std::time(nullptr) - status.st_mtime > kStaleSeconds && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

/// Removes what killed runs left in the folder, when this process first writes there.
void remove_stale(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  {
    const std::lock_guard lock(mutex);
    std::error_code unknown;
    if (!seen.insert(fs::absolute(folder, unknown)).second) return;
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_temporary(entry->path().filename().string())) continue;
    const Descriptor file(
        ::open(entry->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (is_stale(file.get())) ::unlink(entry->path().c_str());
  }
}

}  // namespace

void remove_pending_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = remove_and_die;
    ::sigaction(signal, &action, nullptr);
  }
}

std::string followed(const std::string& path) { return follow(path).string(); }

std::string obstacle_to_replacing(const std::string& path) {
  std::string obstacle = obstacle_at(path);
  // Trying is the only sure way to know about permissions, quotas and read-only file systems.
  if (obstacle.empty() && Temporary(follow(path)).get() < 0) obstacle = system_says();
  return obstacle;
}

struct FileReplacement::Impl {
  explicit Impl(std::string name)
      : path(std::move(name)), target(follow(path)), file(in_clean_folder(target)) {}

  static const fs::path& in_clean_folder(const fs::path& target) {
    remove_stale(folder_of(target));
    return target;
  }

  std::string path;
  fs::path target;
  Temporary file;

  [[noreturn]] void fail(std::string_view what) const { data_fail("{}: {}: {}", path, what, system_says()); }
};

FileReplacement::FileReplacement(std::string path) {
  if (const std::string obstacle = obstacle_at(path); !obstacle.empty()) data_fail("{}: {}", path, obstacle);
  impl_ = std::make_unique<Impl>(std::move(path));
  if (impl_->file.get() < 0) impl_->fail("cannot write in its folder");
}

FileReplacement::~FileReplacement() = default;

void FileReplacement::write(int64_t at, std::string_view bytes) {
  if (::lseek(impl_->file.get(), at, SEEK_SET) < 0 || !write_all(impl_->file.get(), bytes))
    impl_->fail("cannot write");
}

size_t FileReplacement::read(int64_t at, char* to, size_t count) const {
  const int64_t done = detail::read_all(impl_->file.get(), at, to, count);
  if (done < 0) impl_->fail("cannot read what was written");
  return static_cast<size_t>(done);
}

void FileReplacement::resize(int64_t length) {
  if (::ftruncate(impl_->file.get(), length) != 0) impl_->fail("cannot write");
}

void FileReplacement::commit() {
  if (::fsync(impl_->file.get()) != 0) impl_->fail("cannot write");
  if (!impl_->file.rename_to(impl_->target)) impl_->fail("cannot replace");
  const Descriptor entry(::open(folder_of(impl_->target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (entry.get() >= 0) (void)::fsync(entry.get());
}

void replace_file(const std::string& path, std::string_view bytes) {
  FileReplacement file(path);
  file.write(0, bytes);
  file.commit();
}

}  // namespace adj
