#include <adjoint/core/error.h>
#include <adjoint/data/detail/hdf5_capture.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace adj::hdf5 {

namespace {

constexpr size_t kSlack = size_t{1} << 30;  // address space beside the data
constexpr rlim_t kSeconds = 2;              // processor time beside the data
constexpr size_t kBytesPerSecond = size_t{20} << 20;
constexpr int kPatience = 50;  // wall-clock time over processor time, on a busy machine

bool in_child = false;

void set_limit(int resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(resource, &limit);
}

size_t address_space_in_use() {
  size_t pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

rlim_t seconds_for(size_t bytes) { return kSeconds + bytes / kBytesPerSecond; }

/// A child must not run the handlers of its parent, print its crashes or leave its core behind.
void become_child(size_t bytes) {
  in_child = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_WRONLY);
  if (null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  set_limit(RLIMIT_CORE, 0);
  set_limit(RLIMIT_CPU, seconds_for(bytes));
  if (const size_t used = address_space_in_use(); used > 0) set_limit(RLIMIT_AS, used + bytes + kSlack);
}

void send(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = write(descriptor, text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    text.remove_prefix(static_cast<size_t>(sent));
  }
}

[[noreturn]] void run_child(int descriptor, const Source& source,
                            const std::function<bool(std::string_view)>& accept, SharedMemory& memory) {
  become_child(source.bytes);
  Encoder answer;
  try {
    const std::string directory = capture(source, accept, memory);
    answer.put<char>('+');
    answer.put_text(directory);
  } catch (const std::exception& error) {
    answer.put<char>('-');
    answer.put_text(error.what());
  }
  send(descriptor, answer.take());
  _exit(0);
}

/// Reads until the child closes its end; false when it takes too long.
bool receive(int descriptor, size_t bytes, std::string* text) {
  using std::chrono::steady_clock;
  // The child's own limit grows with what it finds in the file; this one must not cut it short.
  const auto deadline = steady_clock::now() + std::chrono::seconds(kPatience * seconds_for(64 * bytes));
  char buffer[1 << 16];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{descriptor, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text->append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

SharedMemory::SharedMemory() : descriptor_(memfd_create("adjoint", MFD_CLOEXEC)) {
  if (descriptor_ < 0) data_fail("no shared memory to read into: {}", std::strerror(errno));
}

SharedMemory::~SharedMemory() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  close(descriptor_);
}

size_t SharedMemory::append(size_t bytes, const std::function<void(void*)>& fill) {
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t start = (static_cast<size_t>(end) + page - 1) / page * page;
  if (bytes == 0) return start;
  raise_limits(bytes);
  void* mapped = MAP_FAILED;
  if (ftruncate(descriptor_, static_cast<off_t>(start + bytes)) == 0)
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(start));
  if (mapped == MAP_FAILED) data_fail("no memory for {} bytes: {}", bytes, std::strerror(errno));
  try {
    fill(mapped);
  } catch (...) {
    munmap(mapped, bytes);
    throw;
  }
  munmap(mapped, bytes);
  return start;
}

std::span<const std::byte> SharedMemory::map() {
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  if (mapped_ == nullptr && end > 0) {
    mapped_bytes_ = static_cast<size_t>(end);
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
    if (mapped_ == MAP_FAILED) {
      mapped_ = nullptr;
      data_fail("no memory for {} bytes: {}", mapped_bytes_, std::strerror(errno));
    }
  }
  return {static_cast<const std::byte*>(mapped_), mapped_bytes_};
}

void raise_limits(size_t bytes) {
  if (!in_child) return;
  rlimit limit{};
  for (int resource : {RLIMIT_AS, RLIMIT_CPU})
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      set_limit(resource, limit.rlim_cur + (resource == RLIMIT_AS ? bytes : bytes / kBytesPerSecond));
}

std::string capture_isolated(const Source& source, const std::function<bool(std::string_view)>& accept,
                             SharedMemory& memory) {
  const std::lock_guard lock(mutex());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return capture(source, accept, memory);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return capture(source, accept, memory);
  }
  if (child == 0) {
    close(ends[0]);
    run_child(ends[1], source, accept, memory);
  }
  close(ends[1]);
  std::string answer;
  bool too_long = !receive(ends[0], source.bytes, &answer);
  if (too_long) kill(child, SIGKILL);
  close(ends[0]);
  // Where the program ignores SIGCHLD there is no status to be had; the answer alone decides.
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  too_long = too_long || (ended == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);

  if (answer.size() > sizeof(uint64_t)) {
    Decoder decoder(answer);
    const char verdict = decoder.get<char>();
    const auto length = decoder.get<uint64_t>();
    if (length + sizeof length + 1 == answer.size()) {
      if (verdict == '+') return answer.substr(sizeof length + 1);
      throw_data_error(answer.substr(sizeof length + 1));
    }
  }
  throw_data_error(too_long ? "damaged: the HDF5 library came to no end on it"
                            : "damaged: the HDF5 library crashed on it");
}

std::string_view Decoder::cut(size_t bytes) {
  if (bytes > text_.size()) throw_data_error("damaged: the HDF5 library crashed on it");
  const std::string_view piece = text_.substr(0, bytes);
  text_.remove_prefix(bytes);
  return piece;
}

}  // namespace adj::hdf5
