#include <adjoint/kernels/tiles/cut_store.h>

#include <mutex>

namespace adj::kernels {

namespace {

std::mutex store_mutex;
std::shared_ptr<CutStore> set_store;

}  // namespace

void set_cut_store(std::shared_ptr<CutStore> store) {
  const std::lock_guard lock(store_mutex);
  set_store = std::move(store);
}

std::shared_ptr<CutStore> cut_store() {
  const std::lock_guard lock(store_mutex);
  return set_store;
}

std::shared_ptr<RowTiles> find_or_make(const Csr& a, int64_t least) {
  if (const auto store = cut_store())
    if (auto found = store->find(a, least)) return found;
  return std::make_shared<RowTiles>(make_row_tiles(a, least));
}

}  // namespace adj::kernels
