#include <adjoint/kernels/bits/row_order.h>

#include <algorithm>
#include <cstring>

namespace adj {

RowOrder::RowOrder(const Csr& csr) {
  static_assert(sizeof(Row) == 4 * sizeof(int32_t));
  const auto offsets = csr.offsets.to_vector<int64_t>();
  std::vector<Row> order;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t count = offsets[i + 1] - offsets[i];
    ADJ_CHECK(count < int64_t{1} << 31, "RowOrder: row {} has {} entries, expected less than 2^31", i, count);
    order.push_back({offsets[i], static_cast<int32_t>(i), static_cast<int32_t>(count)});
  }
  const auto fours_of = [](const Row& row) { return (std::min<int64_t>(row.count, kMost + 1) + 3) / 4; };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Row& a, const Row& b) { return fours_of(a) > fours_of(b); });
  long_rows = std::count_if(order.begin(), order.end(), [](const Row& row) { return row.count > kMost; });
  std::vector<int32_t> words(order.size() * 4);
  if (!order.empty()) std::memcpy(words.data(), order.data(), order.size() * sizeof(Row));
  rows = Tensor::from(words, {std::ssize(order), 4}).to(csr.device());
}

}  // namespace adj
