#include "../op_table.h"
#include "../structures.h"
#include "cases.h"
#include <adjoint/core/capture.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/gather.h>

using namespace adj;
using namespace adj::test;

namespace {

HostCsr small(Device device = {}) { return random_structure({3, 0, 1, 17, 0, 5, 2}, 9, device); }

/// Relative to the largest sum, as tens of thousands of terms may cancel.
double allowed(DType dtype) { return dtype == DType::f64 ? 1e-12 : dtype == DType::bf16 ? 8e-3 : 2e-4; }

struct Case : Edges {
  DType dtype;
  Device device = csr.device();
  Tensor value;

  Case(const HostCsr& matrix, bool ordered, DType type)
      : Edges(matrix, ordered),
        dtype(type),
        value(random_tensor({count()}, accumulator_dtype(dtype), csr.device())) {}
  CsrMatrix a() const { return Edges::a(value); }
  Tensor random_x(int64_t width) const { return random_tensor({cols(), width}, dtype, device); }
  Tensor spmm(const Tensor& x, const Tensor& bias = {}, Activation activation = Activation::none) const {
    Tensor y = random_tensor({rows(), x.size(1)}, dtype, device);
    kernels::spmm({.a = a(), .x = x, .bias = bias, .activation = activation, .y = y});
    return y;
  }
  Numbers plain(const Tensor& x) const { return plain_spmm(*this, rows(), value, x); }
  bool is_product(const Tensor& y, const Tensor& x) const { return close(y, plain(x), allowed(dtype)); }
};

}  // namespace

TEST_CASE("sparse products and their gradients, by the table of ops") {
  hold(ops::sparse_products(), graphs_of_rows());
}

TEST_CASE("results larger than the caches, at any address, also for rows of partial vectors") {
  for (Device device : devices())
    for (bool whole : {true, false}) {
      std::vector<int64_t> lengths(whole ? 66000 : 300000);
      for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i % (whole ? 3 : 2));
      const HostCsr m = random_structure(lengths, 50, device);
      // On a GPU rows of few entries take several chunks if the width is a multiple of them.
      for (const auto& [dtype, width] : {std::pair(DType::f32, whole ? 128 : 33),
                                         {DType::f32, whole ? 256 : 36},
                                         {DType::f64, whole ? 128 : 17},
                                         {DType::bf16, whole ? 256 : 66},
                                         {DType::bf16, whole ? 512 : 72}}) {
        CAPTURES(name_of(dtype), width);
        const Case c(m, false, dtype);
        const Tensor x = c.random_x(width);
        const Numbers expected = c.plain(x);
        for (int64_t offset : {0, 1}) {
          if (kSanitized && offset == 0) continue;
          Tensor y = at_offset(offset, Tensor::full({m.csr.rows, width}, NAN, dtype, device));
          kernels::spmm({.a = c.a(), .x = x, .y = y});
          CHECK(close(y, expected, allowed(dtype)));
        }
      }
    }
}

TEST_CASE("spmm of very heavy rows, wide rows and rows at any address") {
  on_devices_and_features([](Device device, DType dtype) {
    std::vector<int64_t> lengths(40, 3);
    lengths[0] = lengths[39] = 0;
    lengths[1] = 100000;
    lengths[38] = 33;
    const Case c(random_structure(lengths, 1000, device), true, dtype);
    for (int64_t width : {4, 33, 512, 1000}) {
      CAPTURE(width);
      const Tensor x = at_offset(1, c.random_x(width)), aligned = c.spmm(x.clone());
      Tensor shifted = at_offset(1, aligned);
      shifted.fill_(NAN);
      kernels::spmm({.a = c.a(), .x = x, .y = shifted});
      CHECK(c.is_product(aligned, x));
      CHECK(same_bits(aligned, shifted));
    }
  });
}

TEST_CASE("factors of rows and of columns are those of their entries") {
  on_devices_and_features([](Device device, DType dtype) {
    std::vector<int64_t> lengths(300, 7);
    lengths[0] = lengths[299] = 0;
    lengths[1] = 9000;  // in parts, which are merged
    const DType accumulator = accumulator_dtype(dtype);
    for (const bool large : {false, true}) {
      const HostCsr m = large ? random_structure(lengths, 500, device) : small(device);
      const Tensor row = random_tensor({m.csr.rows}, accumulator, device),
                   column = random_tensor({m.csr.cols}, accumulator, device);
      const Numbers of_row = values(row), of_column = values(column);
      Numbers each_row(uz(m.csr.entries())), each_column(each_row.size());
      m.each([&](size_t i, size_t j, size_t e) {
        each_row[e] = of_row[i];
        each_column[e] = of_column[j];
      });
      const auto entries = [&](const Numbers& numbers) {
        return tensor_of(numbers, {std::ssize(numbers)}, accumulator, device);
      };
      for (const int64_t width : {1, 3, 64, 130}) {
        CAPTURES(large, width);
        const Tensor x = random_tensor({m.csr.cols, width}, dtype, device);
        Tensor y = Tensor::full({m.csr.rows, width}, NAN, dtype, device);
        kernels::spmm({.a = {m.csr, {}, {}}, .x = x, .y = y, .row_factor = row});
        CHECK(close(y, plain_spmm(m, m.csr.rows, entries(each_row), x), allowed(dtype)));
        kernels::spmm({.a = kernels::by_column(m.csr, column), .x = x, .y = y});
        CHECK(close(y, plain_spmm(m, m.csr.rows, entries(each_column), x), allowed(dtype)));
      }
    }
    const HostCsr m = small(device);
    const Tensor x = random_tensor({m.csr.cols, 4}, dtype, device);
    Tensor y = Tensor::empty({m.csr.rows, 4}, dtype, device);
    const Tensor wrong = random_tensor({m.csr.cols + m.csr.rows}, accumulator, device);
    CHECK_ERROR_HAS(kernels::spmm({.a = {m.csr, {}, {}}, .x = x, .y = y, .row_factor = wrong}), "row_factor");
    CHECK_ERROR_HAS(kernels::spmm({.a = kernels::by_column(m.csr, wrong), .x = x, .y = y}), "columns");
  });
}

TEST_CASE("a product of some columns goes to columns of a wider result, with the bits of all") {
  on_devices_and_features([](Device device, DType dtype) {
    std::vector<int64_t> lengths(300, 7);
    lengths[0] = lengths[299] = 0;
    lengths[1] = 9000;  // in parts, which are merged
    const Case c(random_structure(lengths, 500, device), true, dtype);
    for (const int64_t width : {1, 47, 256, 8192})
      for (const bool epilogue : {false, true}) {
        if (width == 8192 && dtype != DType::f32) continue;  // results that CPUs store around their caches
        CAPTURES(width, epilogue);
        const Tensor x = c.random_x(width), bias = random_tensor({width}, dtype, device);
        const Activation activation = epilogue ? Activation::relu : Activation::none;
        Tensor whole = Tensor::empty({300, width}, dtype, device), y = at_offset(1, whole);
        kernels::spmm(
            {.a = c.a(), .x = x, .bias = epilogue ? bias : Tensor(), .activation = activation, .y = whole});
        for (const int64_t step : {int64_t{1} + width / 2, int64_t{32}}) {
          y.fill_(NAN);
          for (int64_t first = 0; first < width; first += step) {
            Tensor part = Tensor::empty({500, std::min(step, width - first)}, dtype, device);
            kernels::slice_columns({.x = x, .begin = first, .y = part});
            kernels::spmm({.a = c.a(),
                           .x = part,
                           .bias = epilogue ? bias.rows(first, first + part.size(1)) : Tensor(),
                           .activation = activation,
                           .y = y,
                           .first_column = first});
          }
          CHECK(same_bits(y, whole));
        }
        if (width == 1) continue;  // a small product of a GPU has another order
        for (const auto& [begin, end] :
             {std::pair<int64_t, int64_t>{0, 500}, {200, 420}, {499, 500}, {7, 7}}) {
          y.fill_(NAN);
          const Tensor local = x.rows(begin, end);
          for (int64_t first = 0; first < width; first += 32) {
            Tensor part = Tensor::empty({500, std::min<int64_t>(32, width - first)}, dtype, device);
            kernels::slice_columns({.x = x, .begin = first, .y = part});
            part.rows(begin, end).fill_(NAN);
            kernels::spmm({.a = c.a(),
                           .x = part,
                           .bias = epilogue ? bias.rows(first, first + part.size(1)) : Tensor(),
                           .activation = activation,
                           .y = y,
                           .first_column = first,
                           .local = local,
                           .local_row = begin});
          }
          CHECK(same_bits(y, whole));
        }
      }
    Tensor y = Tensor::empty({300, 4}, dtype, device);
    const Tensor x = c.random_x(3);
    CHECK_ERROR_HAS(kernels::spmm({.a = c.a(), .x = x, .y = y, .first_column = 2}), "columns 2 to 5 of y");
    CHECK_ERROR_HAS(kernels::spmm({.a = c.a(), .x = x, .y = y, .first_column = -1}), "columns -1 to 2 of y");
    CHECK_ERROR_HAS(kernels::spmm({.a = c.a(), .x = x, .y = y, .local = x}), "spmm: local is [500, 3]");
    CHECK_ERROR_HAS(kernels::spmm({.a = c.a(), .x = x, .y = y, .local = y, .local_row = 499}),
                    "from row 499 on");
    const Tensor by_head = Tensor::full({c.csr.entries(), 3}, 1.0, accumulator_dtype(dtype), device);
    CHECK_ERROR_HAS(kernels::spmm({.a = {c.csr, by_head, {}}, .x = x, .y = y}), "by 3 heads");
  });
}

TEST_CASE("spmm has the same bits captured, on another stream, and planned within the capture") {
  for (Device device : devices()) {
    if (!StepGraph::supported(device)) continue;
    const Stream other = Stream::make(device);
    for (const int64_t rows : {3000, 9000})  // planned in one launch, and in several
      for (const bool planned : {false, true}) {
        CAPTURES(planned, rows);
        std::vector<int64_t> lengths(uz(rows), 20);
        lengths[77] = 4000;
        const Case c(random_structure(lengths, rows, device), false, DType::f32);
        const Tensor x = c.random_x(64);
        Tensor first = Tensor::empty({rows, 64}, DType::f32, device), second = Tensor::empty_like(first),
               third = Tensor::empty_like(first);
        const auto unplanned = [&] {
          Csr csr = c.csr;
          csr.cache = std::make_shared<KeyedCache>();
          return csr;
        };
        kernels::spmm({.a = {unplanned(), c.value, {}}, .x = x, .y = first});
        if (planned) kernels::spmm({.a = c.a(), .x = x, .y = second});
        if (planned) CHECK(same_bits(first, second));
        other.wait(Stream::current(device));
        {
          const StreamScope scope(other);
          kernels::spmm({.a = {planned ? c.csr : unplanned(), c.value, {}}, .x = x, .y = third});
          other.synchronize();
        }
        CHECK(same_bits(first, third));
        // Without a cached plan, by upper bounds of its counts.
        const Csr csr = planned ? c.csr : unplanned();
        StepGraph step;
        step.begin(device);
        kernels::spmm({.a = {csr, c.value, {}}, .x = x, .y = second});
        kernels::spmm({.a = {csr, c.value, {}}, .x = x, .y = third});
        step.end();
        second.zero_();
        third.zero_();
        step.replay();
        CHECK(same_bits(first, second));
        CHECK(same_bits(first, third));
      }
  }
}

TEST_CASE("spmm passes on NaN") {
  for (Device device : devices()) {
    Csr csr{1, 2, Tensor::from<int64_t>({0, 2}, device), Tensor::from<int32_t>({0, 1}, device)};
    const Tensor x = Tensor::from<float>({1.0f, NAN}, {2, 1}, device);
    Tensor y = Tensor::empty({1, 1}, DType::f32, device);
    kernels::spmm({.a = {csr, {}, {}}, .x = x, .activation = Activation::relu, .y = y});
    CHECK(std::isnan(y.item()));
  }
}

TEST_CASE("errors of spmm name the mismatch") {
  const HostCsr m = small();
  const Tensor x = random_tensor({9, 4});
  Tensor y = Tensor::empty({7, 4});
  CHECK_ERROR(kernels::spmm({.a = {m.csr, {}, {}}, .x = x, .activation = Activation::elu, .y = y}),
              "spmm: activation elu, expected none or relu");
  const auto spmm = [&](const Tensor& value, const Tensor& in, const Tensor& bias, Tensor& out) {
    kernels::spmm({.a = {m.csr, value, {}}, .x = in, .bias = bias, .y = out});
  };
  CHECK_ERROR_HAS(spmm({}, random_tensor({8, 4}), {}, y), "x is [8, 4] float32 on cpu");
  CHECK_THROWS_AS(spmm(random_tensor({5}), x, {}, y), Error);
  CHECK_THROWS_AS(spmm({}, x, random_tensor({5}), y), Error);
  Tensor narrow = Tensor::empty({7, 3});
  CHECK_THROWS_AS(spmm({}, x, {}, narrow), Error);
  CHECK_THROWS_AS(spmm({}, random_ints(36, 0, 5).reshape({9, 4}), {}, y), Error);
  Tensor dw = Tensor::empty({m.csr.entries() - 1});
  CHECK_THROWS_AS(kernels::sddmm({.a = {m.csr, {}, {}}, .y = y, .x = x, .dw = dw}), Error);
  // Extra values belong to no entry, unless an order assigns them.
  const int64_t entries = m.csr.entries();
  const Tensor surplus = random_tensor({entries + 1}), order = random_ints(entries, 0, 3);
  CHECK_ERROR_HAS(spmm(surplus, x, {}, y), "values is");
  kernels::spmm({.a = {m.csr, surplus, order}, .x = x, .y = y});
  Tensor many = Tensor::empty({entries + 1});
  CHECK_THROWS_AS(kernels::sddmm({.a = {m.csr, {}, {}}, .y = y, .x = x, .dw = many}), Error);
  Tensor sums = Tensor::empty({m.csr.rows});
  CHECK_THROWS_AS(kernels::row_sums({.a = {m.csr, surplus, {}}, .y = sums}), Error);
}

TEST_CASE("sparse products refuse outputs that are their inputs") {
  for (Device device : devices()) {
    const HostCsr m = random_structure({1, 0, 2, 3}, 4, device);
    Tensor x = random_tensor({4, 3}, DType::f32, device), y = Tensor::empty_like(x),
           dw = Tensor::empty({m.csr.entries()}, DType::f32, device);
    const Tensor both = random_tensor({8, 3}, DType::f32, device);
    Tensor half = both.rows(4, 8);
    CHECK_ERROR(kernels::spmm({.a = {m.csr, {}, {}}, .x = x, .y = x}), "spmm: y cannot be x");
    CHECK_THROWS_AS(kernels::spmm({.a = {m.csr, {}, {}}, .x = both.rows(0, 4), .y = half}), Error);
    const auto backward = [&](const Tensor& dy, const Tensor& in, Tensor& dx) {
      kernels::spmm_backward({.at = {m.csr, {}, {}}, .dy = dy, .x = in, .dx = dx, .dw = dw});
    };
    backward(both.rows(0, 4), x, y);
    CHECK_ERROR(backward(y, x, y), "spmm_backward: dx cannot be dy");
    CHECK_ERROR(backward(x, y, y), "spmm_backward: dx cannot be x");
  }
}

TEST_CASE("normalisations refuse to overwrite values that are read in another order") {
  for (Device device : devices()) {
    const HostCsr m = random_structure({1, 2, 1, 2}, 4, device);
    Tensor values = Tensor::full({6}, 2.0, DType::f32, device),
           degree = Tensor::empty({4}, DType::f32, device);
    const Tensor order = Tensor::from<int32_t>({5, 4, 3, 2, 1, 0}, device);
    CHECK_ERROR_HAS(
        kernels::gcn_normalize({.a = {m.csr, values, order}, .degree = degree, .weights = values}),
        "weights cannot be the values");
    CHECK_ERROR_HAS(kernels::row_normalize_entries({.a = {m.csr, values, order}, .weights = values}),
                    "weights cannot be the values");
    kernels::row_normalize_entries({.a = {m.csr, values, {}}, .weights = values});
    CHECK(close(values, {1, 0.5, 0.5, 1, 0.5, 0.5}, 1e-6));
  }
}
