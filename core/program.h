#pragma once

#include <functional>
#include <string>

namespace adj {

/// Thrown after SIGINT or SIGTERM, once pending work has been finished cleanly.
struct Interrupted {
  int signal;           ///< its number, such as 15 for SIGTERM
  std::string message;  ///< printed by run_program(), after the program's name
};

/// Wraps a program's main(): runs `body` and returns the exit status. An error is printed as one line on
/// stderr, whatever it contains; the status is 2 for UsageError, 128 + signal for Interrupted, 1 for all
/// others, including failed writes to stdout. Closed standard streams are opened as /dev/null, so that no
/// file gets their number. Temporary files are removed if SIGINT, SIGTERM or SIGHUP ends the program
/// (core/file.h). Of processes that mpirun or srun started together (core/launch.h) the first alone writes to
/// stdout and logs; an error is that of the rank that it names, of the first one if all have it.
int run_program(const std::string& name, const std::function<void()>& body);

}  // namespace adj
