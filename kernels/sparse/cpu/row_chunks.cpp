#include <adjoint/kernels/sparse/cpu/row_chunks.h>

#include <algorithm>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kWork = RowChunks::kWork;

RowChunks cut(const Csr& csr) {
  const int64_t* offsets = csr.offsets.data<int64_t>();
  RowChunks result;
  int64_t begin = 0;
  const auto close = [&](int64_t end) {
    if (begin < end) result.chunks.push_back({begin, end, offsets[begin], offsets[end], -1});
    begin = end;
  };
  for (int64_t i = 0; i < csr.rows; ++i) {
    const int64_t degree = offsets[i + 1] - offsets[i];
    if (degree >= 2 * kWork) {
      close(i);
      const int64_t pieces = (degree + kWork - 1) / kWork;
      for (int64_t p = 0; p < pieces; ++p)
        result.chunks.push_back({i, i + 1, offsets[i] + degree * p / pieces,
                                 offsets[i] + degree * (p + 1) / pieces, result.slots + p});
      result.heavy.push_back({i, result.slots, result.slots + pieces});
      result.slots += pieces;
      begin = i + 1;
    } else if (offsets[i + 1] - offsets[begin] + i + 1 - begin >= kWork) {
      close(i + 1);
    }
  }
  close(csr.rows);
  return result;
}

}  // namespace

std::shared_ptr<const RowChunks> row_chunks(const Csr& csr) {
  return csr.cache->get<RowChunks>([&] { return new RowChunks(cut(csr)); });
}

}  // namespace adj::kernels::cpu
