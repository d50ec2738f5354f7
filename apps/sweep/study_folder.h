#pragma once

#include "process.h"
#include "trial_result.h"

#include <memory>

namespace adj::apps {

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

  const Study& study_;
  std::shared_ptr<const void> lock_;
};

}  // namespace adj::apps
