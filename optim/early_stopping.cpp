#include <adjoint/optim/early_stopping.h>

#include <cmath>

namespace adj::optim {

EarlyStopping::EarlyStopping(nn::Module& model, int64_t patience) : model_(model), patience_(patience) {
  ADJ_CHECK(patience >= 0, "EarlyStopping: negative patience {}", patience);
}

bool EarlyStopping::observe(int64_t epoch, double metric) {
  // A first epoch that diverged must not stay the best for ever.
  const bool first_number = std::isnan(best_metric_) && !std::isnan(metric);
  if (best_epoch_ < 0 || metric > best_metric_ || first_number) {
    best_epoch_ = epoch;
    best_metric_ = metric;
    for (const auto& [name, tensor] : model_.state()) {
      Tensor& kept = best_[name];
      if (kept) {
        kept.copy_(tensor);
      } else {
        kept = tensor.clone();
      }
    }
  }
  return patience_ > 0 && epoch - best_epoch_ >= patience_;
}

void EarlyStopping::restore() {
  ADJ_CHECK(best_epoch_ >= 0, "EarlyStopping: nothing to restore before the first epoch was observed");
  model_.load_state(best_);
}

void EarlyStopping::load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state) {
  best_epoch_ = best_epoch;
  best_metric_ = best_metric;
  best_ = std::move(best_state);
}

}  // namespace adj::optim
