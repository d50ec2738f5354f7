#pragma once

#include <adjoint/nn/module.h>

#include <map>
#include <string>

namespace adj::optim {

/// Remembers the weights of the best epoch and says when to stop: after `patience` epochs without a better
/// metric (higher is better), never where `patience` is 0.
class EarlyStopping {
 public:
  explicit EarlyStopping(nn::Module& model, int64_t patience = 0);

  /// Called after each epoch. Returns true when it is time to stop.
  bool observe(int64_t epoch, double metric);
  /// Puts the best epoch's weights back into the model. Throws before the first observe().
  void restore();

  int64_t best_epoch() const { return best_epoch_; }
  double best_metric() const { return best_metric_; }
  /// The best weights, by name; empty before the first observe().
  const std::map<std::string, Tensor>& best_state() const { return best_; }
  /// Continues where a checkpoint left off.
  void load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state);

 private:
  nn::Module& model_;
  int64_t patience_;
  int64_t best_epoch_ = -1;
  double best_metric_ = 0.0;
  std::map<std::string, Tensor> best_;
};

}  // namespace adj::optim
