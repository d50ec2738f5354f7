#include <adjoint/core/detail/dispatch.h>
#include <adjoint/kernels/tiles/cut_store.h>
#include <adjoint/kernels/tiles/tile_spmm.h>

#include <algorithm>

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

namespace {

/// Throws Error "NAME: found, expected" unless both have the same shape, dtype and numbers, on the CPU.
template <class T>
void check_equal(const std::string& name, const Tensor& found, const Tensor& expected) {
  ADJ_CHECK(found && found.shape() == expected.shape() && found.dtype() == expected.dtype() &&
                found.device().is_cpu(),
            "{}: {}, expected {}", name, found.str(), expected.str());
  const T *numbers = found.data<T>(), *end = numbers + found.numel();
  const auto [number, other] = std::mismatch(numbers, end, expected.data<T>());
  if (number != end) fail("{}: {} at position {}, expected {}", name, *number, number - numbers, *other);
}

}  // namespace

RowTiles make_row_tiles(const Csr& a, int64_t least) {
  check_csr("row_tiles", a);
  ADJ_CHECK(a.ascending, "row_tiles: expected rows of ascending columns");
  ADJ_CHECK(least >= 1 && least <= RowTiles::kRows,
            "row_tiles: expected columns of at least 1 to {} entries, got {}", RowTiles::kRows, least);
  return ADJ_DISPATCH(a.device(), make_row_tiles, a, least);
}

void check_row_tiles(std::string_view name, const Csr& a, const RowTiles& cut) {
  check_csr(name, a);
  ADJ_CHECK(a.device().is_cpu() && a.ascending, "{}: expected a structure of ascending rows on cpu", name);
  ADJ_CHECK(cut.rows == a.rows && cut.cols == a.cols && cut.rest.rows == a.rows && cut.rest.cols == a.cols,
            "{}: a cut of [{}, {}] with a rest of [{}, {}], expected [{}, {}]", name, cut.rows, cut.cols,
            cut.rest.rows, cut.rest.cols, a.rows, a.cols);
  ADJ_CHECK(cut.least >= 1 && cut.least <= RowTiles::kRows,
            "{}: columns of at least {} entries, expected 1 to {}", name, cut.least, RowTiles::kRows);
  const RowTiles expected = make_row_tiles(a, cut.least);
  const auto member = [&](std::string_view part) { return fmt::format("{}/{}", name, part); };
  check_equal<int32_t>(member("windows"), cut.windows, expected.windows);
  check_equal<int32_t>(member("window_of"), cut.window_of, expected.window_of);
  check_equal<int32_t>(member("columns"), cut.columns, expected.columns);
  check_equal<int64_t>(member("bits"), cut.bits, expected.bits);
  check_equal<int32_t>(member("starts"), cut.starts, expected.starts);
  check_equal<int32_t>(member("entries"), cut.entries, expected.entries);
  check_equal<int64_t>(member("rest/offsets"), cut.rest.offsets, expected.rest.offsets);
  check_equal<int32_t>(member("rest/indices"), cut.rest.indices, expected.rest.indices);
  check_equal<int32_t>(member("rest_entry"), cut.rest_entry, expected.rest_entry);
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
