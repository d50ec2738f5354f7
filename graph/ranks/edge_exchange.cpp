#include <adjoint/graph/detail/rank_pairs.h>
#include <adjoint/kernels/index/gather.h>

#include <utility>

namespace adj::detail {

EdgeExchange::EdgeExchange(Group group, const std::vector<std::vector<int32_t>>& sends,
                           std::vector<int64_t> counts, const std::vector<int32_t>& order, Device device)
    : group_(std::move(group)), sent_{0}, received_{0}, order_(Tensor::from(order, device)) {
  std::vector<int32_t> all;
  for (const std::vector<int32_t>& list : sends) {
    all.insert(all.end(), list.begin(), list.end());
    sent_.push_back(std::ssize(all));
  }
  for (const int64_t count : counts) received_.push_back(received_.back() + count);
  sends_ = Tensor::from(all, device);
}

Tensor EdgeExchange::operator()(const Tensor& values) const {
  const Tensor rows = values.dims() == 1 ? values.reshape({values.numel(), 1}) : values;
  const auto gathered = [&](const Tensor& x, const Tensor& index) {
    Tensor y = Tensor::empty({index.numel(), x.size(1)}, x.dtype(), x.device());
    kernels::gather_rows({.x = x, .index = index, .y = y});
    return y;
  };
  const Tensor sent = gathered(rows, sends_);
  Tensor received = Tensor::empty({received_.back(), rows.size(1)}, rows.dtype(), rows.device());
  std::vector<Tensor> sends, receives;
  for (size_t p = 0; p + 1 < sent_.size(); ++p) {
    sends.push_back(sent.rows(sent_[p], sent_[p + 1]));
    receives.push_back(received.rows(received_[p], received_[p + 1]));
  }
  group_.exchange(sends, receives);
  const Tensor y = gathered(received, order_);
  return values.dims() == 1 ? y.reshape({y.numel()}) : y;
}

}  // namespace adj::detail
