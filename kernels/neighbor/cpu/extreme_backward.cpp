// Each result's gradient is added to its winner. Threads share out the columns, each going through the rows
// in order, so that every sum has the order of the rows however many threads there are. Bytes: winners and
// gradients once, and a random row of dx for every result.

#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/neighbor/extreme_backward.h>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kColumns = 16;       // a cache line of float32, which no two threads then write
constexpr int64_t kNarrow = 64;        // below as many columns they are dealt out in half lines
constexpr int64_t kFewWinners = 4096;  // not worth another thread

template <class S>
void add_to_winners(const NeighborExtremeBackwardArgs& args, Wide<S>* sums) {
  const int64_t rows = args.dy.size(0), width = args.dx.size(1), pitch = args.dy.size(1);
  const int32_t* winner = args.winner.data<int32_t>();
  const S* dy = args.dy.data<S>() + args.part * width;
  const int64_t grain = rows * width <= kFewWinners ? width : width < kNarrow ? kColumns / 2 : kColumns;
  parallel_for(width, grain, [=](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < rows; ++i) {
      const int32_t* won = winner + i * width;
      const S* from = dy + i * pitch;
      for (int64_t f = begin; f < end; ++f)
        if (won[f] >= 0) sums[won[f] * width + f] += widen(from[f]);
    }
  });
}

}  // namespace

void neighbor_extreme_backward(const NeighborExtremeBackwardArgs& args) {
  if (args.dx.numel() == 0) return;
  dispatch_features(args.dx.dtype(), [&]<class S>() {
    S* dx = args.dx.mutable_data<S>();
    if constexpr (std::is_same_v<S, Wide<S>>) {
      if (!args.accumulate) args.dx.zero_();
      add_to_winners<S>(args, dx);
    } else {
      Tensor wide = Tensor::zeros(args.dx.shape(), dtype_of<Wide<S>>());
      Wide<S>* sums = wide.mutable_data<Wide<S>>();
      add_to_winners<S>(args, sums);
      const bool accumulate = args.accumulate;
      map<S>(args.dx.numel(), dx, [=](int64_t k) { return accumulate ? widen(dx[k]) + sums[k] : sums[k]; });
    }
  });
}

}  // namespace adj::kernels::cpu
