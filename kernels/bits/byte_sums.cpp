#include "byte_sums.h"

namespace adj {

LongRows::LongRows(const Csr& csr) {
  const auto offsets = csr.offsets.to_vector<int64_t>();
  std::vector<int32_t> long_ones;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    if (offsets[i + 1] - offsets[i] > kMost) long_ones.push_back(static_cast<int32_t>(i));
  rows = Tensor::from(long_ones, csr.device());
}

}  // namespace adj
