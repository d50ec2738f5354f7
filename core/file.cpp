#include <adjoint/core/detail/descriptor.h>
#include <adjoint/core/error.h>
#include <adjoint/core/file.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
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

constexpr int kMostLinks = 40;  // limit of the operating system
constexpr int kMostTries = 100;
constexpr std::string_view kPrefix = ".adjoint-", kSuffix = ".tmp";
constexpr size_t kDigits = 16;
constexpr time_t kStaleSeconds = 600;

std::string system_says() { return std::strerror(errno); }

/// Follows dangling links too, unlike the standard library.
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

/// Obstacle due to an existing entry at `path`, without trying a write.
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

/// Names of temporary files, for the handler of terminating signals: fixed slots, since the handler may not
/// wait or allocate. If all slots are taken, remove_stale() removes the file later.
struct Pending {
  std::atomic<pid_t> process{0};  // the writing process, not a fork of it; 0: free slot
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
  ::raise(signal);  // delivered when this returns
}

/// Copies owner, group and permissions of the replaced file to a new file that no other user can read yet. If
/// the group cannot be set, the group's permissions become those of others.
void take_after(int file, const struct stat& old) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return;
  mode_t mode = old.st_mode & 0777;
  if (status.st_uid != old.st_uid) (void)!::fchown(file, old.st_uid, static_cast<gid_t>(-1));
  if (status.st_gid != old.st_gid && ::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0)
    mode = (mode & ~mode_t{070}) | (mode & 07) << 3;
  (void)::fchmod(file, mode);
}

/// A temporary file next to its target, locked while open, and removed by the destructor unless renamed. Not
/// named after the process id, which is often 1 in containers.
class Temporary {
 public:
  /// On failure get() is negative and errno is set.
  explicit Temporary(const fs::path& target) : file_(make(target)) {}
  ~Temporary() {
    if (file_.get() >= 0 && !renamed_) ::unlink(path_.c_str());
  }

  int get() const { return file_.get(); }
  bool rename_to(const fs::path& target) {
    renamed_ = ::rename(path_.c_str(), target.c_str()) == 0;
    return renamed_;
  }
  /// On failure errno is EEXIST if the target exists.
  bool rename_to_new(const fs::path& target) {
    renamed_ = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0;
    // NFS and others know links, but not this flag; then the destructor removes the first name.
    return renamed_ || (errno != EEXIST && ::link(path_.c_str(), target.c_str()) == 0);
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
      // Without file locks remove_stale gets none either; if it got the lock first, this name is lost.
      const bool lost = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      struct stat status {};
      if (!lost && ::fstat(file.get(), &status) == 0 && status.st_nlink > 0) return file;
      ::unlink(path_.c_str());
    }
    errno = EEXIST;
    return Descriptor(-1);
  }

  fs::path path_;
  std::optional<PendingName> pending_;  // until the file is removed or renamed
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

/// A writer holds the lock of its temporary file, and the system releases it when the process dies; process
/// ids mean nothing if containers or hosts share a folder. The age is for file systems without shared locks.
bool is_stale(int descriptor) {
  struct stat status {};
  return descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_nlink == 1 && status.st_uid == ::geteuid() &&
         std::time(nullptr) - status.st_mtime > kStaleSeconds && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

/// Removes leftovers of killed runs from the folder, at this process's first write there.
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
  // Only a trial write detects permissions, quotas and read-only file systems reliably.
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

  void sync() const {
    if (::fsync(file.get()) != 0) fail("cannot write");
  }
  void sync_folder() const {
    const Descriptor entry(::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (entry.get() >= 0) (void)::fsync(entry.get());
  }
  [[noreturn]] void fail(std::string_view what) const { data_fail("{}: {}: {}", path, what, system_says()); }
};

FileReplacement::FileReplacement(std::string path) {
  if (const std::string obstacle = obstacle_at(path); !obstacle.empty()) data_fail("{}: {}", path, obstacle);
  impl_ = std::make_unique<Impl>(std::move(path));
  if (impl_->file.get() < 0) impl_->fail("cannot write in its folder");
}

FileReplacement::~FileReplacement() = default;

void FileReplacement::write(int64_t offset, std::string_view bytes) {
  if (::lseek(impl_->file.get(), offset, SEEK_SET) < 0 || !write_all(impl_->file.get(), bytes))
    impl_->fail("cannot write");
}

size_t FileReplacement::read(int64_t offset, char* buffer, size_t count) const {
  const int64_t done = detail::read_all(impl_->file.get(), offset, buffer, count);
  if (done < 0) impl_->fail("cannot read the written file");
  return static_cast<size_t>(done);
}

void FileReplacement::resize(int64_t length) {
  if (::ftruncate(impl_->file.get(), length) != 0) impl_->fail("cannot write");
}

void FileReplacement::commit() {
  impl_->sync();
  if (!impl_->file.rename_to(impl_->target)) impl_->fail("cannot replace");
  impl_->sync_folder();
}

bool FileReplacement::commit_new() {
  impl_->sync();
  if (!impl_->file.rename_to_new(impl_->target)) {
    if (errno != EEXIST) impl_->fail("cannot create");
    return false;
  }
  impl_->sync_folder();
  return true;
}

std::string first_bytes(const std::string& path, size_t count) {
  std::string bytes(count, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

void replace_file(const std::string& path, std::string_view bytes) {
  FileReplacement file(path);
  file.write(0, bytes);
  file.commit();
}

bool create_file(const std::string& path, std::string_view bytes) {
  FileReplacement file(path);
  file.write(0, bytes);
  return file.commit_new();
}

}  // namespace adj
