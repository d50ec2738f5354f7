#include <adjoint/core/detail/descriptor.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace adj::detail {

namespace {

/// In this scope a write beyond the file size limit returns an error instead of ending the program.
class FileSizeSignal {
 public:
  FileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignal() {
    const int error = errno;  // errno of the write
    const timespec now{};
    sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  FileSizeSignal(const FileSizeSignal&) = delete;
  FileSizeSignal& operator=(const FileSizeSignal&) = delete;

 private:
  sigset_t signal_{}, before_{};
};

}  // namespace

Descriptor::Descriptor(int value, int lowest) : value_(value) {
  if (value_ < 0 || value_ >= lowest) return;
  value_ = ::fcntl(value, F_DUPFD_CLOEXEC, lowest);
  const int error = errno;
  ::close(value);
  errno = error;
}
Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}
Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

int64_t read_all(int descriptor, int64_t offset, char* buffer, size_t count) {
  size_t done = 0;
  while (done < count) {
    const ssize_t got = ::pread(descriptor, buffer + done, count - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(done);
}

bool write_all(int descriptor, std::string_view bytes) {
  const FileSizeSignal blocked;
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

Descriptor file_in_memory(const char* name, std::string_view bytes, int lowest) {
  constexpr unsigned kMayRun = 0x10;  // MFD_EXEC: explicit where the kernel requires a choice
  int descriptor = memfd_create(name, MFD_CLOEXEC | kMayRun);
  if (descriptor < 0 && errno == EINVAL) descriptor = memfd_create(name, MFD_CLOEXEC);
  Descriptor file(descriptor, lowest);
  return file.get() < 0 || write_all(file.get(), bytes) ? std::move(file) : Descriptor();
}

}  // namespace adj::detail
