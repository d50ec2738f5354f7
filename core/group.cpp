#include <adjoint/core/detail/nccl_transport.h>
#include <adjoint/core/group.h>
#include <adjoint/core/log.h>

#include <algorithm>
#include <numeric>
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

void Transport::exchange_columns(std::string_view call, std::span<const Tensor>, ColumnRange,
                                 std::span<Tensor>) {
  fail("{}: these ranks send whole rows", call);
}

void Group::exchange_columns(std::span<const Tensor> sends, ColumnRange columns,
                             std::span<Tensor> receives) const {
  ADJ_CHECK(takes_columns() && std::ssize(sends) == size() && std::ssize(receives) == size(),
            "exchange_columns: {} and {} blocks, expected one for each of {} ranks that take columns",
            sends.size(), receives.size(), size());
  transport_->exchange_columns("exchange of columns", sends, columns, receives);
}

Tensor Group::gather(const Tensor& x) const {
  if (!transport_) return x.clone();
  const auto ranks = static_cast<size_t>(size());
  const Tensor count = Tensor::from(std::vector<int64_t>{x.size(0)});
  std::vector<Tensor> sends(ranks, count), receives(ranks);
  for (Tensor& receive : receives) receive = Tensor::empty({1}, DType::i64);
  transport_->exchange(description("gather", x), sends, receives);
  std::vector<int64_t> rows;
  for (const Tensor& receive : receives) rows.push_back(receive.data<int64_t>()[0]);
  return gather(x, rows);
}

Tensor Group::gather(const Tensor& x, std::span<const int64_t> rows) const {
  ADJ_CHECK(std::ssize(rows) == size() && x.size(0) == rows[static_cast<size_t>(rank())],
            "gather: {} of {} ranks, expected the rows of each", x.str(), rows.size());
  if (!transport_) return x.clone();
  Tensor all = Tensor::empty(x.shape().with(0, std::accumulate(rows.begin(), rows.end(), int64_t{0})),
                             x.dtype(), x.device());
  std::vector<Tensor> sends(rows.size(), x), receives;
  int64_t begin = 0;
  for (const int64_t count : rows) {
    receives.push_back(all.rows(begin, begin + count));
    begin += count;
  }
  transport_->exchange("gather", sends, receives);
  return all;
}

std::vector<std::string> Group::gather(std::string_view text) const {
  const auto length = static_cast<int64_t>(text.size());
  Tensor bytes = Tensor::empty({length}, DType::u8);
  std::ranges::copy(text, bytes.mutable_data<uint8_t>());
  const auto lengths = gather(Tensor::from(std::vector{length})).to_vector<int64_t>();
  const Tensor all = gather(bytes, lengths);
  std::vector<std::string> texts;
  const auto* next = reinterpret_cast<const char*>(all.data<uint8_t>());
  for (const int64_t count : lengths) {
    texts.emplace_back(next, static_cast<size_t>(count));
    next += count;
  }
  return texts;
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

std::vector<Tensor> Group::share(const Tensor& x) const {
  return transport_ ? transport_->share(description("share", x), x) : std::vector{x};
}

void Group::barrier() const {
  if (!transport_) return;
  std::vector<Tensor> none(static_cast<size_t>(size())), nothing = none;
  transport_->exchange("barrier", none, nothing);
}

bool detail::exchange_through_nccl(std::span<const std::string> gpus) {
  std::vector<std::string> sorted(gpus.begin(), gpus.end());
  std::ranges::sort(sorted);
  if (sorted.size() < 2 || sorted.front().empty() || std::ranges::adjacent_find(sorted) != sorted.end())
    return false;
  const std::string reason = nccl_unavailable_reason();
  if (!reason.empty()) log_info("GPUs exchange rows by copies, outside of captured steps: {}", reason);
  return reason.empty();
}

}  // namespace adj
