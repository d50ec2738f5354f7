#include <adjoint/core/detail/dispatch.h>
#include <adjoint/kernels/tiles/cut_store.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

namespace adj {

int64_t RowTiles::bytes() const {
  int64_t sum = 0;
  for (const Tensor& tensor :
       {windows, window_of, columns, bits, starts, entries, rest.offsets, rest.indices, rest_entry})
    sum += tensor.numel() * static_cast<int64_t>(size_of(tensor.dtype()));
  return sum;
}

RowTiles RowTiles::to(Device target) const {
  RowTiles copy = *this;
  for (Tensor* tensor : {&copy.windows, &copy.window_of, &copy.columns, &copy.bits, &copy.starts,
                         &copy.entries, &copy.rest_entry})
    *tensor = tensor->to(target);
  copy.rest = rest.to(target);
  return copy;
}

namespace kernels {

RowTiles make_row_tiles(const Csr& a, int64_t least) {
  check_csr("row_tiles", a);
  ADJ_CHECK(a.ascending, "row_tiles: expected rows of ascending columns");
  ADJ_CHECK(least >= 1 && least <= RowTiles::kRows,
            "row_tiles: expected columns of at least 1 to {} entries, got {}", RowTiles::kRows, least);
  return ADJ_DISPATCH(a.device(), make_row_tiles, a, least);
}

std::shared_ptr<RowTiles> find_or_make(const Csr& a, int64_t least) {
  if (const auto& store = compute_context().cuts)
    if (auto found = store->find(a, least)) return found;
  return std::make_shared<RowTiles>(make_row_tiles(a, least));
}

bool has_tile_spmm(Device device) { return ADJ_DISPATCH(device, has_tile_products, device); }

std::shared_ptr<const RowTiles> row_tiles(const Csr& a, int64_t least, std::shared_ptr<RowTiles> cut) {
  return a.cache->get<RowTiles>(least, [&] {
    if (!cut) cut = find_or_make(a, least);
    if (const auto& store = compute_context().cuts) store->keep(a, cut);
    return cut;
  });
}

}  // namespace kernels

}  // namespace adj
