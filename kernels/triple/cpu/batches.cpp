#include <adjoint/kernels/cpu/index.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/triple/batches.h>

namespace adj::kernels::cpu {

void triple_batch(const TripleBatchArgs& args) {
  const int64_t all = args.triples.size(0), batch = args.number.numel();
  const int32_t *triples = args.triples.data<int32_t>(), *order = args.order.data<int32_t>();
  int32_t *number = args.number.mutable_data<int32_t>(), *relation = args.relation.mutable_data<int32_t>(),
          *entity = args.entity.mutable_data<int32_t>();
  int64_t& position = *args.position.mutable_data<int64_t>();
  for (int64_t k = 0; k < batch; ++k) {
    number[k] = order[(position + k) % all];
    const int32_t* triple = triples + int64_t{3} * number[k];
    entity[k] = triple[0];
    relation[k] = triple[1];
    entity[batch + k] = triple[2];
  }
  const uint64_t stream = stream_of(args.key);
  for (int64_t k = 2 * batch; k < args.entity.numel(); ++k) {
    const auto draw = static_cast<uint64_t>(k - 2 * batch);
    const uint32_t word = philox(args.key.seed, stream, draw / 4).word[draw % 4];
    entity[k] = static_cast<int32_t>(uint64_t{word} * static_cast<uint64_t>(args.entities) >> 32);
  }
  position += batch;
}

void entity_ranks(const EntityRanksArgs& args) {
  const int64_t rows = args.y.size(0), count = args.y.size(1);
  require_in_range("entity_ranks", "entity", args.entity, count);
  const int32_t* entity = args.entity.data<int32_t>();
  int32_t *better = args.better.mutable_data<int32_t>(), *ties = args.ties.mutable_data<int32_t>();
  dispatch_float(args.y.dtype(), "entity_ranks", [&]<class T>() {
    const T* y = args.y.data<T>();
    for_rows(rows, count, [=, known = args.known](int64_t i) {
      const T* row = y + i * count;
      const T truth = row[entity[i]];
      int32_t above = 0, equal = 0;
#pragma omp simd reduction(+ : above, equal)
      for (int64_t k = 0; k < count; ++k) {
        above += !(row[k] <= truth);
        equal += row[k] == truth;
      }
      const int64_t* offsets = known.offsets.data<int64_t>() + known.rows.data<int32_t>()[i];
      bool listed = false;
      for (int64_t k = offsets[0]; k < offsets[1]; ++k) {
        const int32_t other = known.ids.data<int32_t>()[k];
        above -= !(row[other] <= truth);
        equal -= row[other] == truth;
        listed |= other == entity[i];
      }
      if (!listed) equal -= truth == truth;  // itself, unless it is not a number
      better[i] = above;
      ties[i] = equal;
    });
  });
}

}  // namespace adj::kernels::cpu
