#pragma once

#include "../support.h"

#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs programs as processes, as users do.

namespace adj::test {

/// Command-line arguments.
using Words = std::vector<std::string>;

inline Words joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Programs are in ADJOINT_BIN_DIR, else in this binary's folder.
inline std::string program_path(const std::string& name) {
  const char* folder = std::getenv("ADJOINT_BIN_DIR");
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return ((folder ? std::filesystem::absolute(folder) : self) / name).string();
}

inline Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The numbers of column `k` of a CSV file with a header.
inline std::vector<double> column(const std::string& path, size_t k) {
  std::vector<double> numbers;
  const Words lines = lines_of(contents_of(path));
  for (size_t i = 1; i < lines.size(); ++i) {
    std::istringstream line(lines[i]);
    std::string cell;
    for (size_t j = 0; j <= k; ++j) std::getline(line, cell, ',');
    numbers.push_back(std::stod(cell));
  }
  return numbers;
}

/// Predictions of nodes or graphs in a file: probabilities, or predictions of a regression.
inline Tensor predictions_in(const std::string& path) {
  const H5Reader file = H5Reader::open(path);
  for (const char* name : {"nodes/probability", "graphs/probability"})
    if (file.has(name)) return file.tensor(name, {DType::f32});
  return file.tensor(file.has("nodes/prediction") ? "nodes/prediction" : "graphs/prediction", {DType::f32});
}

struct Outcome {
  int status = -1;  ///< exit status, or 128 + the signal that ended it
  std::string out, err;
};

/// A running program; killed by the destructor.
class Process {
 public:
  Process(const std::string& program, const Words& arguments,
          const std::map<std::string, std::string>& environment = {})
      : out_(folder_.file("out")), err_(folder_.file("err")) {
    std::string path = program_path(program);
    REQUIRE_MESSAGE(std::filesystem::exists(path), "no program " << path);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ > 0) return;
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(out_.c_str(), O_WRONLY | O_CREAT, STDOUT_FILENO);
    redirect(err_.c_str(), O_WRONLY | O_CREAT, STDERR_FILENO);
    Words words = arguments;
    std::vector<char*> pointers{path.data()};
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(path.c_str(), pointers.data());
    _exit(127);
  }
  ~Process() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) const { kill(pid_, signal); }
  Outcome wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents_of(out_),
            contents_of(err_)};
  }

 private:
  static void redirect(const char* path, int flags, int descriptor) {
    const int opened = open(path, flags, 0600);
    if (opened < 0 || dup2(opened, descriptor) < 0) _exit(126);
    ::close(opened);
  }

  TemporaryDirectory folder_;
  std::string out_, err_;
  pid_t pid_ = 0;
};

inline Outcome run(const std::string& program, const Words& arguments,
                   const std::map<std::string, std::string>& environment = {}) {
  return Process(program, arguments, environment).wait();
}

/// Requires success; on failure the test's message is the program's stderr.
inline Outcome succeeds(Outcome outcome) {
  if (outcome.status != 0) MESSAGE(outcome.err);
  REQUIRE(outcome.status == 0);
  return outcome;
}

inline Outcome succeeds(const std::string& program, const Words& arguments) {
  return succeeds(run(program, arguments));
}

/// Runs it in a shell, after `before`, with the redirections `how` (">&-", "2>/dev/full").
inline Outcome run_in_shell(const std::string& before, const std::string& how, const std::string& program,
                            const Words& arguments) {
  Words words{"-c", before + " exec \"$0\" \"$@\" " + how, program_path(program)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run("/bin/sh", words);
}

/// Runs it on a terminal, which is all that it writes to. /usr/bin/script is in every Debian; a minimal root
/// file system may have no terminals: then empty.
inline std::string shown_by(const std::string& program, const Words& arguments) {
  std::string command = program_path(program);
  for (const std::string& word : arguments) command += " '" + word + "'";
  const Outcome outcome = run("/usr/bin/script", {"-qec", command, "/dev/null"});
  const bool terminal = outcome.err.find("pseudo-terminal") == std::string::npos;
  if (!terminal) MESSAGE("skipped: no terminal to be had");
  return terminal ? outcome.out : "";
}

/// The lines that a wide terminal shows after this output.
inline Words screen(const std::string& output) {
  Words lines(1);
  size_t column = 0;
  for (size_t i = 0; i < output.size(); ++i) {
    std::string& line = lines.back();
    if (output[i] == '\n') {
      lines.emplace_back();
    } else if (output[i] == '\r') {
      column = 0;
    } else if (output.compare(i, 3, "\x1b[K") == 0) {
      line.resize(column);
      i += 2;
    } else {
      line.resize(std::max(line.size(), column + 1), ' ');
      line[column++] = output[i];
    }
  }
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

/// True for this status and one line on stderr that mentions every part.
inline bool fails_with(const Outcome& outcome, int status, const Words& parts) {
  const bool one_line = lines_of(outcome.err).size() == 1 && outcome.err.ends_with('\n');
  if (outcome.status != status || !one_line) {
    MESSAGE("status " << outcome.status << ", expected " << status << " and one line: " << outcome.err);
    return false;
  }
  return outcome.out.empty() && mentions(outcome.err, parts);
}

/// Arguments, and parts of the error that they cause.
struct Refusal {
  Words arguments, parts;
};

/// Checks status and error of run(arguments) for each, with `also` in every error.
template <class Run>
void check_refused(Run&& run, const std::vector<Refusal>& refusals, const Words& also = {}, int status = 2) {
  for (const auto& [arguments, parts] : refusals) {
    std::string line;
    for (const std::string& word : arguments) line += word + " ";
    CAPTURE(line);
    CHECK(fails_with(run(arguments), status, joined(parts, also)));
  }
}
inline auto program(const std::string& name, const Words& always = {}) {
  return [=](const Words& more) { return run(name, joined(always, more)); };
}

}  // namespace adj::test
