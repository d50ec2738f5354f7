// A batch: a thread for each triple and each draw; the position advances by a launch of its truth, since all
// of them read it. Ranks: a block for each query reads its scores once; the counts are integers.
#include <adjoint/kernels/cuda/reduction.cuh>
#include <adjoint/kernels/triple/batches.h>

namespace adj::kernels::cuda {

namespace {

template <class T>
__global__ void __launch_bounds__(kBlockThreads)
    ranks_kernel(const T* y, int64_t count, const int32_t* entity, const int64_t* offsets, const int32_t* ids,
                 const int32_t* rows, int32_t* better, int32_t* ties) {
  begin_overlapping();
  const int64_t i = blockIdx.x;
  const T* row = y + i * count;
  const int32_t self = entity[i];
  const T truth = row[self];
  int64_t above = 0, equal = 0;
  for (int64_t k = threadIdx.x; k < count; k += kBlockThreads) {
    above += !(row[k] <= truth);
    equal += row[k] == truth;
  }
  bool listed = false;
  for (int64_t k = offsets[rows[i]] + threadIdx.x; k < offsets[rows[i] + 1]; k += kBlockThreads) {
    const int32_t other = ids[k];
    above -= !(row[other] <= truth);
    equal -= row[other] == truth;
    listed |= other == self;
  }
  listed = __syncthreads_or(listed);
  above = sum_of_block(above);
  equal = sum_of_block(equal);
  if (threadIdx.x == 0) {
    better[i] = static_cast<int32_t>(above);
    ties[i] = static_cast<int32_t>(equal - (!listed && truth == truth));
  }
}

}  // namespace

void triple_batch(const TripleBatchArgs& args) {
  const int64_t all = args.triples.size(0), batch = args.number.numel(), entities = args.entities;
  const int32_t *triples = args.triples.data<int32_t>(), *order = args.order.data<int32_t>();
  int32_t *number = args.number.mutable_data<int32_t>(), *relation = args.relation.mutable_data<int32_t>(),
          *entity = args.entity.mutable_data<int32_t>();
  int64_t* position = args.position.mutable_data<int64_t>();
  const RandomKey key = args.key;
  const int device = args.triples.device().index;
  for_each("triple_batch", device, args.entity.numel() - batch, [=] __device__(int64_t k) {
    if (k < batch) {
      const int32_t chosen = order[(*position + k) % all];
      number[k] = chosen;
      entity[k] = triples[int64_t{3} * chosen];
      relation[k] = triples[int64_t{3} * chosen + 1];
      entity[batch + k] = triples[int64_t{3} * chosen + 2];
    } else {
      const auto draw = static_cast<uint64_t>(k - batch);
      const PhiloxBlock block = philox(key.seed, stream_of(key), draw / 4);
      entity[batch + k] =
          static_cast<int32_t>(uint64_t{block.word[draw % 4]} * static_cast<uint64_t>(entities) >> 32);
    }
  });
  for_each("triple_batch", device, 1, [=] __device__(int64_t) { *position += batch; });
}

void entity_ranks(const EntityRanksArgs& args) {
  dispatch_float(args.y.dtype(), "entity_ranks", [&]<class T>() {
    launch("entity_ranks", overlapping(args.y.device().index, grid(args.y.size(0))), ranks_kernel<T>,
           args.y.data<T>(), args.y.size(1), args.entity.data<int32_t>(), args.known.offsets.data<int64_t>(),
           args.known.ids.data<int32_t>(), args.known.rows.data<int32_t>(),
           args.better.mutable_data<int32_t>(), args.ties.mutable_data<int32_t>());
  });
}

}  // namespace adj::kernels::cuda
