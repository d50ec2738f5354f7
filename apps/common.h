#pragma once

#include <adjoint/adjoint.h>
#include <adjoint/models/family.h>
#include <adjoint/training/metric.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <boost/program_options.hpp>

// What the programs share. A training program names itself, its own options and its model; train() does the
// rest, from the command line to the last line of output, for every task of nodes. The models are the
// library's (models/).

namespace adj::apps {

/// The options' values; a program changes a default by setting it here. Kipf & Welling (2017) unless changed.
struct Settings : models::ModelOptions {
  std::string config;
  std::string data;  ///< empty: the embedded demo dataset
  std::string device = "cpu";
  std::string split = "0";  ///< a number, or "all": run r trains on split r
  std::string metric = "auto";
  std::string precision = "float32";
  std::string features_scaling = "auto";  ///< "none", "rows", "standard"
  int64_t features_bits = 32;             ///< that a feature is held in: 1 to 8, or 32, as it is
  int64_t epochs = 200;
  int64_t seed = 0;
  int64_t runs = 1;  ///< with seeds seed, seed + 1, …
  double lr = 0.01;
  double weight_decay = 5e-4;
  int64_t patience = 0;                ///< 0: never stop early
  std::string patience_on = "metric";  ///< what must get better: "metric", or "either" (it or the loss)
  int64_t eval_every = 1;
  std::string checkpoint, resume, metrics, predict, plot;
  std::string from = "none";  ///< or, of programs that begin so, a checkpoint whose weights are the first
  int64_t checkpoint_every = 10;
  int64_t threads = 0;  ///< 0: as the library finds them
  bool capture = true;
  bool inductive = false;            ///< the graph is an edge list at the beginning of every epoch
  std::string aggregation = "auto";  ///< how neighbours are summed over such a list
  std::string kernels = "auto";      ///< of products of sparse matrices on a GPU: "csr", "tiles", "hybrid"
  std::string cuts;                  ///< file of cuts for them; empty: they are made and forgotten
  bool explain = false;
  bool quiet = false;
  bool json = false;
  bool report = false;  ///< how well each class is told

  // Of links.
  double val = 0.05, test = 0.1;  ///< shares of the pairs of nodes that edges join
  int64_t negatives = 1;          ///< for each of them

  // Of mini-batches, in programs whose model takes them.
  std::string loader = "none";  ///< or one of the program's
  std::string fanouts = "10";   ///< in-edges a node keeps of each hop, from the seeds outwards
  int64_t batch_size = 1024;    ///< nodes to train on, or that a layer is evaluated for at once
  bool replace = false, labor = false, weighted_sampling = false;
  int64_t parts = 0, parts_per_batch = 20;  ///< of clusters; 0: as the dataset has them
  std::string saint = "walk";               ///< what subgraphs are drawn by: "node", "edge" or "walk"
  int64_t budget = 1000, walk_length = 2, steps = 0, coverage = 50;
  std::string workers = "auto";       ///< threads that prepare them (num_workers())
  std::string evaluation = "layers";  ///< of all nodes: "layers", or "graph" at once
  std::string features = "device";    ///< where those of all nodes are: or "host", or "file"
  std::string cached_rows = "0";      ///< of those elsewhere, kept on the device: a number, or a share "20%"

  // Of programs that learn something of whole graphs.
  int64_t folds = 10;
  int64_t iterations = 0;  ///< steps of an epoch; 0: as many as go once through the graphs
  int64_t lr_halve = 0;    ///< epochs after which the learning rate is halved; 0: never
};

using models::GraphModel;
using models::Model;
using models::NodeModel;
using namespace training;

struct Training;
class Epochs;

struct Program {
  models::ModelFamily family;             ///< what it trains; of several models --model chooses one
  std::string summary;                    ///< one line for --help
  Settings defaults = {};                 ///< of a training; the model's are the family's
  std::vector<std::string> loaders = {};  ///< what --loader may be besides none
  /// Adds the program's own options of a training, of which a trained model knows nothing. Optional.
  std::function<void(boost::program_options::options_description_easy_init, Settings&)> training_options = {};
  /// Throws UsageError where options besides the model's do not go together. Optional.
  std::function<void(const Settings&)> check = {};

  // Of a program that does not train a NodeModel on a dataset's nodes, all three.

  /// What is learned of the dataset, which was read from `file` and may be changed: pairs of nodes are taken
  /// out of its graph.
  std::function<Examples(Dataset& data, const std::string& file, const Settings&)> examples = {};
  /// How the epochs of a run are computed. `losses`, optional, is told the loss of each.
  std::function<std::unique_ptr<Epochs>(const Training&, optim::NonFiniteMonitor* losses)> epochs = {};
  /// Writes what a model gives for all examples, for --predict.
  std::function<void(const std::string& path, const Dataset&, const Examples&, const Tensor& output)>
      write_outputs = {};
  /// Changes a model's initial weights at the beginning of a run, the model being on the device and the
  /// features scaled as `scaling` says. Optional.
  std::function<void(Model& model, const FeatureScaling& scaling, const Settings&)> begin = {};
  /// Optional: what --metric may name where the labels alone do not say it, "auto" being the first; all of
  /// them are reported for validation and test at the best epoch. Throws UsageError.
  std::function<std::vector<Metric>(const Settings&)> metrics = {};
  std::string metric_help = {};  ///< what --help says of --metric; empty: what holds for nodes
  std::string things = "nodes";  ///< what it trains on
  /// What --help says that --weight-decay is on, as Model::decays() has it.
  std::string decayed = "all parameters";

  const std::string& name() const { return family.program; }  ///< "train_gcn"
  bool of_nodes() const { return !examples; }
};

/// Runs the program: the return value of main(). An interrupt ends it after the current epoch with status 128
/// + its signal.
int train(int argc, char** argv, const Program& program);

/// An option with a default, which --help shows as a person would write it: 0.72.
template <class T>
boost::program_options::typed_value<T>* with_default(T& value, const char* name = "N") {
  return boost::program_options::value(&value)
      ->default_value(value, fmt::format("{}", value))
      ->value_name(name);
}

/// What --workers asks for: "auto" is 1 on the CPU, whose cores train, and on a GPU one for every four cores,
/// 1 to 4. Throws UsageError unless it says so or names 0 to kMaxThreads.
int num_workers(const Settings& settings);
inline constexpr const char* kWorkersHelp =
    "threads that prepare batches ahead of their use: a number (0: none), or auto: 1, on a GPU up to 4 as "
    "there are cores";
/// --fanouts as numbers. Throws UsageError.
std::vector<int64_t> fanouts_of(const std::string& text);
/// Likewise, one a layer.
std::vector<int64_t> fanouts_of(const Settings& settings);

}  // namespace adj::apps
