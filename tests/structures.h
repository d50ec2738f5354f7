#pragma once

#include <adjoint/kernels/sparse/csr.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace adj::test {

/// A structure and its two lists on the host.
struct HostCsr {
  Csr csr;
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> indices;
};

/// [rows, cols]; row i holds the columns row(i), sorted here unless told otherwise.
template <class Row>
HostCsr structure_of(int64_t rows, int64_t cols, Row&& row, Device device = {}, bool ascending = true) {
  HostCsr s;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<int32_t> columns = row(static_cast<size_t>(i));
    if (ascending) std::sort(columns.begin(), columns.end());
    s.indices.insert(s.indices.end(), columns.begin(), columns.end());
    s.offsets.push_back(static_cast<int64_t>(s.indices.size()));
  }
  s.csr = {rows, cols, Tensor::from(s.offsets, device), Tensor::from(s.indices, device)};
  s.csr.ascending = ascending;
  return s;
}

}  // namespace adj::test
