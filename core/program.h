#pragma once

#include <functional>
#include <string>

namespace adj {

/// Thrown where SIGINT or SIGTERM came and what was begun has been ended in order.
struct Interrupted {
  int signal;
  std::string message;
};

/// What a program's main() stands in: runs `body` and returns the exit status. An error is one line on
/// stderr, whatever is in it: 2 for UsageError, 128 + its signal for Interrupted, 1 for all others, also
/// where what was printed could not be written. A standard stream that is closed becomes /dev/null, so that
/// no file is opened in its place. A file that is being written goes where SIGINT, SIGTERM or SIGHUP ends the
/// program (core/file.h).
int run_program(const std::string& name, const std::function<void()>& body);

}  // namespace adj
