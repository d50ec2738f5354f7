#include <adjoint/kernels/array/swap_dimensions.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/words.h>

namespace adj::kernels::cpu {

void swap_dimensions(const SwapDimensionsArgs& args) {
  const auto [outer, rows, middle, columns, inner] = args.extents;
  // Blocks of a by b, so that the lines of both tensors stay in the cache.
  constexpr int64_t kBlock = 32;
  const int64_t a_blocks = ceil_div(rows, kBlock), b_blocks = ceil_div(columns, kBlock);
  detail::dispatch_word(args.x.dtype(), [&, outer = outer, rows = rows, middle = middle, columns = columns,
                                         inner = inner]<class Word>() {
    const auto* x = static_cast<const Word*>(args.x.raw_data());
    auto* y = static_cast<Word*>(args.y.raw_mutable_data());
    for_rows(outer * middle * b_blocks * a_blocks, kBlock * kBlock * inner, [=](int64_t block) {
      const int64_t a_first = block % a_blocks * kBlock, b_first = block / a_blocks % b_blocks * kBlock;
      const int64_t place = block / a_blocks / b_blocks, m = place % middle, o = place / middle;
      const int64_t a_end = std::min(rows, a_first + kBlock), b_end = std::min(columns, b_first + kBlock);
      for (int64_t b = b_first; b < b_end; ++b)
        for (int64_t a = a_first; a < a_end; ++a)
          std::copy_n(x + (((o * rows + a) * middle + m) * columns + b) * inner, inner,
                      y + (((o * columns + b) * middle + m) * rows + a) * inner);
    });
  });
}

}  // namespace adj::kernels::cpu
