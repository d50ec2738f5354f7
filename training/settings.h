#pragma once

#include <adjoint/core/group.h>
#include <adjoint/training/options.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>

namespace adj::training {

/// The options of a training as read: complete, in range and constant from then on.
struct Settings : Options {
  using Texts = std::map<std::string, std::string>;  ///< values by the options' names: "weight-decay"

  /// `usual`: the program's defaults as text; empty without a command line. Throws UsageError for options
  /// that are out of range or conflict.
  explicit Settings(Options read, Texts usual = {});

  bool evaluation_chosen = false;  ///< the whole graph, since the model needs it
  Texts defaults;                  ///< of all options, before reading
  Texts values = {};               ///< of all options, as read
  Texts identity = {};             ///< of those that affect the result: a checkpoint must match them
  /// Those of model and training, for --json: "weight_decay" and its value.
  std::vector<std::pair<std::string, std::string>> hyperparameters = {};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();  ///< of --json's wall_s

  /// Of processes that train on rows of a graph: of its edges and features each reads what belongs to its
  /// rows.
  std::optional<adj::Group> readers = std::nullopt;

  /// Whether an option whose value is `text` differs from the program's default. False without a command
  /// line.
  bool changed(const std::string& option, const std::string& text) const;
  /// Applies the options: process settings, log level, the folder of --run-dir, checks of the output files. A
  /// new folder that is still empty when the settings go, as after an error, is removed.
  void apply() const;

 private:
  void check();
  void describe();
  mutable std::shared_ptr<const void> new_folder_;  // removes it
};

}  // namespace adj::training
