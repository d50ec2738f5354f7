#include "gnuplot.h"

#include <adjoint/core/error.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// gnuplot runs as a child process: script and data on standard input, SVG on standard output. No shell, and
// no user-given file names in the script.

extern char** environ;

namespace adj::training {

namespace {

constexpr const char* kMissing = "--plot needs gnuplot: install it (Debian: gnuplot-nox)";

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) fail("pipe: {}", std::strerror(errno));
  }
  ~Pipe() {
    for (int end : {0, 1}) shut(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int operator[](int end) const { return ends_[end]; }
  void shut(int end) {
    if (ends_[end] >= 0) close(std::exchange(ends_[end], -1));
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

std::string run_gnuplot(const std::string& script) {
  // The script goes through an anonymous file, complete before gnuplot starts, so that neither side can block
  // the other.
  std::FILE* input = std::tmpfile();
  if (input == nullptr) fail("plot: no temporary file: {}", std::strerror(errno));
  Pipe output;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  std::fwrite(script.data(), 1, script.size(), input);
  std::rewind(input);
  posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  char name[] = "gnuplot", defaults[] = "-d", from_input[] = "-";
  char* arguments[] = {name, defaults, from_input, nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  std::fclose(input);
  if (error != 0) fail("{} ({})", kMissing, std::strerror(error));

  output.shut(1);
  std::string text;
  char buffer[1 << 14];
  while (true) {
    const ssize_t got = read(output[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("plot: gnuplot failed on the curves");
  return text;
}

std::string plain(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::strchr(" .,()-", c) == nullptr) c = '-';
  return text;
}

void require_gnuplot() {
  if (run_gnuplot("set terminal svg\nset print '-'\nprint 'svg'\n") != "svg\n") fail("{}", kMissing);
}

}  // namespace adj::training
