#pragma once

#include <adjoint/core/device.h>
#include <adjoint/core/option.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/models/family.h>
#include <adjoint/optim/schedule.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Options of a training program, by group. Each group lists its command-line options; the defaults are those
// of Kipf & Welling (2017) unless a program sets others.

namespace adj::training {

struct Options;
struct Settings;
class LoaderChoice;

/// Aggregation over the edge list (Aggregation); `measure`: the faster one in a trial.
enum class AggregationMethod : uint8_t { automatic, reduce, scatter, measure };
constexpr auto names_of(AggregationMethod) { return std::array{"auto", "reduce", "scatter", "measure"}; }

/// Criterion of early stopping: the validation metric, or metric and loss.
enum class PatienceOn : uint8_t { metric, either };
constexpr auto names_of(PatienceOn) { return std::array{"metric", "either"}; }  ///< on command lines

/// optim::Adam, optim::AdamW or optim::SGD.
enum class OptimizerKind : uint8_t { adam, adamw, sgd };
constexpr auto names_of(OptimizerKind) { return std::array{"adam", "adamw", "sgd"}; }

/// Of the learning rate over the epochs: constant, half a cosine to 0, a line to 0, or steps.
enum class ScheduleKind : uint8_t { none, cosine, linear, step };
constexpr auto names_of(ScheduleKind) { return std::array{"none", "cosine", "linear", "step"}; }

/// Evaluation layer by layer, or over the whole graph at once.
enum class EvaluationMethod : uint8_t { automatic, layers, graph };
constexpr auto names_of(EvaluationMethod) { return std::array{"auto", "layers", "graph"}; }

/// Location of the features of all nodes.
enum class FeaturePlace : uint8_t { device, host, file, split };
constexpr auto names_of(FeaturePlace) { return std::array{"device", "host", "file", "split"}; }

/// Use of edges/weight or edges/attr: where the model can, else say that it does not; as if there were none;
/// or stop where the model cannot. `attribute`, for weights: as a further edge attribute.
enum class EdgeUse : uint8_t { use, ignore, error, attribute };
constexpr auto names_of(EdgeUse) { return std::array{"use", "ignore", "error", "attribute"}; }

/// Reverse relations of a heterogeneous graph, which let messages pass both ways: add those that it lacks.
enum class ReverseRelations : uint8_t { add, none };
constexpr auto names_of(ReverseRelations) { return std::array{"add", "none"}; }  ///< on command lines

/// The dataset and the preparation of its features. `metric`: for the best epoch; "auto": by the labels.
/// `edge_weights`, `edge_attributes`: use of edges/weight and edges/attr. `aggregation` is for `inductive`.
struct DataOptions {
  std::string path;         ///< empty: the embedded demo dataset
  std::string split = "0";  ///< a number, or "all": run r trains on split r
  std::string metric = "auto";
  std::optional<FeatureScaling::Kind> features_scaling;  ///< absent: rows for bags of words, else real
  int64_t features_bits = 32;                            ///< per feature: 1 to 8, or 32 for floats
  bool inductive = false;                                ///< every epoch starts from a new edge list
  AggregationMethod aggregation = AggregationMethod::automatic;
  EdgeUse edge_weights = EdgeUse::use, edge_attributes = EdgeUse::use;
  std::string target = "auto";  ///< of several types: the one to predict; "auto": the only one with labels
  ReverseRelations reverse = ReverseRelations::add;  ///< of several types

  void check() const;  ///< throws UsageError for values out of range or in conflict
};

/// Device and numerics.
struct ExecutionOptions {
  std::string device = "cpu";  ///< or "cuda", "cuda:1"
  bool over_devices = false;   ///< whether the program offers `devices`
  std::string devices;  ///< of the ranks of a full-batch training: "all", "cuda:0,cuda:1"; empty: one rank
  int64_t ranks = 0;    ///< of `devices`; 0: one for each
  int64_t rank = 0;     ///< of this thread among them; no option
  models::Precision wire = models::Precision::float32;       ///< of float32 rows of other ranks' nodes
  models::Precision precision = models::Precision::float32;  ///< of storage and matrix products
  SparseKernels kernels = SparseKernels::automatic;          ///< of sparse products and attention
  std::string cuts;                                          ///< file of tensor-core cuts; empty: none
  int64_t threads = 0;                                       ///< 0: all cores
  bool no_capture = false;                                   ///< launch each kernel, no CUDA graph per step
  bool explain = false;                                      ///< print the kernels at the end, and why

  /// dtype of features and parameters.
  DType dtype() const { return precision == models::Precision::bfloat16 ? DType::bf16 : DType::f32; }
  /// Sets threads and explanations for the process, precision and sparse kernels for the calling thread
  /// (ComputeContext).
  void apply() const;
  void check(const Options& all) const;  ///< throws UsageError if options conflict with others
  /// Whether several ranks train: with `devices`, or as processes that were started together.
  bool over_ranks() const;
  /// The device of each rank; empty without `devices`. Throws UsageError for unknown ones.
  std::vector<Device> rank_devices() const;
  /// The device of this process, one of several that were started together (core/launch.h): `device`, where
  /// "cuda" is the GPU with its number on this host, or that of `devices`; likewise.
  Device process_device() const;
  int64_t host_devices() const;  ///< those that processes of a host may have: as many as they had better be

 private:
  void check_ranks(const Options& all) const;
  std::vector<Device> listed_devices() const;
};

/// Optimizer, epochs and repetitions: an `optimizer` with rate `lr` times the factor of `schedule`, an L2
/// penalty `weight_decay` (decoupled for adamw) on parameters that Model::decays(), stopping by
/// `patience_on`.
struct RunOptions {
  int64_t epochs = 200;
  double lr = 0.01;
  double weight_decay = 5e-4;
  std::string class_weights = "none";  ///< ClassWeights
  int64_t seed = 0;                    ///< of initial weights, dropout and draws
  int64_t runs = 1;                    ///< with seeds seed, seed + 1, …
  int64_t patience = 0;                ///< 0: never stop early
  PatienceOn patience_on = PatienceOn::metric;
  int64_t eval_every = 1;  ///< epochs from one validation to the next
  OptimizerKind optimizer = OptimizerKind::adam;
  double momentum = 0.9;  ///< of SGD
  ScheduleKind schedule = ScheduleKind::none;
  int64_t lr_step = 50;   ///< epochs of a step
  double lr_gamma = 0.1;  ///< factor of a step
  int64_t warm_up = 0;    ///< epochs of a linear warm-up before the schedule
  int64_t lr_halve = 0;   ///< without a schedule: epochs between halvings of the rate; 0: never

  /// Null if the rate is constant.
  optim::Schedule make_schedule() const;
  /// Whether the schedule depends on the number of epochs.
  bool spans_epochs() const { return schedule == ScheduleKind::cosine || schedule == ScheduleKind::linear; }
};

/// Output files and reports; an empty path is for none. `metrics`: losses and metric by epoch; `predict`:
/// predictions; `plot`: curves, SVG; `checkpoint`: the training's state; `resume`: one to continue from.
struct OutputOptions {
  bool class_scores = false;         ///< precision, recall and F1 per class
  bool json = false, quiet = false;  ///< a JSON object at the end; no progress
  bool escape_formulas = false;      ///< of predictions in CSV
  std::string metrics, predict, plot, checkpoint, resume;
  int64_t checkpoint_every = 10;  ///< epochs; one is also written at the end
  std::string report;             ///< an HTML report (training/report.h)
  std::string tensorboard;        ///< folder of events; of several runs a folder run-R in it for each
  bool profile = false;           ///< time and memory by op
  std::string trace, run_dir;     ///< trace file; folder for all outputs
  std::string config;             ///< file of options

  /// Places metrics, checkpoint, report, events and trace in --run-dir unless an option names another place.
  void use_run_folder();
  /// Before the training: refuses files that cannot be written or would overwrite an input or each other.
  void check_files(const Settings& all) const;
};

/// Mini-batches and the location of their features.
struct BatchOptions {
  std::vector<std::shared_ptr<LoaderChoice>> loaders =
      {};                        ///< offered by the program, each with its own options
  std::string loader = "none";   ///< name of a loader, or "none": full-batch
  std::string workers = "auto";  ///< threads that prepare batches: a number, or "auto": 1, on a GPU up to 4
  /// Settings replace `automatic`: layers if the model is exact by them, else graph.
  EvaluationMethod evaluation = EvaluationMethod::automatic;
  bool by_layers = true;      ///< whether the program offers --evaluation
  int64_t batch_size = 1024;  ///< training nodes per step, and nodes per batch of a layer-wise evaluation
  FeaturePlace features = FeaturePlace::device;
  std::string cached_rows =
      "0";  ///< rows of host or file features cached on the device: a number, or a share "20%"

  std::vector<std::string> loader_names() const;  ///< of `loaders`, in their order
  /// The loader of that name; null for "none".
  std::shared_ptr<LoaderChoice> chosen() const;
  /// Throws UsageError unless `workers` is "auto" or 0 to kMaxThreads.
  int num_workers(const std::string& device) const;
  /// --features and --cached-rows, bound to this object; `over_devices`: --features split too.
  OptionList features_list(bool over_devices = false);
  /// Options of layer-wise evaluation and the location of features.
  OptionList layers_list(const std::string& things, bool over_devices);
  /// Throws UsageError if the location of features conflicts with the evaluation or the device. `model`: for
  /// which the evaluation was chosen, if the user did not.
  void check_features(const std::string& device, const std::string& model = "") const;
};

/// All options of a training program, with its defaults; a command line sets them. Settings result from them.
/// groups() has `data`, `compute`, `model`, `run`, `output` and `batches` by the headings of --help.
struct Options {
  /// With the defaults of the family's first model.
  Options(models::ModelFamily family, std::string summary);

  models::ModelFamily family;  ///< of the models that it trains
  std::string summary;         ///< one line for --help
  DataOptions data;
  ExecutionOptions compute;
  models::ModelOptions model;
  RunOptions run;
  OutputOptions output;
  BatchOptions batches;
  OptionList program_options = {};  ///< the program's own training options

  // For --help.
  std::string things = "nodes";            ///< the training examples
  std::string decayed = "all parameters";  ///< the parameters for which Model::decays() holds
  std::string metric_help =
      "accuracy or f1 for classes (auto: accuracy), for two classes also auc (auto), pr-auc, "
      "recall@precision=0.9, recall@50 or precision@50 with any number, auc, pr-auc or f1 for several labels "
      "(auto: auc), r2 or mae for regression (auto: r2)";  ///< the values of --metric

  const std::string& program() const { return family.program; }  ///< "train_gcn"
  bool typed() const { return family.is_typed(model); }          ///< of graphs of several types

  /// The `options` under a heading of --help, `name`.
  struct Group {
    std::string name;
    OptionList options;
  };
  /// In the order of --help. They point into this object, and `program_options` to wherever they do.
  std::vector<Group> groups();
};

/// The options of a family's models, bound to `values`.
OptionList bind(const models::ModelFamily& family, models::ModelOptions& values);
/// --split as a number; empty for "all". Throws UsageError if it is neither.
std::optional<int64_t> split_number(const std::string& split);
/// The option --workers.
Option workers_option(std::string& value);
/// The option --escape-formulas of a program that writes predictions.
Option escape_formulas_option(bool& value);

}  // namespace adj::training
