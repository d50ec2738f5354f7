#pragma once

#include "../support.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace adj::test {

/// The exception of `f` in a child process: its message, "no error", or "no memory".
template <class F>
std::string error_in_child(F&& f) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    std::string message = "no error";
    try {
      f();
    } catch (const OutOfMemory&) {
      message = "no memory";
    } catch (const std::bad_alloc&) {
      message = "no memory";
    } catch (const std::exception& error) {
      message = error.what();
    }
    const bool written =
        write(ends[1], message.data(), message.size()) == static_cast<ssize_t>(message.size());
    _exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string message;
  char bytes[4096];
  for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof(bytes))) > 0;)
    message.append(bytes, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? message : "killed";
}

/// The same within a memory limit, on one thread. No limit under a sanitizer, which needs much memory.
template <class F>
std::string error_within(size_t megabytes, F&& f) {
  return error_in_child([&] {
    const Threads one(1);
    empty_cache(Device::cpu());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + (megabytes << 20);
    const rlimit most{limit, limit};
    setrlimit(RLIMIT_AS, &most);
#endif
    f();
  });
}

}  // namespace adj::test
