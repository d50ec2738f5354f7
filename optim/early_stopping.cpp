#include <adjoint/optim/early_stopping.h>

#include <cmath>

namespace adj::optim {

namespace {

// Best weights of more bytes are kept on the CPU: a copy takes its time, but a GPU's memory counts more.
constexpr double kMostBytes = 0x1p26;

}  // namespace

EarlyStopping::EarlyStopping(nn::Module& model, int64_t patience) : model_(model), patience_(patience) {
  ADJ_CHECK(patience >= 0, "EarlyStopping: negative patience {}", patience);
}

void EarlyStopping::keep(int64_t epoch, double metric) {
  best_epoch_ = epoch;
  best_metric_ = metric;
  const auto state = model_.state();
  double bytes = 0.0;
  for (const auto& [name, tensor] : state) bytes += static_cast<double>(tensor.bytes());
  const bool on_host = bytes > kMostBytes;
  for (const auto& [name, tensor] : state) {
    Tensor& kept = best_[name];
    if (!kept)
      kept = Tensor::empty(tensor.shape(), tensor.dtype(), on_host ? Device::cpu() : tensor.device());
    kept.copy_(tensor);
  }
}

bool EarlyStopping::observe(int64_t epoch, double metric) {
  // A diverged first epoch must not stay the best.
  const bool first_number = std::isnan(best_metric_) && !std::isnan(metric);
  if (best_epoch_ < 0 || metric > best_metric_ || first_number) keep(epoch, metric);
  return patience_ > 0 && epoch - best_epoch_ >= patience_;
}

bool EarlyStopping::observe(int64_t epoch, double metric, double loss) {
  // Any number is better than NaN, as above.
  const bool first = marks_.epoch < 0;
  const bool by_metric = first || metric >= marks_.metric || std::isnan(marks_.metric);
  const bool by_loss = first || loss <= marks_.loss || std::isnan(marks_.loss);
  if (by_metric && by_loss) keep(epoch, metric);
  if (by_metric) marks_.metric = metric;
  if (by_loss) marks_.loss = loss;
  if (by_metric || by_loss) marks_.epoch = epoch;
  return patience_ > 0 && epoch - marks_.epoch >= patience_;
}

void EarlyStopping::restore() {
  ADJ_CHECK(best_epoch_ >= 0, "EarlyStopping: nothing to restore before the first epoch was observed");
  model_.load_state(best_);
}

void EarlyStopping::load(int64_t best_epoch, double best_metric, std::map<std::string, Tensor> best_state,
                         const Marks& marks) {
  marks_ = marks;
  best_epoch_ = best_epoch;
  best_metric_ = best_metric;
  best_ = std::move(best_state);
}

}  // namespace adj::optim
