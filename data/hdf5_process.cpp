#include <adjoint/core/error.h>
#include <adjoint/data/detail/hdf5_handle.h>
#include <adjoint/data/detail/hdf5_process.h>
#include <adjoint/data/detail/hdf5_wire.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
extern const unsigned char adjoint_hdf5_child[];
extern const unsigned char adjoint_hdf5_child_end[];
extern char** environ;
}

namespace adj::hdf5 {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr idtype_t kByDescriptor = static_cast<idtype_t>(3);  // P_PIDFD, missing in older headers
/// A killed process ends at once, unless it is stuck in a file system: then no caller waits for it.
constexpr milliseconds kEndOfKilled{5000};

/// Invalid if the kernel has no pidfd.
int descriptor_of(pid_t child) {
  const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  siginfo_t info{};
  if (descriptor >= 0 &&
      waitid(kByDescriptor, static_cast<id_t>(descriptor), &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
      errno == EINVAL) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

}  // namespace

ChildProcess::ChildProcess(pid_t child) : child_(child), descriptor_(descriptor_of(child)) {}

ChildProcess::~ChildProcess() { (void)end(milliseconds(0)); }

ChildProcess::Status ChildProcess::end(milliseconds patience) {
  if (!ends_within(patience)) {
    kill();
    (void)ends_within(kEndOfKilled);
    ended_ = true;
  }
  return status_;
}

void ChildProcess::kill() {
  if (ended_) return;
  if (descriptor_.get() >= 0) {
    syscall(SYS_pidfd_send_signal, descriptor_.get(), SIGKILL, nullptr, 0);
    return;
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    ::kill(child_, SIGKILL);
}

bool ChildProcess::ends_within(milliseconds patience) {
  const bool watched = descriptor_.get() >= 0;
  const auto deadline = steady_clock::now() + patience;
  while (!ended_) {
    siginfo_t info{};
    const int found =
        watched ? waitid(kByDescriptor, static_cast<id_t>(descriptor_.get()), &info, WEXITED | WNOHANG)
                : waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG);
    if (found < 0 && errno == EINTR) continue;
    ended_ = found < 0 || info.si_pid != 0;
    if (found == 0 && info.si_pid != 0)
      (info.si_code == CLD_EXITED ? status_.exit : status_.signal) = info.si_status;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (ended_ || left.count() <= 0) break;
    pollfd end{descriptor_.get(), POLLIN, 0};
    poll(&end, watched ? 1 : 0, static_cast<int>(watched ? left.count() : 1));
  }
  return ended_;
}

namespace {

// The child limits its own CPU time; this timeout covers what it cannot detect, such as a hung file system,
// and must not trigger on a busy machine.
constexpr int kPatience = 50;  // factor over the expected time
constexpr size_t kBytesPerSecond = size_t{20} << 20;

/// Time for a child that stopped answering to exit with a reason.
constexpr milliseconds kLastWords{2000};

/// Names and attributes are stored in the file, mostly once.
constexpr size_t kDirectorySlack = size_t{64} << 20;
constexpr size_t kPiece = size_t{1} << 20;

// The child uses the descriptors below; these are moved there one by one.
constexpr int kLowest = 10;

const Descriptor& program() {
  static const Descriptor file = file_in_memory(
      "adjoint-hdf5", adjoint_hdf5_child, static_cast<size_t>(adjoint_hdf5_child_end - adjoint_hdf5_child));
  return file;
}

/// This process's environment, with the folder of its HDF5 library first in the search path.
std::vector<std::string> environment() {
  constexpr std::string_view kSearched = "LD_LIBRARY_PATH=";
  std::string folder, inherited;
  Dl_info library{};
  if (dladdr(reinterpret_cast<const void*>(&H5open), &library) != 0 && library.dli_fname != nullptr)
    folder = std::filesystem::path(library.dli_fname).parent_path().string();
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with(kSearched)) {
      inherited = text.substr(kSearched.size());
    } else {
      all.emplace_back(text);
    }
  }
  if (const std::string searched = library_path(folder, inherited); !searched.empty())
    all.push_back(std::string(kSearched) + searched);
  return all;
}

/// Runs between vfork and exec: system calls only, since the memory is the parent's.
[[noreturn]] void become(int executable, int socket, int file, char* const* arguments, char* const* variables,
                         volatile int* failure) {
  if (dup2(socket, kRequests) >= 0 && dup2(file, kFile) >= 0) {
    const int null = ::open("/dev/null", O_WRONLY);
    if (null >= 0) {
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
    }
    fexecve(executable, arguments, variables);
  }
  *failure = errno;
  _exit(127);
}

pid_t start(int executable, int socket, int file) {
  char name[] = "adjoint-hdf5";
  char* const arguments[] = {name, nullptr};
  std::vector<std::string> texts = environment();
  std::vector<char*> variables;
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);
  // No signal handler may run in a process that shares the parent's memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  volatile int failure = 0;
  const pid_t child = vfork();
  if (child == 0) become(executable, socket, file, arguments, variables.data(), &failure);
  const int no_process = child < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (no_process != 0)
    data_fail(
        "cannot be read: cannot start a process for the HDF5 library ({}; ulimit -u limits their number)",
        std::strerror(no_process));
  if (failure != 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    data_fail("cannot be read: the process for the HDF5 library does not start ({})", std::strerror(failure));
  }
  return child;
}

}  // namespace

std::string library_path(std::string_view folder, std::string_view inherited) {
  std::string path(folder);
  while (!inherited.empty()) {
    const std::string_view entry = inherited.substr(0, inherited.find_first_of(":;"));
    inherited.remove_prefix(std::min(entry.size() + 1, inherited.size()));
    if (!entry.empty()) path.append(path.empty() ? "" : ":").append(entry);
  }
  return path;
}

Descriptor file_in_memory(const char* name, const void* bytes, size_t count) {
  Descriptor file = detail::file_in_memory(name, {static_cast<const char*>(bytes), count}, kLowest);
  if (file.get() < 0)
    data_fail("cannot be read: no file in memory ({}{})", std::strerror(errno),
              errno == EFBIG ? "; ulimit -f limits files to less than it takes" : "");
  return file;
}

Process::Process(const Descriptor& file, size_t bytes) : file_bytes_(bytes) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    data_fail("cannot be read: no connection to a process ({})", std::strerror(errno));
  socket_ = Descriptor(ends[0], kLowest);
  const Descriptor theirs(ends[1], kLowest), child_file(fcntl(file.get(), F_DUPFD_CLOEXEC, kLowest));
  if (socket_.get() < 0 || theirs.get() < 0 || child_file.get() < 0)
    data_fail("cannot be read: no connection to a process ({})", std::strerror(errno));
  child_.emplace(start(program().get(), theirs.get(), child_file.get()));
}

std::string Process::list(const std::vector<std::string>& wanted) {
  Encoder request;
  request.put(kList, wanted);
  ask(request.take());
  const size_t bytes = length(file_bytes_);
  if (bytes > file_bytes_ + kDirectorySlack)
    data_fail("damaged: {} bytes of names and attributes, expected {} at most", bytes,
              file_bytes_ + kDirectorySlack);
  std::string directory;
  while (directory.size() < bytes) {  // grows with the received bytes, not with the announced size
    const size_t have = directory.size(), more = std::min(bytes - have, kPiece);
    directory.resize(have + more);
    get(directory.data() + have, more, file_bytes_);
  }
  return directory;
}

void Process::read(size_t index, size_t first, size_t rows, void* buffer, size_t bytes) {
  Encoder request;
  request.put(kRead, uint64_t{index}, uint64_t{first}, uint64_t{rows});
  ask(request.take());
  if (length(bytes + file_bytes_) != bytes) ended(false);
  get(buffer, bytes, bytes);
}

void Process::ask(std::string_view request) {
  const uint64_t size = request.size();
  if (!send_all(socket_.get(), &size, sizeof size) ||
      !send_all(socket_.get(), request.data(), request.size()))
    ended(false);
}

size_t Process::length(size_t bytes) {
  char verdict = 0;
  uint64_t size = 0;
  get(&verdict, 1, bytes);
  get(&size, sizeof size, bytes);
  if (verdict == '+') return size;
  if (verdict != '-' || size > (size_t{1} << 20)) ended(false);
  std::string message(size, '\0');
  get(message.data(), size, bytes);
  throw DataError(message);
}

void Process::get(void* buffer, size_t count, size_t bytes) {
  char* next = static_cast<char*>(buffer);
  while (count > 0) {
    wait_for_answer(bytes);
    const ssize_t got = recv(socket_.get(), next, count, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) ended(false);
    next += got;
    count -= static_cast<size_t>(got);
  }
}

void Process::wait_for_answer(size_t bytes) {
  const auto deadline = steady_clock::now() +
                        std::chrono::seconds(kPatience * (2 + static_cast<int64_t>(bytes / kBytesPerSecond)));
  while (true) {
    pollfd wait{socket_.get(), POLLIN, 0};
    const int ready = poll(&wait, 1, 1000);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) ended(false);
    if (steady_clock::now() > deadline) ended(true);
  }
}

void Process::ended(bool too_long) {
  if (!child_) throw DataError("damaged: the HDF5 library crashed on it");
  socket_ = Descriptor();  // the child exits when its socket is closed
  const ChildProcess::Status status = child_->end(too_long ? milliseconds(0) : kLastWords);
  child_.reset();
  if (status.exit == 127)
    throw DataError(
        "cannot be read: the process for the HDF5 library does not start (its shared libraries?)");
  too_long = too_long || status.signal == SIGXCPU;
  throw DataError(too_long ? "damaged: the HDF5 library did not finish reading it"
                           : "damaged: the HDF5 library crashed on it");
}

}  // namespace adj::hdf5
