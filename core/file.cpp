#include <adjoint/core/error.h>
#include <adjoint/core/file.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adj {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

std::filesystem::path resolve(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? std::filesystem::path(path) : target;
}

/// True where `path` is no file that could be replaced and has been written to as it is.
bool write_in_place(const std::string& path, std::string_view bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return false;
  if (S_ISDIR(status.st_mode)) data_fail("{}: a folder, expected a file", path);
  if (!S_ISCHR(status.st_mode) && !S_ISFIFO(status.st_mode)) data_fail("{}: not a regular file", path);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || !write_all(file.get(), bytes))
    data_fail("{}: cannot write: {}", path, std::strerror(errno));
  return true;
}

}  // namespace

void replace_file(const std::string& path, std::string_view bytes) {
  static std::atomic<unsigned> count{0};
  if (write_in_place(path, bytes)) return;
  const std::filesystem::path target = resolve(path);
  const std::filesystem::path folder =
      target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const std::string temporary =
      (folder / fmt::format(".{}.{}-{}.tmp", target.filename().string(), getpid(), ++count)).string();
  const auto give_up = [&](const char* what) {
    const std::string reason = std::strerror(errno);
    ::unlink(temporary.c_str());
    data_fail("{}: cannot {}: {}", path, what, reason);
  };
  {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) data_fail("{}: cannot write in its folder: {}", path, std::strerror(errno));
    if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0) give_up("write");
  }
  if (::rename(temporary.c_str(), target.c_str()) != 0) give_up("replace");
  const Descriptor entry(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (entry.get() >= 0) (void)::fsync(entry.get());
}

}  // namespace adj
