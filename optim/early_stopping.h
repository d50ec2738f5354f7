#pragma once

#include <adjoint/nn/module.h>

#include <map>
#include <string>
#include <utility>

namespace adj::optim {

/// Keeps the weights of the best epoch and stops after `patience` epochs without a better metric (higher is
/// better); 0: never. With metric and loss it applies GAT's rule (authors' code of Veličković et al. 2018):
/// patience restarts when either is at least as good as in any epoch before; the weights kept are of the last
/// epoch in which both were.
class EarlyStopping {
 public:
  /// State of GAT's rule: the best metric and loss so far, and the last epoch in which one of them was
  /// matched; -1 before the first.
  struct Marks {
    int64_t epoch = -1;
    double metric = 0.0;
    double loss = 0.0;
  };

  explicit EarlyStopping(nn::Module& model, int64_t patience = 0);

  /// Call after each epoch, always the same overload. Returns true when training should stop.
  bool observe(int64_t epoch, double metric);
  bool observe(int64_t epoch, double metric, double loss);
  /// Restores the best epoch's weights. Throws before the first observe().
  void restore();

  int64_t best_epoch() const { return best_epoch_; }  ///< whose weights are kept; -1 before the first
  /// The metric of the best epoch; with GAT's rule not necessarily the highest.
  double best_metric() const { return best_metric_; }
  /// The best weights, by name; empty before the first observe(). Those of more than 64 MiB are on the CPU.
  const std::map<std::string, Tensor>& best_state() const { return best_; }
  const Marks& marks() const { return marks_; }  ///< for a checkpoint; only GAT's rule sets them
  /// Restores the state from a checkpoint.
  void load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state,
            const Marks& marks);

 private:
  void keep(int64_t epoch, double metric);

  nn::Module& model_;
  int64_t patience_;
  int64_t best_epoch_ = -1;
  double best_metric_ = 0.0;
  Marks marks_;
  std::map<std::string, Tensor> best_;
};

}  // namespace adj::optim
