#include "outputs.h"
#include <adjoint/core/file.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// gnuplot runs as a process of its own: commands and data through its standard input, the SVG from its
// standard output. No shell and no file name of the user's is part of what it reads.

extern char** environ;

namespace adj::apps {

namespace {

constexpr const char* kMissing = "--plot needs gnuplot: install it (Debian: gnuplot-nox)";

/// Letters, digits and harmless signs; all others become '-', so that nothing can end a quoted string.
std::string plain(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::strchr(" .,()-", c) == nullptr) c = '-';
  return text;
}

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

/// What gnuplot prints for `script`.
std::string run_gnuplot(const std::string& script) {
  // The script goes through a file without a name: written in full before gnuplot starts, so that neither
  // side can wait for the other.
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

std::string row(const EpochRecord& r) {
  return fmt::format("{} {} {} {}\n", r.epoch, r.train_loss, r.val_loss, r.val_metric);
}

/// The mean over the runs at every epoch that all of them reached.
std::string means(const std::vector<EpochRecord>& history, size_t runs) {
  std::map<int64_t, std::pair<EpochRecord, size_t>> sums;
  for (const EpochRecord& r : history) {
    auto& [sum, count] = sums[r.epoch];
    sum.train_loss += r.train_loss;
    sum.val_loss += r.val_loss;
    sum.val_metric += r.val_metric;
    ++count;
  }
  std::string block = "$mean << end_of_data\n";
  const auto all = static_cast<double>(runs);
  for (const auto& [epoch, entry] : sums)
    if (const auto& [sum, count] = entry; count == runs)
      block += row({0, epoch, sum.train_loss / all, sum.val_loss / all, sum.val_metric / all});
  return block + "end_of_data\n";
}

}  // namespace

void require_gnuplot() {
  if (run_gnuplot("set terminal svg\nset print '-'\nprint 'svg'\n") != "svg\n") fail("{}", kMissing);
}

void write_plot(const std::string& path, const std::string& title, const Metric& metric,
                const std::vector<EpochRecord>& history, const std::vector<RunResult>& results) {
  const size_t runs = results.size();
  const bool several = runs > 1;
  std::string script = several ? means(history, runs) : "";
  // One block of data a run; two blank lines stand between blocks.
  script += "$curves << end_of_data\n";
  for (size_t i = 0; i < history.size(); ++i) {
    if (i > 0 && history[i - 1].run != history[i].run) script += "\n\n";
    script += row(history[i]);
  }
  script += "end_of_data\n$best << end_of_data\n";
  double test_metric = 0.0;
  for (const RunResult& r : results) {
    script += fmt::format("{} {} {}\n", r.best_epoch, r.val_metric, r.test_metric);
    test_metric += r.test_metric / static_cast<double>(runs);
  }
  script += fmt::format(
      "end_of_data\n"
      "set terminal svg size 900,540 dynamic font 'sans-serif,14' background '#ffffff'\n"
      "set title '{}' noenhanced\n"
      "set xlabel 'epoch'\nset ylabel 'loss'\nset yrange [0:*]\nset y2label '{}'\nset y2range [{}:{}]\n"
      "set ytics nomirror\nset y2tics\nset grid\nset key outside bottom center horizontal\nplot ",
      plain(title), metric.name, metric.low < 0.0 ? "*" : "0", std::isfinite(metric.high) ? "1" : "*");
  const struct {
    int column;
    const char *axes, *color;
    std::string title;
  } curves[] = {{2, "x1y1", "4477aa", "training loss"},
                {3, "x1y1", "ee6677", "validation loss"},
                {4, "x1y2", "228833", fmt::format("validation {}", metric.name)}};
  for (const auto& c : curves) {
    // Of several runs each is faint, and their mean stands out.
    script += fmt::format("for [r=0:{}] $curves index r using 1:{} axes {} with lines lc '#{}{}' ", runs - 1,
                          c.column, c.axes, several ? "b0" : "", c.color);
    if (several)
      script += fmt::format("notitle, $mean using 1:{} axes {} with lines lw 2 lc '#{}' ", c.column, c.axes,
                            c.color);
    script += fmt::format("title '{}{}', ", c.title, several ? fmt::format(", mean of {} runs", runs) : "");
  }
  script += fmt::format(
      "$best using 1:2 axes x1y2 with points pt 7 ps 0.7 lc '#228833' title 'best epoch{}', "
      "$best using 1:3 axes x1y2 with points pt 8 ps 1.2 lw 2 lc '#aa3377' title 'test {} {:.4f}'\n",
      several ? "s" : fmt::format(" {}", results[0].best_epoch), metric.name, test_metric);
  replace_file(path, run_gnuplot(script));
}

}  // namespace adj::apps
