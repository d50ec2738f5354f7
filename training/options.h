#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/option.h>
#include <adjoint/models/family.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a training program can be asked for, by group. Each group lists its options for a command line; the
// defaults are those of Kipf & Welling (2017) unless a program sets others.

namespace adj {
class StoredCuts;
}

namespace adj::training {

struct Options;
class Loader;

/// The dataset, and how its features are prepared.
struct DataOptions {
  std::string path;         ///< empty: the embedded demo dataset
  std::string split = "0";  ///< a number, or "all": run r trains on split r
  std::string metric = "auto";
  std::string features_scaling = "auto";  ///< "none", "rows", "standard"
  int64_t features_bits = 32;             ///< of each feature: 1 to 8, or 32 for floats
  bool inductive = false;                 ///< the graph is a new edge list at the beginning of every epoch
  std::string aggregation = "auto";       ///< over such a list: "reduce", "scatter" or "measure"

  void check() const;
};

/// Where and how numbers are computed.
struct ComputeOptions {
  std::string device = "cpu";
  std::string precision = "float32";  ///< or "tf32", "bfloat16"
  std::string kernels = "auto";       ///< of sparse products on a GPU: "csr", "tiles", "hybrid"
  std::string cuts;                   ///< file of cuts for tensor cores; empty: none
  int64_t threads = 0;                ///< 0: all cores
  bool no_capture = false;
  bool explain = false;

  /// Of features and parameters.
  DType dtype() const { return precision == "bfloat16" ? DType::bf16 : DType::f32; }
  /// Sets threads, precision, sparse kernels and explanations for the whole process.
  void apply() const;
  void check(const Options& all) const;
};

/// Optimizer, epochs and repetitions.
struct RunOptions {
  int64_t epochs = 200;
  double lr = 0.01;
  double weight_decay = 5e-4;
  int64_t seed = 0;
  int64_t runs = 1;                    ///< with seeds seed, seed + 1, …
  int64_t patience = 0;                ///< 0: never stop early
  std::string patience_on = "metric";  ///< what must get better: "metric", or "either" (it or the loss)
  int64_t eval_every = 1;

  void check() const;
};

/// Files and reports.
struct OutputOptions {
  bool report = false;  ///< precision, recall and F1 by class
  bool json = false, quiet = false;
  std::string metrics, predict, plot, checkpoint, resume;
  int64_t checkpoint_every = 10;
  std::string html;            ///< a page on the training (training/report.h)
  std::string tensorboard;     ///< folder of events; of several runs a folder run-R in it for each
  bool profile = false;        ///< time and memory by op
  std::string trace, run_dir;  ///< of a profile; a folder for all of these
  std::string config;          ///< file of options

  /// Makes the folder that --run-dir names: there metrics, checkpoint, page, events and trace go that no
  /// option says a place for.
  void use_run_folder();
  /// Refuses, before anything is trained, files that cannot be written or that would overwrite an input or
  /// each other.
  void check_files(const Options& all) const;
};

/// Mini-batches, and where their features are.
struct BatchOptions {
  std::vector<std::shared_ptr<Loader>> loaders = {};  ///< that the program offers, each with its own options
  std::string loader = "none";                        ///< the name of one, or the whole graph at once
  std::string workers = "auto";       ///< threads that prepare batches: a number, or 1, on a GPU up to 4
  std::string evaluation = "layers";  ///< of all nodes: "layers", or "graph" at once
  bool by_layers = true;              ///< does the program offer --evaluation?
  int64_t batch_size = 1024;          ///< nodes to train on, or that a layer is evaluated for at once
  std::string features = "device";    ///< where those of all nodes are: or "host", or "file"
  std::string cached_rows = "0";      ///< of those elsewhere, kept on the device: a number, or a share "20%"

  /// The one that --loader names; null for "none".
  std::shared_ptr<Loader> chosen() const;
  /// Throws UsageError unless `workers` is "auto" or 0 to kMaxThreads.
  int num_workers(const std::string& device) const;
  OptionList features_list();
  /// Of evaluations layer by layer, and of where their features are.
  OptionList layers_list(const std::string& things);
  /// Throws UsageError where the place of features does not go with the evaluation or the device.
  void check_features(const std::string& device) const;
};

/// All options of a training program.
struct Options {
  /// With the defaults of the family's first model.
  Options(models::ModelFamily family, std::string summary);

  models::ModelFamily family;
  std::string summary;  ///< one line for --help
  DataOptions data;
  ComputeOptions compute;
  models::ModelOptions model;
  RunOptions run;
  OutputOptions output;
  BatchOptions batches;
  OptionList own = {};  ///< the program's own, of its training

  // What --help says.
  std::string things = "nodes";            ///< that the program trains on
  std::string decayed = "all parameters";  ///< as Model::decays() has it
  std::string metric_help =
      "accuracy, auc or f1 for classes (auto: auc for two), auc or f1 for several labels (auto: auc), r2 or "
      "mae for regression (auto: r2)";

  // What a command line was read to.

  std::map<std::string, std::string> values = {};  ///< of all options, as text

  std::map<std::string, std::string> defaults = {};  ///< by option, as text: what the program had set

  /// Options that decide the result, as text: a checkpoint must agree with them.
  std::map<std::string, std::string> identity = {};
  /// What of it shapes the model and its training, for --json: "weight_decay" and its value.
  std::vector<std::pair<std::string, std::string>> hyperparameters = {};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::shared_ptr<StoredCuts> cuts = {};

  const std::string& program() const { return family.program; }  ///< "train_gcn"

  struct Group {
    std::string name;
    OptionList options;
  };
  /// As --help lists them. They point into this object.
  std::vector<Group> groups();
  /// Does it differ from what the program had set? False where no command line was read.
  bool changed(const Option& option) const;
  /// Throws UsageError where an option is out of range, or some do not go together.
  void check();
  /// Begins the program's work: settings of the process, checked output files, the log level.
  void apply();
};

/// The options by which a family's models are made, bound to `values`.
OptionList bind(const models::ModelFamily& family, models::ModelOptions& values);
/// --split as a number; empty for "all". Throws UsageError where it is neither.
std::optional<int64_t> split_number(const std::string& split);
/// --features-scaling, and --workers.
Option scaling_option(std::string& value);
Option workers_option(std::string& value);

}  // namespace adj::training
