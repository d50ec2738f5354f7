#pragma once

#include <adjoint/nn/module.h>

#include <map>
#include <string>
#include <utility>

namespace adj::optim {

/// Remembers the weights of the best epoch and says when to stop: after `patience` epochs without a better
/// metric (higher is better), never where `patience` is 0. With a loss beside the metric it is GAT's rule
/// (the authors' code of Veličković et al. 2018): patience begins anew with an epoch in which either is as
/// good as in any before, and the weights are those of the last epoch in which both were.
class EarlyStopping {
 public:
  /// What GAT's rule knows besides: the best of either so far, and the last epoch in which one of them was as
  /// good; -1 before the first.
  struct Marks {
    int64_t epoch = -1;
    double metric = 0.0;
    double loss = 0.0;
  };

  explicit EarlyStopping(nn::Module& model, int64_t patience = 0);

  /// Called after each epoch, one of them throughout. Returns true when it is time to stop.
  bool observe(int64_t epoch, double metric);
  bool observe(int64_t epoch, double metric, double loss);
  /// Puts the best epoch's weights back into the model. Throws before the first observe().
  void restore();

  int64_t best_epoch() const { return best_epoch_; }
  /// Of the best epoch, which by GAT's rule need not be the highest.
  double best_metric() const { return best_metric_; }
  /// The best weights, by name; empty before the first observe().
  const std::map<std::string, Tensor>& best_state() const { return best_; }
  const Marks& marks() const { return marks_; }
  /// Continues where a checkpoint left off.
  void load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state,
            const Marks& marks);
  void load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state) {
    load(best_epoch, best_metric, std::move(best_state), Marks());
  }

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
