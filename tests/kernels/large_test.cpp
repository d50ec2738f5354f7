// Every GPU against the CPU at sizes of many blocks, at widths that are not multiples of a vector, and on
// views at any offset; and the same bits in every run.
#include "gemm_cases.h"
#include "loss_calls.h"
#include <adjoint/core/allocator.h>
#include <adjoint/core/runtime.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/edge/edge.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/elementwise/unary.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/reduce/reduce.h>
#include <adjoint/kernels/update/optimizer.h>

#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

constexpr std::pair<int64_t, int64_t> kShapes[] = {{200003, 1}, {70001, 7},  {50000, 16}, {30011, 40},
                                                   {20003, 64}, {9001, 130}, {8192, 256}, {1501, 1433},
                                                   {523, 4096}, {3, 70001}};

Devices gpus() {
  std::vector<Device> all = devices().list();
  all.erase(all.begin());
  return Devices(all);
}

/// Calls f(device, rows, width) for every GPU and shape.
template <class F>
void on_devices_and_shapes(F f) {
  for (Device device : gpus())
    for (const auto& [rows, width] : kShapes) {
      CAPTURES(rows, width);
      f(device, rows, width);
    }
}

/// f(device) makes tensors from the same inputs on every device: the device's are close to the CPU's, and a
/// second run gives the same bits.
template <class F>
void agree(Device device, double tolerance, F f) {
  const std::vector<Tensor> expected = f(Device::cpu()), first = f(device), second = f(device);
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(close(first[i], expected[i].to(DType::f64), tolerance));
    CHECK(same_bits(first[i], second[i]));
  }
}

template <class F>
void agree(Device device, F f) {
  agree(device, 2e-5, f);
}

/// A random matrix, as a view that begins at its second row: at an odd offset if the width is odd.
std::vector<Tensor> matrices(int64_t rows, int64_t width) {
  return {random_tensor({rows, width}), random_tensor({rows + 1, width}).rows(1, rows + 1)};
}

/// The same view on another device.
Tensor copy_to(const Tensor& view, Device device) {
  Tensor whole = Tensor::empty({view.size(0) + 1, view.size(1)}, view.dtype(), device);
  Tensor part = whole.rows(1, view.size(0) + 1);
  part.copy_(view);
  return part;
}

}  // namespace

TEST_CASE("large: losses over all rows and over some") {
  on_devices_and_shapes([](Device device, int64_t rows, int64_t width) {
    LossCall host(rows, width, DType::f32, {});
    host.target = random_uniform({rows, width}, 0.0, 1.0, default_generator());
    std::vector<int32_t> some;
    for (int32_t i = static_cast<int32_t>(rows) - 1; i >= 0; i -= 3) some.push_back(i);
    for (const Tensor& x : matrices(rows, width))
      for (const Tensor& index : {Tensor(), Tensor::from(some)}) {
        host.index = index;
        agree(device, [&](Device d) {
          LossCall call = host.to(d);
          call.x = copy_to(x, d);
          call.target = copy_to(host.target, d);
          std::vector<Tensor> y;
          for (Loss loss : kLosses) {
            y.push_back(call.forward(loss).clone());
            y.push_back(call.backward(loss, static_cast<double>(rows)));
          }
          return y;
        });
      }
  });
}

TEST_CASE("large: more parts than one launch takes") {
  std::vector<Tensor> parts;
  int64_t width = 0;
  for (int64_t p = 0; p < 75; ++p) {
    parts.push_back(random_tensor({301, p % 5}));
    width += p % 5;
  }
  for (Device device : gpus())
    agree(device, 0.0, [&](Device d) {
      std::vector<Tensor> copies, y{Tensor::empty({301, width}, DType::f32, d)};
      for (const Tensor& part : parts) copies.push_back(part.to(d));
      kernels::concat_columns({.parts = copies, .y = y[0]});
      for (const Tensor& part : parts) y.push_back(Tensor::empty_like(part.to(d)));
      kernels::split_columns({.y = y[0], .parts = std::span<Tensor>(y).subspan(1)});
      return y;
    });
}

TEST_CASE("large: updates of many tensors, of both dtypes, some at odd places") {
  const auto sizes = [] {
    std::vector<int64_t> list{1433 * 16, 16, 1, 3, 200003, 256 * 256};
    for (int64_t k = 0; k < 140; ++k) list.push_back(k % 9);
    return list;
  }();
  std::vector<Tensor> start;
  for (size_t k = 0; k < sizes.size(); ++k)
    start.push_back(random_tensor({sizes[k] + 1}, k % 7 == 3 ? DType::f64 : DType::f32));
  for (Device device : gpus())
    for (int rule : {0, 1, 2, 3})
      agree(device, [&](Device d) {
        std::vector<kernels::UpdateSlot> slots;
        std::vector<Tensor> y;
        for (size_t k = 0; k < start.size(); ++k) {
          const int64_t shift = k % 2 == 0 ? 0 : 1;
          const auto view = [&](const Tensor& t) { return t.rows(shift, sizes[k] + shift); };
          const Tensor p = view(start[k].to(d).clone());
          const auto zeros = [&] { return view(Tensor::zeros({sizes[k] + 1}, p.dtype(), d)); };
          const Tensor m = zeros(), v = zeros();
          Tensor g = Tensor::empty_like(p);
          kernels::linear_combination({.alpha = 0.5, .a = p, .y = g});
          slots.push_back({p, g, rule == 0 ? Tensor() : m, rule <= 1 ? Tensor() : v});
          y.push_back(p);
        }
        Tensor step = Tensor::zeros({1}, DType::i64, d), norm = Tensor::empty({1}, DType::f64, d);
        const Tensor rate = Tensor::full({1}, 0.01, DType::f64, d);
        std::vector<Tensor> gradients;
        for (const kernels::UpdateSlot& slot : slots) gradients.push_back(slot.gradient);
        kernels::global_norm({.tensors = gradients, .norm = norm});
        kernels::clip_to_norm({.tensors = gradients, .norm = norm, .max_norm = 1.0});
        for (int i = 0; i < 3; ++i)
          if (rule <= 1) {
            kernels::sgd_update({.slots = slots,
                                 .rule = {.momentum = rule == 0 ? 0.0 : 0.9, .weight_decay = 0.01},
                                 .learning_rate = rate,
                                 .step = step});
          } else {
            kernels::adam_update({.slots = slots,
                                  .rule = {.weight_decay = 0.01, .decoupled = rule == 3},
                                  .learning_rate = rate,
                                  .step = step});
          }
        y.push_back(step);
        y.push_back(norm);
        return y;
      });
}

TEST_CASE("large: products, in every transpose form and from odd places") {
  for (Device device : gpus())
    for (const Product& p : in_all_forms({{2708, 1433, 16},
                                          {1433, 2708, 16},
                                          {2708, 16, 7},
                                          {5001, 128, 256},
                                          {256, 20011, 256},
                                          {128, 30000, 40},
                                          {1000, 3, 1000},
                                          {7, 50001, 3}})) {
      CAPTURES(p.m, p.k, p.n, p.turned_a, p.turned_b);
      const Tensor a = random_tensor(p.shape_a()), b = random_tensor(p.shape_b());
      const Tensor bias = random_tensor({p.n + 1});
      agree(device, 5e-5, [&](Device d) {
        const Tensor x = a.to(d), w = b.to(d), first = bias.to(d).rows(0, p.n),
                     second = bias.to(d).rows(1, p.n + 1);
        return std::vector<Tensor>{
            multiplied(p, x, w), multiplied(p, copy_to(a, d), copy_to(b, d)),
            multiplied(p, x, w, {.bias = first, .activation = Activation::relu}),
            multiplied(p, copy_to(a, d), w, {.bias = second, .activation = Activation::relu})};
      });
    }
}

TEST_CASE("large: TF32 and bfloat16 products are used only on request") {
  for (Device device : gpus()) {
    const Tensor a = random_tensor({3000, 512}), b = random_tensor({512, 256});
    Tensor expected = Tensor::empty({3000, 256});
    kernels::gemm({.a = a, .b = b, .c = expected});
    const auto error = [&](MatmulPrecision precision) {
      const ComputeScope scope({.matmul_precision = precision});
      Tensor c = Tensor::empty({3000, 256}, DType::f32, device);
      kernels::gemm({.a = a.to(device), .b = b.to(device), .c = c});
      const Numbers x = values(c), y = values(expected);
      double off = 0.0, size = 0.0;
      for (size_t i = 0; i < x.size(); ++i) {
        off += (x[i] - y[i]) * (x[i] - y[i]);
        size += y[i] * y[i];
      }
      return std::sqrt(off / size);
    };
    CHECK(error(MatmulPrecision::exact) < 1e-6);
    const double tf32 = error(MatmulPrecision::tf32), bf16 = error(MatmulPrecision::bf16);
    CHECK(tf32 > 1e-5);
    CHECK(tf32 < 2e-3);
    CHECK(bf16 < 2e-2);
  }
}

namespace {

/// The GPUs with that many free bytes; prints which others are skipped.
std::vector<Device> gpus_with(size_t bytes) {
  std::vector<Device> found;
  for (Device device : gpus()) {
    size_t free_bytes = 0, total_bytes = 0;
    empty_cache(device);
    runtime(device).memory_info(&free_bytes, &total_bytes);
    if (free_bytes >= bytes) {
      found.push_back(device);
    } else {
      MESSAGE("skipped: more than 2^31 elements need " << (bytes >> 30) << " GiB free on " << device.str());
    }
  }
  return found;
}

/// The last `count` elements of the last row.
Numbers last(const Tensor& matrix, size_t count) {
  const Numbers row = values(matrix.rows(matrix.size(0) - 1, matrix.size(0)));
  return {row.end() - static_cast<std::ptrdiff_t>(count), row.end()};
}

}  // namespace

TEST_CASE("large: nodes x features above 2^31") {
  for (Device device : gpus_with(size_t{48} << 30))
    for (DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(name_of(dtype));
      constexpr int64_t kRows = 1100000, kWidth = 2000;  // 2.2e9 elements, 8.8 GB of float32
      static_assert(kRows * kWidth > int64_t{1} << 31);
      Tensor x = Tensor::full({kRows, kWidth}, -1.0, dtype, device);
      x.rows(kRows - 1, kRows).fill_(3.0);
      Tensor y = Tensor::full({kRows, kWidth}, NAN, dtype, device);
      kernels::activate({.activation = Activation::relu, .x = x, .y = y});
      CHECK(last(y, 2) == Numbers{3.0, 3.0});
      CHECK(values(y.rows(0, 1))[0] == 0.0);
      const Tensor bias = Tensor::full({kWidth}, 0.5, dtype, device);
      kernels::add_bias({.x = x, .bias = bias, .y = y});
      CHECK(last(y, 1) == Numbers{3.5});
      kernels::linear_combination({.alpha = 2.0, .a = x, .beta = 1.0, .b = y, .y = y});
      CHECK(last(y, 1) == Numbers{9.5});
      // Row i of the structure takes row N - 1 - i of x: the first row of y is the last of x.
      std::vector<int64_t> offsets(uz(kRows) + 1);
      std::vector<int32_t> indices(uz(kRows));
      std::iota(offsets.begin(), offsets.end(), 0);
      std::iota(indices.rbegin(), indices.rend(), 0);
      const Csr csr{kRows, kRows, Tensor::from(offsets, device), Tensor::from(indices, device)};
      kernels::spmm({.a = {csr, {}, {}}, .x = x, .y = y});
      CHECK(values(y.rows(0, 1))[1999] == 3.0);
      CHECK(last(y, 1) == Numbers{-1.0});
      Tensor sums = Tensor::empty({kWidth}, dtype, device);
      kernels::sum_rows({.x = y, .y = sums});
      CHECK(values(sums)[7] ==
            doctest::Approx(4.0 - static_cast<double>(kRows)).epsilon(dtype == DType::bf16 ? 0x1p-8 : 1e-5));
      Tensor dw = Tensor::full({kRows}, NAN, DType::f32, device);
      kernels::sddmm({.a = {csr, {}, {}}, .y = y, .x = x, .dw = dw});
      CHECK(values(dw.rows(0, 1))[0] == doctest::Approx(9.0 * kWidth));
      CHECK(values(dw.rows(kRows - 1, kRows))[0] == doctest::Approx(1.0 * kWidth));
    }
}

TEST_CASE("large: edges x heads above 2^31") {
  for (Device device : gpus_with(size_t{56} << 30))
    for (DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(name_of(dtype));
      constexpr int64_t kRows = int64_t{1} << 20, kDegree = 260, kHeads = 8, kEdges = kRows * kDegree;
      static_assert(kEdges * kHeads > int64_t{1} << 31);
      std::vector<int64_t> offsets(uz(kRows) + 1);
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int64_t>(i) * kDegree;
      const Csr csr{kRows, kRows, Tensor::from(offsets, device), Tensor::zeros({kEdges}, DType::i32, device)};
      const CsrMatrix a{csr, {}, {}};
      Tensor l = Tensor::zeros({kRows, kHeads}, dtype, device);
      l.rows(kRows - 1, kRows).fill_(2.0);
      const Tensor r = Tensor::full({kRows, kHeads}, 1.0, dtype, device);
      Tensor e = Tensor::full({kEdges, kHeads}, NAN, DType::f32, device);
      kernels::edge_add({.a = a, .l = l, .r = r, .e = e});
      CHECK(last(e, 2) == Numbers{3.0, 3.0});
      Tensor scores = e.to(dtype);  // in float32 e itself
      kernels::edge_softmax({.a = a, .e = scores, .y = e});
      CHECK(last(e, 1)[0] == doctest::Approx(1.0 / kDegree));
      CHECK(values(e.rows(0, 1))[0] == doctest::Approx(1.0 / kDegree));
      if (dtype == DType::bf16) {
        CHECK(last(scores, 1) == Numbers{3.0});
        kernels::edge_softmax_backward({.a = a, .y = e, .dy = e, .de = scores});  // of equal shares: none
        CHECK(std::abs(last(scores, 1)[0]) < 1e-6);
        CHECK(std::abs(values(scores.rows(0, 1))[0]) < 1e-6);
      }
      const Tensor x = Tensor::full({kRows, kHeads}, 5.0, dtype, device);
      Tensor y = Tensor::full({kRows, kHeads}, NAN, dtype, device);
      kernels::spmm({.a = {csr, e, {}}, .x = x, .y = y});
      CHECK(last(y, 1)[0] == doctest::Approx(5.0));
      kernels::sddmm({.a = a, .y = y, .x = x, .dw = e});
      CHECK(last(e, 1)[0] == doctest::Approx(25.0));
    }
}
