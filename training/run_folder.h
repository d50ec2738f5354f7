#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace adj::training {

/// What a run was and what came of it: the file run.json of a run's folder, which `compare` reads.
struct RunSummary {
  std::string program, version;                     ///< "train_gcn", "0.1.0"
  std::string isa, device;                          ///< "avx512", "cuda:0"
  std::map<std::string, std::string> options = {};  ///< all of them, as text
  std::string result = "{}";                        ///< a JSON object: what --json prints
  /// Members of `result` that are numbers or texts, as text, in order. Set by read_run().
  std::vector<std::pair<std::string, std::string>> results = {};

  /// One of results; empty where there is none.
  std::string result_named(const std::string& name) const;
};

/// Makes the folder of a run, where --run-dir puts its files. Throws DataError where it cannot be made, or
/// holds a run that is over, unless `again` says that this one goes on from it.
void make_run_folder(const std::string& folder, bool again = false);
/// Writes FOLDER/run.json. Throws DataError.
void write_run(const std::string& folder, const RunSummary& run);
/// Throws DataError naming the file and what is wrong with it.
RunSummary read_run(const std::string& folder);

}  // namespace adj::training
