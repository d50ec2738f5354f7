#pragma once

#include "study_folder.h"

namespace adj::apps {

/// Trains all that the search asks for, or continues it. Throws Interrupted.
class StudyRun {
 public:
  explicit StudyRun(const Study& study);
  void finish();

  const std::vector<training::SearchTrial>& trials() const { return trials_; }
  /// After the last rung that did not fail, else its failure.
  const TrialResult& last(size_t trial) const;
  size_t last_rung(size_t trial) const;

 private:
  void run(const std::vector<training::SearchTask>& tasks);
  std::optional<TrialResult> earlier(const training::SearchTask& task) const;
  void expect_comparable(const TrialResult& result, size_t trial);

  const Study& study_;
  StudyFolder folder_;
  std::vector<training::SearchTrial> trials_;
  std::vector<std::vector<TrialResult>> results_;        // of each trial after each rung
  std::optional<std::pair<size_t, TrialResult>> first_;  // that did not fail, with its trial
};

/// Prints the best trials by the validation and the importance of parameters, and writes FOLDER/best.yaml.
/// Throws DataError if all failed.
void report(const Study& study, const StudyRun& run);

}  // namespace adj::apps
