#include <adjoint/core/convert.h>
#include <adjoint/kernels/dense/cpu/gemm_bf16.h>
#include <adjoint/kernels/elementwise/elementwise.h>

#include <algorithm>

namespace adj::kernels::cpu {

namespace {

constexpr int64_t kTile = int64_t{1} << 20;  // elements of A: 4 MiB when widened

/// Calls f(begin, end) for tiles of A's rows, by A's shape alone.
template <class F>
void for_tiles(const Tensor& a, F f) {
  const int64_t rows = std::max<int64_t>(64, kTile / a.size(1));
  for (int64_t begin = 0; begin < a.size(0); begin += rows) f(begin, std::min(begin + rows, a.size(0)));
}

Tensor wide(const Tensor& tensor) { return tensor.to(DType::f32); }

/// Each tile of A gives rows of C.
void by_rows_of_c(const GemmArgs& args) {
  const Tensor b = wide(args.b), bias = wide(args.bias);
  for_tiles(args.a, [&](int64_t begin, int64_t end) {
    Tensor c = args.c.rows(begin, end), product = Tensor::empty(c.shape());
    gemm({.a = wide(args.a.rows(begin, end)),
          .b = b,
          .trans_b = args.trans_b,
          .bias = bias,
          .activation = args.activation,
          .c = product});
    convert(product, c);
  });
}

/// Aᵀ B: each tile of A, with the same rows of B, gives a share of all of C. (Both turned: one tile.)
void by_shares_of_c(const GemmArgs& args) {
  Tensor sum = Tensor::zeros(args.c.shape()), share = Tensor::empty(args.c.shape());
  const auto add = [&](const Tensor& a, const Tensor& b) {
    gemm({.a = wide(a), .trans_a = Transpose::yes, .b = wide(b), .trans_b = args.trans_b, .c = share});
    linear_combination({.alpha = 1.0, .a = sum, .beta = 1.0, .b = share, .y = sum});
  };
  if (args.trans_b == Transpose::yes) {
    add(args.a, args.b);
  } else {
    for_tiles(args.a,
              [&](int64_t begin, int64_t end) { add(args.a.rows(begin, end), args.b.rows(begin, end)); });
  }
  if (args.bias) add_bias({.x = sum, .bias = wide(args.bias), .y = sum});
  if (args.activation != Activation::none) activate({.activation = args.activation, .x = sum, .y = sum});
  convert(sum, args.c);
}

}  // namespace

void gemm_bf16(const GemmArgs& args) {
  args.trans_a == Transpose::yes ? by_shares_of_c(args) : by_rows_of_c(args);
}

}  // namespace adj::kernels::cpu
