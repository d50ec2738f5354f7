// The first of equal new ids is found independently of thread order: each position of a new id claims it in
// the table by a number beyond all known ones, larger for earlier positions, and the largest stays. A prefix
// sum over the winning positions numbers them. Bytes per id: 4 in four passes and the table's sector (32
// bytes, mostly in L2) in each, an atomic in the first, and 4 bytes of the sum written and read; no cleanup,
// since the next batch's base is higher.

#include <adjoint/kernels/cuda/cub.cuh>
#include <adjoint/kernels/sample/number_nodes.h>

namespace adj::kernels::cuda {

namespace {

struct Numbering {
  const int32_t* ids;
  const int64_t* used;
  int64_t all;
  int32_t claims;  ///< base + known: claims begin here
  int32_t base;
  int32_t* table;
  int32_t* nodes;
  int32_t* number;
  int32_t* before;
  int64_t* count;

  __device__ int64_t places() const { return used != nullptr ? *used : all; }
  __device__ int32_t claim(int64_t k) const { return claims + static_cast<int32_t>(all - 1 - k); }
  __device__ int32_t known() const { return claims - base; }
};

}  // namespace

void number_nodes(const NumberNodesArgs& args) {
  const Device device = args.device();
  const int64_t all = args.ids.numel();
  if (all == 0) {
    args.count.fill_(static_cast<double>(args.known));
    return;
  }
  Tensor before = Tensor::empty({all}, DType::i32, device);
  const Numbering n{.ids = args.ids.data<int32_t>(),
                    .used = data_or_null<int64_t>(args.used),
                    .all = all,
                    .claims = static_cast<int32_t>(args.base + args.known),
                    .base = static_cast<int32_t>(args.base),
                    .table = args.table.mutable_data<int32_t>(),
                    .nodes = args.nodes.mutable_data<int32_t>(),
                    .number = args.number.mutable_data<int32_t>(),
                    .before = before.mutable_data<int32_t>(),
                    .count = args.count.mutable_data<int64_t>()};
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    if (k >= n.places()) return;
    int32_t* slot = n.table + n.ids[k];
    const int32_t found = *slot;
    // Already known, or claimed by an earlier position.
    if ((found < n.base || found >= n.claims) && found < n.claim(k)) atomicMax(slot, n.claim(k));
  });
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    n.before[k] = k < n.places() && n.table[n.ids[k]] == n.claim(k) ? 1 : 0;
  });
  exclusive_sum(n.before, all, device);
  for_each("number_nodes", device.index, all, [=] __device__(int64_t k) {
    const bool counts = k < n.places();
    const int32_t found = counts ? n.table[n.ids[k]] : n.base;
    if (counts) {
      if (found < n.claims) {
        n.number[k] = found - n.base;
      } else {
        const int64_t first = n.all - 1 - (found - n.claims);
        n.number[k] = n.known() + n.before[first];
        if (first == k) n.nodes[n.known() + n.before[k]] = n.ids[k];
      }
    }
    if (k == n.all - 1) *n.count = n.known() + n.before[k] + (counts && found == n.claim(k) ? 1 : 0);
  });
  // Replaces claims by numbers: each first position writes its own id.
  for_each("number_nodes", device.index, all, [=] __device__(int64_t i) {
    if (i >= *n.count - n.known()) return;
    const int32_t number = n.known() + static_cast<int32_t>(i);
    n.table[n.nodes[number]] = n.base + number;
  });
}

}  // namespace adj::kernels::cuda
