#include <adjoint/core/group.h>

#include <string>
#include <vector>

namespace adj {

namespace {

/// "gather of float32 [*, 16]": what must be equal on all ranks.
std::string description(std::string_view call, const Tensor& x) {
  std::string text = fmt::format("{} of {} [*", call, name_of(x.dtype()));
  for (int d = 1; d < x.dims(); ++d) text += fmt::format(", {}", x.size(d));
  return text + "]";
}

}  // namespace

void Group::exchange(std::span<const Tensor> sends, std::span<Tensor> receives) const {
  ADJ_CHECK(std::ssize(sends) == size() && std::ssize(receives) == size(),
            "exchange: {} and {} blocks, expected one for each of {} ranks", sends.size(), receives.size(),
            size());
  if (transport_) return transport_->exchange("exchange", sends, receives);
  if (sends[0]) receives[0].copy_(sends[0]);
}

Tensor Group::gather(const Tensor& x) const {
  if (!transport_) return x.clone();
  const auto ranks = static_cast<size_t>(size());
  const Tensor count = Tensor::from(std::vector<int64_t>{x.size(0)});
  std::vector<Tensor> sends(ranks, count), receives(ranks);
  for (Tensor& receive : receives) receive = Tensor::empty({1}, DType::i64);
  transport_->exchange(description("gather", x), sends, receives);
  std::vector<int64_t> ends;
  for (const Tensor& rows : receives)
    ends.push_back((ends.empty() ? 0 : ends.back()) + rows.data<int64_t>()[0]);
  Tensor all = Tensor::empty(x.shape().with(0, ends.back()), x.dtype(), x.device());
  sends.assign(ranks, x);
  for (size_t p = 0; p < ranks; ++p) receives[p] = all.rows(p == 0 ? 0 : ends[p - 1], ends[p]);
  transport_->exchange("gather", sends, receives);
  return all;
}

void Group::broadcast(Tensor& x, int64_t root) const {
  ADJ_CHECK(root >= 0 && root < size(), "broadcast: rank {}, expected 0 to {}", root, size() - 1);
  if (!transport_) return;
  std::vector<Tensor> sends(static_cast<size_t>(size())), receives = sends;
  if (rank() == root) {
    sends.assign(sends.size(), x);
    sends[static_cast<size_t>(root)] = {};
  } else {
    receives[static_cast<size_t>(root)] = x;
  }
  transport_->exchange(description(fmt::format("broadcast from rank {}", root), x), sends, receives);
}

void Group::barrier() const {
  if (!transport_) return;
  std::vector<Tensor> none(static_cast<size_t>(size())), nothing = none;
  transport_->exchange("barrier", none, nothing);
}

}  // namespace adj
