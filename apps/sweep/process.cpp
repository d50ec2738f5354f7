#include "process.h"

#include <adjoint/core/error.h>
#include <adjoint/core/program.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace adj::apps {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kGrace{10};  // from SIGTERM to SIGKILL, of one that timed out

struct Running {
  size_t number;
  pid_t pid;
  Clock::time_point start;
  bool timed_out = false;
};

/// In the child: never returns.
[[noreturn]] void become(const char* program, char* const* words, int log, pid_t parent) {
  setpgid(0, 0);  // Ctrl-C is for the parent alone
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // it ended before
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
      dup2(log, STDERR_FILENO) < 0)
    _exit(126);
  execv(program, words);
  _exit(127);
}

}  // namespace

SignalQueue::SignalQueue() {
  sigemptyset(&waited_);
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&waited_, number);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;  // children of a process that ignores SIGCHLD leave no status
  sigaction(SIGCHLD, &usual, nullptr);
  sigprocmask(SIG_BLOCK, &waited_, &before_);
}
SignalQueue::~SignalQueue() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

int SignalQueue::next() const {
  const timespec wait{0, 100'000'000};
  return std::max(0, sigtimedwait(&waited_, nullptr, &wait));
}

pid_t start_process(const std::string& program, const std::vector<std::string>& words,
                    const std::string& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) data_fail("{}: {}", log, std::strerror(errno));
  std::vector<std::string> copies{program};
  copies.insert(copies.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : copies) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) become(program.c_str(), pointers.data(), file, parent);
  const int error = errno;
  ::close(file);
  if (child < 0) fail("{}: cannot be started: {}", program, std::strerror(error));
  return child;
}

void run_processes(size_t count, size_t slots, double timeout,
                   const std::function<pid_t(size_t, size_t)>& start,
                   const std::function<void(size_t, const ProcessEnd&)>& ended) {
  const SignalQueue signals;
  std::vector<std::optional<Running>> running(slots);
  size_t next = 0, alive = 0;
  int interrupted = 0;
  const auto send = [&](int number) {
    for (const auto& one : running)
      if (one) ::kill(one->pid, number);
  };
  const auto reap = [&](std::optional<Running>& one) {
    int status = 0;
    if (!one || waitpid(one->pid, &status, WNOHANG) != one->pid) return;
    const Running end = *one;
    one.reset();
    --alive;
    if (interrupted == 0) ended(end.number, {status, end.timed_out});
  };
  const auto limit = [&](std::optional<Running>& one) {
    if (!one || timeout <= 0.0) return;
    const std::chrono::duration<double> most(timeout), age = Clock::now() - one->start;
    if (age > most) {
      if (!one->timed_out) ::kill(one->pid, SIGTERM);
      one->timed_out = true;
    }
    if (age > most + kGrace) ::kill(one->pid, SIGKILL);
  };
  try {
    while (alive > 0 || (next < count && interrupted == 0)) {
      for (size_t slot = 0; slot < slots; ++slot)
        if (!running[slot] && next < count && interrupted == 0) {
          running[slot] = Running{next, start(next, slot), Clock::now()};
          ++next;
          ++alive;
        }
      const int signal = signals.next();
      if (signal != 0 && signal != SIGCHLD) {
        send(interrupted == 0 ? SIGTERM : SIGKILL);
        interrupted = signal;
      }
      for (auto& one : running) limit(one), reap(one);
    }
  } catch (...) {
    send(SIGKILL);
    throw;
  }
  if (interrupted != 0) throw Interrupted{interrupted, ""};
}

std::string failure_of(const ProcessEnd& end, const std::string& program, const std::string& log) {
  if (end.timed_out) return "timed out";
  if (WIFSIGNALED(end.status))
    return fmt::format("ended by signal {} ({}){}", WTERMSIG(end.status), strsignal(WTERMSIG(end.status)),
                       WTERMSIG(end.status) == SIGKILL ? ", perhaps as memory ran out" : "");
  const int status = WEXITSTATUS(end.status);
  if (status == 0) return "";
  std::ifstream file(log);
  std::string last;
  const std::string mark = program + ": ";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(mark)) last = line.substr(mark.size());
  return last.empty() ? fmt::format("ended with status {} and no message", status) : message_line(last);
}

}  // namespace adj::apps
