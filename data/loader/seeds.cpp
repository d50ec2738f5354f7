#include <adjoint/core/error.h>
#include <adjoint/data/detail/seeds.h>

namespace adj {

Tensor detail::checked_seeds(std::string_view loader, const Tensor& seeds, int64_t nodes, Device device) {
  ADJ_CHECK(seeds && seeds.dims() == 1 && (seeds.dtype() == DType::i32 || seeds.dtype() == DType::i64),
            "{}: seeds are {}, expected [S] int32 or int64", loader, seeds.str());
  const auto ids = seeds.to(Device::cpu()).to(DType::i64).to_vector<int64_t>();
  std::vector<bool> seen(static_cast<size_t>(nodes));
  for (size_t k = 0; k < ids.size(); ++k) {
    ADJ_CHECK(ids[k] >= 0 && ids[k] < nodes, "{}: seeds[{}] is {}, expected 0 to {}", loader, k, ids[k],
              nodes - 1);
    ADJ_CHECK(!seen[static_cast<size_t>(ids[k])], "{}: seeds[{}] is {}, which stands there before", loader, k,
              ids[k]);
    seen[static_cast<size_t>(ids[k])] = true;
  }
  return seeds.to(device).to(DType::i32);
}

}  // namespace adj
