#include <adjoint/core/error.h>
#include <adjoint/core/file.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/program.h>
#include <adjoint/core/text.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace adj {

namespace {

// Four times the stack that programs were measured to use; threads get the same.
constexpr rlim_t kLeastStack = rlim_t{256} << 10;

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", O_RDWR);  // takes the lowest free number: this one
}

void require_stack() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kLeastStack)
    fail("the stack is limited to {} KB, expected {} or more (ulimit -s)", limit.rlim_cur >> 10,
         kLeastStack >> 10);
}

// What the first rank says at once, the launcher ends the others for.
constexpr std::chrono::seconds kOthersWait{3};

/// Of processes that were started together the first writes what is written.
class FirstSpeaks {
 public:
  FirstSpeaks() {
    if (launch().rank == 0) return;
    mute_.emplace();
    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
      (void)::dup2(nowhere, STDOUT_FILENO);
      ::close(nowhere);
    }
  }

 private:
  std::optional<MuteThread> mute_;
};

/// "rank 2 of 4: "; empty for a process alone.
std::string rank_text() {
  try {
    return launch().ranks == 1 ? "" : fmt::format("rank {} of {}: ", launch().rank, launch().ranks);
  } catch (const std::exception&) {
    return {};  // what is said
  }
}

/// Uses nothing that throws: stderr may be full.
void complain(const std::string& name, std::string_view what) {
  const std::string rank = rank_text();
  if (!rank.empty() && launch().rank > 0) std::this_thread::sleep_for(kOthersWait);
  const std::string line = message_line(fmt::format("{}: {}{}", name, rank, what)) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int run(const std::string& name, const std::function<void()>& body) {
  try {
    const FirstSpeaks first;
    require_stack();
    (void)num_threads();  // reports an invalid environment variable before anything starts
    body();
    return 0;
  } catch (const Interrupted& interrupted) {
    complain(name, interrupted.message);
    return 128 + interrupted.signal;
  } catch (const UsageError& error) {
    complain(name, fmt::format("{} (see --help)", error.what()));
    return 2;
  } catch (const std::bad_alloc&) {
    complain(name, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().string();
    complain(name, fmt::format("{}{}{}", path, path.empty() ? "" : ": ", error.code().message()));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) {
      complain(name, fmt::format("standard output: cannot write: {}", error.code().message()));
    } else {
      complain(name, error.what());
    }
  } catch (const std::exception& error) {
    complain(name, error.what());
  }
  return 1;
}

}  // namespace

int run_program(const std::string& name, const std::function<void()>& body) {
  open_standard_streams();
  remove_pending_on_signals();
  const int status = run(name, body);
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || status != 0) return status;
  complain(name, fmt::format("standard output: cannot write{}{}", errno != 0 ? ": " : "",
                             errno != 0 ? std::strerror(errno) : ""));
  return 1;
}

}  // namespace adj
