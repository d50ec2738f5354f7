#pragma once

#include <map>
#include <memory>
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
  bool finished = true;                             ///< false while it runs, and if it was interrupted
  std::string data = {};                            ///< fingerprint of the dataset; older files have none
  std::string validation = {};                      ///< LearningTask::validation; older files have none
  /// Members of `result` that are numbers or texts, as text, in order. Set by read_run().
  std::vector<std::pair<std::string, std::string>> results = {};

  /// The result of that name; empty if there is none.
  std::string result_named(const std::string& name) const;
};

/// Makes the folder of a run, where --run-dir puts its files. Throws DataError if it cannot be made, or holds
/// files of a run, unless `resumed` is the checkpoint of that run.
void make_run_folder(const std::string& folder, const std::string& resumed = "");
/// The same. A new folder that is still empty when the result goes, as after an error, is removed.
[[nodiscard]] std::shared_ptr<const void> reserve_run_folder(const std::string& folder,
                                                             const std::string& resumed);
/// Locks the folder for this process while the result lives. Throws DataError if another one holds it.
[[nodiscard]] std::shared_ptr<const void> lock_run_folder(const std::string& folder);
/// Writes FOLDER/run.json of a run that begins, not finished. Throws DataError if another one began in the
/// folder, unless `resumed` is its checkpoint.
void begin_run(const std::string& folder, RunSummary run, const std::string& resumed = "");
/// Writes FOLDER/run.json. Throws DataError.
void write_run(const std::string& folder, const RunSummary& run);
/// Whether this option is about files of one run, as --checkpoint and --checkpoint-every are.
bool names_run_file(const std::string& option);
/// Parses the contents of a run.json. Throws DataError naming `path` if they are damaged.
RunSummary parse_run(const std::string& text, const std::string& path);
/// Reads FOLDER/run.json. Throws DataError if it is missing or damaged.
RunSummary read_run(const std::string& folder);

}  // namespace adj::training
