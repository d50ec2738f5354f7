#pragma once

#include <adjoint/training/search/search.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace adj::apps {

/// A study: a search over options of a training program, as its YAML file says (docs/programs.md).
struct Study {
  std::string path;                   ///< of the file
  std::string program;                ///< "train_gcn"
  std::string folder;                 ///< of trials and results
  std::string objective = "val_acc";  ///< the member of the results to optimise
  training::Search search = {};
  std::vector<std::pair<std::string, std::string>> options = {};  ///< fixed ones, with `runs`
  std::vector<int64_t> rung_epochs = {};                ///< of asha: --epochs after each rung; else empty
  int64_t jobs = 0;                                     ///< trainings in parallel; 0: one for each device
  int64_t threads = 0;                                  ///< of each; 0: the cores shared among them
  std::vector<std::string> devices = {};                ///< that jobs are dealt to
  double timeout = 0.0;                                 ///< of a training, in s; 0: none
  std::vector<std::pair<std::string, int>> lines = {};  ///< of the file, where each option stands

  /// Options of a trial with these values, after `rung`, in YAML for --config.
  std::string config(const training::Assignment& values, size_t rung) const;
  /// The same as pairs.
  std::vector<std::pair<std::string, std::string>> options_of(const training::Assignment& values,
                                                              size_t rung) const;
  /// What decides the results, by name: a folder is continued by a study with the same alone.
  std::vector<std::pair<std::string, std::string>> identity() const;
  /// Trainings at most, of asha as in synchronous halving.
  size_t trainings() const;
  size_t slots() const;  ///< trainings in parallel
};

/// Reads a study. Throws DataError "FILE:LINE: message" for unknown keys, wrong values and conflicts.
Study read_study(const std::string& path);

/// Has the program check the fixed options and every parameter's choices and ends (--check). Throws
/// UsageError with its message and the line of the option.
void check_options(const Study& study);

/// The file of a program, which is beside this one.
std::string path_of_program(const std::string& name);

}  // namespace adj::apps
