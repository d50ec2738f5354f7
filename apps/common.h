#pragma once

#include <adjoint/adjoint.h>

#include <functional>
#include <memory>
#include <string>

#include <boost/program_options.hpp>

// What the training programs share: a program names itself, its own options and its model; train() does the
// rest, from the command line to the last line of output.

namespace adj::apps {

/// The common options' values; a program changes a default by setting it here. Kipf & Welling (2017) unless
/// changed.
struct Settings {
  std::string config;
  std::string data;  ///< empty: the embedded demo dataset
  std::string device = "cpu";
  int64_t split = 0;
  bool normalize = true;  ///< rows of the features divided by their sum
  int64_t epochs = 200;
  int64_t seed = 0;
  int64_t runs = 1;  ///< with seeds seed, seed + 1, …
  double lr = 0.01;
  double weight_decay = 5e-4;
  double dropout = 0.5;
  int64_t hidden = 16;
  int64_t layers = 2;
  int64_t patience = 0;  ///< 0: never stop early
  int64_t eval_every = 1;
  std::string checkpoint, resume, metrics, predict, plot;
  int64_t checkpoint_every = 10;
  int64_t threads = 0;  ///< 0: as the library finds them
  bool capture = true;
  bool quiet = false;
  bool json = false;
};

/// A model about to be trained; made anew for every run.
struct Training {
  std::string name;  ///< "GCN 1433-16-7"
  std::unique_ptr<nn::Module> module;
  std::function<Var()> logits;  ///< [N, C] of the whole graph, in the module's mode
  std::unique_ptr<optim::Optimizer> optimizer;
};

struct Program {
  std::string name;     ///< "train_gcn"
  std::string summary;  ///< one line for --help
  Settings defaults;
  boost::program_options::options_description options{"Model"};  ///< the program's own
  std::function<void()> check;  ///< of the program's own options; throws UsageError
  /// The model on the dataset's device, with initial weights from the default generator.
  std::function<Training(const Dataset&, const Settings&)> make;
};

/// Runs the program: the return value of main(). An interrupt ends it after the current epoch with status 128
/// + its signal.
int train(int argc, char** argv, const Program& program);

/// Throws UsageError unless `value` is one of `choices`.
void expect_one_of(const std::string& option, const std::string& value,
                   const std::vector<std::string>& choices);
/// "1433-16-16-7" and [1433, 16, 16, 7]: the widths of a model with `layers` layers for this dataset.
std::vector<int64_t> widths_of(const Dataset& data, const Settings& settings);
std::string dashed(const std::vector<int64_t>& widths);

}  // namespace adj::apps
