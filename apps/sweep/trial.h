#pragma once

#include "process.h"
#include "study.h"

#include <map>

namespace adj::apps {

/// What came of a trial's training up to a rung.
struct TrialResult {
  std::string message = {};  ///< why it failed; empty if it did not
  double value = 0.0;        ///< of the objective
  std::optional<double> deviation = {}, test = {}, test_deviation = {};
  std::string metric = {};  ///< of val_acc
  /// Fingerprints of the data and of the validation examples, and the metric: equal in all trials.
  std::string validated = {};
  int64_t epochs = 0;    ///< --epochs of a rung; 0 without rungs
  int64_t same_as = -1;  ///< an earlier trial with the same options, whose result it is
  bool failed() const { return !message.empty(); }
};

/// Whether higher values of the objective are better. Throws DataError if that is not known.
bool is_higher_better(const TrialResult& result, const std::string& objective);
/// Lower scores are better. Throws likewise.
double score_of(const TrialResult& result, const std::string& objective);

/// The files of a study: FOLDER/study.json, what decides it; of trial 7 the folder of its run
/// FOLDER/trial-0007, and FOLDER/trial-0007.json, results that stand.
class StudyFolder {
 public:
  /// Makes or continues it, and locks it. Throws DataError if it is another study's, or in use.
  explicit StudyFolder(const Study& study);

  std::string trial(size_t number) const;  ///< the folder of a run
  /// The result after a rung, if it stands: written, or of a run that ended without being heard of.
  std::optional<TrialResult> result(size_t number, size_t rung, const training::Assignment& values) const;
  /// Starts or continues the training of a trial up to a rung.
  pid_t start(size_t number, size_t rung, const training::Assignment& values, size_t slot) const;
  /// Reads the result of a training that ended.
  TrialResult ended(size_t number, size_t rung, const ProcessEnd& end) const;
  /// Makes a result stand.
  void write(size_t number, size_t rung, const training::Assignment& values, const TrialResult& result) const;

 private:
  std::string record(size_t number) const;
  TrialResult read_result(size_t number, size_t rung) const;

  const Study& study_;
  std::shared_ptr<const void> lock_;
};

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
