#include <adjoint/training/search/search.h>
#include <adjoint/training/search/tpe.h>

#include <algorithm>
#include <cmath>

namespace adj::training {

namespace {

/// The trial to promote from this rung: the best of those in the top 1 / reduction that were not; or none.
std::optional<size_t> promotable(const std::vector<SearchTrial>& trials, size_t rung, size_t reduction,
                                 const std::vector<size_t>& started) {
  std::vector<size_t> ranked;
  for (size_t k = 0; k < trials.size(); ++k)
    if (trials[k].scores.size() > rung) ranked.push_back(k);
  std::ranges::stable_sort(ranked, {}, [&](size_t k) { return trials[k].scores[rung]; });
  ranked.resize(ranked.size() / reduction);
  for (const size_t k : ranked)
    if (std::isfinite(trials[k].scores[rung]) && started[k] == rung + 1) return k;
  return {};
}

}  // namespace

std::vector<SearchTask> Search::next_halving(std::vector<SearchTrial>& all) const {
  std::vector<size_t> started;  // rungs of each trial
  for (const SearchTrial& trial : all) started.push_back(trial.scores.size());
  std::vector<SearchTask> tasks;
  while (tasks.size() < generation) {
    std::optional<SearchTask> task;
    for (size_t rung = rungs - 1; rung-- > 0 && !task;)
      if (const auto trial = promotable(all, rung, reduction, started)) task = {*trial, rung + 1};
    if (!task && all.size() < trials) {
      task = {all.size(), 0};
      all.push_back({random_assignment(space, seed, all.size())});
      started.push_back(0);
    }
    if (!task) break;
    ++started[task->trial];
    tasks.push_back(*task);
  }
  return tasks;
}

std::vector<SearchTask> Search::next(std::vector<SearchTrial>& trials_so_far) const {
  if (method == SearchMethod::asha) return next_halving(trials_so_far);
  std::vector<SearchTask> tasks;
  const size_t known = trials_so_far.size();
  const auto add = [&](Assignment values) {
    tasks.push_back({trials_so_far.size(), 0});
    trials_so_far.push_back({std::move(values)});
  };
  if (method == SearchMethod::grid && known == 0)
    for (Assignment& values : grid_of(space)) add(std::move(values));
  if (method == SearchMethod::random)
    while (trials_so_far.size() < trials) add(random_assignment(space, seed, trials_so_far.size()));
  if (method != SearchMethod::tpe) return tasks;
  if (known < startup) {
    while (trials_so_far.size() < std::min(startup, trials))
      add(random_assignment(space, seed, trials_so_far.size()));
    if (!tasks.empty()) return tasks;
  }
  const std::vector<SearchTrial> before = trials_so_far;
  std::vector<Observation> observations;
  for (const SearchTrial& trial : before)
    if (std::isfinite(trial.scores[0])) observations.push_back({&trial.values, trial.scores[0]});
  std::vector<Assignment> pending;
  while (trials_so_far.size() < std::min(known + generation, trials)) {
    pending.push_back(tpe_assignment(space, observations, pending, seed, trials_so_far.size()));
    add(pending.back());
  }
  return tasks;
}

}  // namespace adj::training
