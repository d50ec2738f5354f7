#pragma once

#include "study.h"

#include <nlohmann/json.hpp>

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

/// In a file of sweep.
nlohmann::ordered_json json_of(const TrialResult& result);
/// Throws nlohmann::json::exception for what json_of() does not write.
TrialResult result_of(const nlohmann::ordered_json& json);
/// Of a training that ended, in the folder of its run. Throws DataError without the objective among its
/// results.
TrialResult read_result(const Study& study, const std::string& folder, size_t rung);

}  // namespace adj::apps
