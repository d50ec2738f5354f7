#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace adj::training {

/// Settings and results of a run: the file run.json in its folder, read by `compare`.
struct RunSummary {
  std::string program, version;                     ///< "train_gcn", "0.1.0"
  std::string isa, device;                          ///< "avx512", "cuda:0"
  std::map<std::string, std::string> options = {};  ///< all options, as text
  std::string result = "{}";                        ///< the JSON object that --json prints
  /// Members of `result` that are numbers or texts, as text, in order. Set by read_run().
  std::vector<std::pair<std::string, std::string>> results = {};

  /// The result of that name; empty if there is none.
  std::string result_named(const std::string& name) const;
};

/// Makes the folder of a run, where --run-dir puts its files. Throws DataError if it cannot be made or holds
/// a completed run, unless `again` (the run is resumed).
void make_run_folder(const std::string& folder, bool again = false);
/// Writes FOLDER/run.json. Throws DataError.
void write_run(const std::string& folder, const RunSummary& run);
/// Throws DataError naming the file and what is wrong with it.
RunSummary read_run(const std::string& folder);

}  // namespace adj::training
