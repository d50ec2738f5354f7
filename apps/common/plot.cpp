#include "gnuplot.h"
#include "outputs.h"
#include <adjoint/core/file.h>

#include <cmath>
#include <map>

namespace adj::apps {

namespace {

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
