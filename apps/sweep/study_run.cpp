#include "study_run.h"

#include "../common/run_table.h"
#include <adjoint/core/error.h>
#include <adjoint/core/log.h>
#include <adjoint/core/progress.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cmath>

namespace adj::apps {

using training::SearchTask;

StudyRun::StudyRun(const Study& study) : study_(study), folder_(study) {}

size_t StudyRun::last_rung(size_t trial) const {
  const auto& all = results_[trial];
  for (size_t rung = all.size(); rung-- > 0;)
    if (!all[rung].failed()) return rung;
  return 0;
}
const TrialResult& StudyRun::last(size_t trial) const { return results_[trial][last_rung(trial)]; }

std::optional<TrialResult> StudyRun::earlier(const SearchTask& task) const {
  for (size_t k = 0; k < task.trial; ++k)
    if (trials_[k].values == trials_[task.trial].values && results_[k].size() > task.rung) {
      TrialResult same = results_[k][task.rung];
      if (same.same_as < 0) same.same_as = static_cast<int64_t>(k);
      return same;
    }
  return {};
}

void StudyRun::expect_comparable(const TrialResult& result, size_t trial) {
  if (result.failed()) return;
  if (!first_) first_.emplace(trial, result);
  if (result.validated != first_->second.validated)
    data_fail(
        "{}: trial {} was validated on other data, examples or by another metric than trial {}, so they "
        "cannot be compared",
        study_.folder, trial, first_->first);
}

void StudyRun::finish() {
  const SignalQueue signals;
  Progress progress(static_cast<int64_t>(study_.trainings()), 0, "training");
  for (;;) {
    const std::vector<SearchTask> tasks = study_.search.next(trials_);
    if (tasks.empty()) return;
    results_.resize(trials_.size());
    run(tasks);
    for (const SearchTask& task : tasks) {
      expect_comparable(results_[task.trial][task.rung], task.trial);
      trials_[task.trial].scores.push_back(score_of(results_[task.trial][task.rung], study_.objective));
    }
  }
}

void StudyRun::run(const std::vector<SearchTask>& tasks) {
  std::vector<std::optional<TrialResult>> found(tasks.size());
  std::vector<size_t> due, copies;
  for (size_t k = 0; k < tasks.size(); ++k) {
    const auto& [trial, rung] = tasks[k];
    const auto& values = trials_[trial].values;
    const bool copy = std::any_of(
        tasks.begin(), tasks.begin() + static_cast<ptrdiff_t>(k),
        [&](const SearchTask& other) { return other.rung == rung && trials_[other.trial].values == values; });
    found[k] = folder_.result(trial, rung, values);
    if (!found[k] && (found[k] = earlier(tasks[k]))) folder_.write(trial, rung, values, *found[k]);
    if (found[k])
      Progress::current()->advance();
    else
      (copy ? copies : due).push_back(k);
  }
  run_processes(
      due.size(), study_.slots(), study_.timeout,
      [&](size_t k, size_t slot) {
        const SearchTask& task = tasks[due[k]];
        return folder_.start(task.trial, task.rung, trials_[task.trial].values, slot);
      },
      [&](size_t k, const ProcessEnd& end) {
        const SearchTask& task = tasks[due[k]];
        const TrialResult result = folder_.ended(task.trial, task.rung, end);
        folder_.write(task.trial, task.rung, trials_[task.trial].values, result);
        if (result.failed()) log_warning("trial {}: {}", task.trial, result.message);
        found[due[k]] = result;
        Progress::current()->note(
            fmt::format("trial {}: {} {:.4f}", task.trial, study_.objective, result.value));
        Progress::current()->advance();
      });
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (found[k]) results_[tasks[k].trial].push_back(*found[k]);
  }
  for (const size_t k : copies) {
    const TrialResult result = *earlier(tasks[k]);
    folder_.write(tasks[k].trial, tasks[k].rung, trials_[tasks[k].trial].values, result);
    results_[tasks[k].trial].push_back(result);
    Progress::current()->advance();
  }
}

}  // namespace adj::apps
