#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace adj::apps {

/// How a program ended.
struct ProcessEnd {
  int status = 0;          ///< as of waitpid()
  bool timed_out = false;  ///< and was ended for it
};

/// While alive, SIGINT, SIGTERM and SIGHUP wait for run_processes().
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// The next signal, also SIGCHLD; 0 after a tenth of a second without one.
  int next() const;

 private:
  sigset_t waited_, before_;
};

/// Starts a program in a process group of its own, with its output in the file `log`; it ends with this
/// process. Throws Error.
pid_t start_process(const std::string& program, const std::vector<std::string>& words,
                    const std::string& log);

/// Runs processes 0 … count - 1, `slots` at once: start(k, slot) starts one, ended(k, end) hears of its end.
/// Those that run longer than `timeout` s (0: any time) are ended. After SIGINT, SIGTERM or SIGHUP ends all,
/// which finish an epoch first, or on a second signal at once, and throws Interrupted; these are not heard
/// of.
void run_processes(size_t count, size_t slots, double timeout,
                   const std::function<pid_t(size_t k, size_t slot)>& start,
                   const std::function<void(size_t k, const ProcessEnd& end)>& ended);

/// Why a program failed, in one line: its last message in `log`, or its signal; empty if it did not fail.
std::string failure_of(const ProcessEnd& end, const std::string& program, const std::string& log);

}  // namespace adj::apps
