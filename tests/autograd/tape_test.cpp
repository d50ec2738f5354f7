#include "../reference/plain.h"
#include <adjoint/autograd/tape.h>
#include <adjoint/core/allocator.h>
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

constexpr int64_t kRows = 500, kCols = 64;
constexpr size_t kBytes = kRows * kCols * sizeof(float);  // 128000, a multiple of the allocator's 256

size_t current(Device device) { return memory_stats(device).current; }

// Passes its input on, and calls `f` when the backward pass goes by.
template <class F>
Var probe(const Var& x, F f) {
  return record("probe", x.value(), {x}, [f](Tensor dy, Gradients& out) {
    f();
    out.add(0, std::move(dy));
  });
}

// The error of y's backward pass after a write to `changed`.
std::string error_after_change(const Var& y, Tensor changed) {
  changed.fill_(0.5);
  const Tensor seed = Tensor::full(y.shape(), 1.0, y.dtype(), y.device());
  return error_of([&] { y.backward(seed); });
}

}  // namespace

TEST_CASE("an op's name is in errors of its kernels") {
  const Tensor x = Tensor::zeros({4, 3}), whole = x.to(DType::i32), narrow_x = x.to(DType::bf16);
  const auto begins = [](const std::string& op, const auto& f) {
    CAPTURE(op);
    const std::string message = error_of(f);
    CAPTURE(message);
    CHECK(message.starts_with(op + ": "));
  };
  begins("matmul", [&] { matmul(x, x); });
  begins("matmul", [&] { matmul(x, Tensor::zeros({3, 2}, DType::f64)); });
  begins("matmul", [&] { matmul(whole, Tensor::zeros({3, 2}, DType::i32)); });
  begins("matmul", [&] { matmul(Features(x), x); });
  begins("linear", [&] { linear(x, x); });
  begins("linear", [&] { linear(x, Tensor::zeros({3, 2}), Tensor::zeros({5})); });
  begins("cross_entropy", [&] { cross_entropy(x, x); });
  begins("cross_entropy", [&] { cross_entropy(x, Tensor::zeros({5}, DType::i32)); });
  begins("cross_entropy", [&] { cross_entropy(x, Tensor::full({4}, 7.0, DType::i32)); });
  begins("cross_entropy", [&] { cross_entropy(x, whole, {}, {.ignore_index = -1}); });
  begins("bce_with_logits", [&] { bce_with_logits(x, Tensor::zeros({4, 2})); });
  begins("mse_loss", [&] { mse_loss(x, Tensor::zeros({4, 2})); });
  begins("index_select", [&] { index_select(x, x); });
  begins("index_select", [&] { index_select(x, Tensor::full({1}, 9.0, DType::i32)); });
  begins("add", [&] { add(x, Tensor::zeros({2, 2})); });
  begins("multiply", [&] { multiply(x, Tensor::zeros({2, 2})); });
  begins("divide", [&] { divide(x, narrow_x); });
  begins("relu", [&] { relu(whole); });
  begins("gelu", [&] { gelu(whole); });
  begins("exp", [&] { adj::exp(whole); });
  begins("softmax", [&] { softmax(whole); });
  begins("cat", [&] { cat({x, narrow_x}); });
  begins("sum", [&] { sum(Var(whole)); });
  begins("max", [&] { max(whole, 0); });
  begins("layer_norm", [&] { layer_norm(x, Tensor::zeros({2}), Tensor::zeros({2})); });
  begins("l2_normalize", [&] { l2_normalize(whole); });
  begins("dropout", [&] { dropout(whole, 0.5f); });
  begins("segment_sum", [&] { segment_sum(x, x); });
  const Draw draw(7);
  const Relation edges =
      Relation::from_coo(4, 4, Tensor::zeros({3}, DType::i32), Tensor::zeros({3}, DType::i32));
  begins("aggregate", [&] { aggregate(edges, Tensor::zeros({5, 2})); });
  begins("aggregate", [&] { aggregate(SparseMatrix(edges), whole); });
  begins("edge_dot", [&] { edge_dot(edges, x, Tensor::zeros({4, 2})); });
  begins("edge_softmax", [&] { edge_softmax(edges, Tensor::zeros({5, 1})); });
}

TEST_CASE("diamonds add up the gradients of their branches") {
  on_devices(110, DType::f64, [&](Draw& draw, Device) {
    const std::vector<Tensor> in{draw.normal({3, 2})};
    check(in, [](const auto& v) {
      const Var h = v[0] * v[0];
      return (h + 2.0 * h) * (h - v[0]);
    });
    check(in, [](const auto& v) {
      Var h = v[0];
      for (int i = 0; i < 4; ++i) h = 0.5 * (h + h * v[0]);
      return h;
    });
    // Branches of unequal length meet: the short one must wait for the long one.
    check(in, [](const auto& v) {
      const Var h = gelu(v[0]);
      return h * gelu(gelu(gelu(h)));
    });
  });
}

TEST_CASE("products of one input add to its gradient, in place if nothing else holds it") {
  on_devices(111, DType::f64, [&](Draw& draw, Device) {
    const std::vector<Tensor> in{draw.normal({5, 4}), draw.normal({4, 3}), draw.normal({4, 3})};
    check(in, [](const auto& v) {
      const Var h = gelu(v[0]);
      return linear(h, v[1]) * linear(h, v[2]) + linear(h, v[1]);
    });
    // An addition passes one gradient to both inputs: neither may grow in the other's place.
    const std::vector<Tensor> square{draw.normal({5, 4}), draw.normal({4, 4}), draw.normal({5, 4})};
    check(square, [](const auto& v) {
      const Var h = gelu(v[0]), other = gelu(v[2]);
      const Var products = linear(h, v[1]) * linear(other, v[1]);
      return products * (h + other);
    });
    check([](const auto& v) { return linear(v[0], v[1]) + (v[0] + v[2]); }, square);
  });
}

TEST_CASE("gradients pass a relu once, whichever user contributes them") {
  on_devices(112, DType::f64, [&](Draw& draw, Device) {
    const std::vector<Tensor> in{draw.normal({5, 4}), draw.normal({4, 4}), draw.normal({4, 3}),
                                 draw.normal({4, 3})};
    const SparseMatrix a = draw.sparse(5, 5, 12);
    check([&](const auto& v) { return linear(aggregate(a, linear(v[0], v[1]), {}, Activation::relu), v[2]); },
          in);
    for (bool fused : {false, true}) {
      const auto hidden = [fused](const auto& v) {
        return fused ? linear(v[0], v[1], {}, Activation::relu) : relu(linear(v[0], v[1]));
      };
      check([&](const auto& v) { return linear(hidden(v), v[2]); }, in);
      check(in, [&](const auto& v) {
        const Var h = hidden(v);
        return linear(h, v[2]) * linear(h, v[3]);
      });
      // An op without in-place support comes before a product, after it and between two.
      check(in, [&](const auto& v) {
        const Var h = hidden(v);
        return gelu(h) + linear(h, v[1]);
      });
      check(in, [&](const auto& v) {
        const Var h = hidden(v);
        return linear(h, v[1]) * gelu(h);
      });
      check(in, [&](const auto& v) {
        const Var h = hidden(v), first = linear(h, v[1]);
        return first * gelu(h) * linear(h, v[1]);
      });
    }
  });
}

TEST_CASE("each op's backward runs once, however many ops use its value") {
  int passes = 0;
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  const Var h = probe(x * x, [&] { ++passes; });
  sum((h + h) * h + gelu(h)).backward();
  CHECK(passes == 1);
}

TEST_CASE("nothing is recorded during the backward pass") {
  bool recorded = true;
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  sum(probe(x, [&] { recorded = (x * x).requires_grad(); })).backward();
  CHECK_FALSE(recorded);
}

TEST_CASE("only wanted gradients are computed") {
  const Var x = Var::parameter(Tensor::full({2}, 1.0)), constant = Tensor::full({2}, 3.0);
  record("two inputs", Tensor::zeros({2}), {x, constant, Var{}}, [](Tensor dy, Gradients& out) {
    CHECK(out.wanted(0));
    CHECK_FALSE(out.wanted(1));
    CHECK_FALSE(out.wanted(2));
    out.add(1, dy);
    out.add(0, dy);
  }).backward(Tensor::full({2}, 1.0));
  CHECK(close(x.grad(), Numbers(2, 1.0), 0.0));
  CHECK_FALSE(constant.grad());
  CHECK(recording({constant, x}));
  CHECK_FALSE(recording({constant, Var{}}));
}

TEST_CASE("a gradient of the wrong shape is an error at once") {
  const Var x = Var::parameter(Tensor::zeros({2, 3}));
  const Var y = record("bad", Tensor::zeros({2}), {x}, [](Tensor dy, Gradients& out) { out.add(0, dy); });
  CHECK_ERROR_HAS(y.backward(Tensor::zeros({2})), "[2, 3]");
}

TEST_CASE("a gradient without a slot is that of the only input") {
  const Var x = Var::parameter(Tensor::zeros({2})), y = Var::parameter(Tensor::zeros({2}));
  const auto unnamed = [](Tensor dy, Gradients& out) { out.add(dy); };
  record("one", Tensor::zeros({2}), {x}, unnamed).backward(Tensor::full({2}, 3.0));
  CHECK(close(x.grad(), Numbers(2, 3.0), 0.0));
  CHECK_ERROR_HAS(record("two", Tensor::zeros({2}), {x, y}, unnamed).backward(Tensor::full({2}, 3.0)),
                  "an op of 2 inputs named none");
}

TEST_CASE("a seed gradient of another shape, dtype or device is refused") {
  for (Device device : devices()) {
    const Var x = Var::parameter(Tensor::zeros({2, 3}, DType::f32, device));
    const Var y = scale(x, 2.0);
    CHECK_ERROR_HAS(y.backward(Tensor::zeros({2, 3}, DType::f64, device)), "seed gradient [2, 3] float64");
    CHECK_THROWS_AS(y.backward(Tensor::zeros({2, 3}, DType::bf16, device)), Error);
    CHECK_THROWS_AS(y.backward(Tensor::zeros({3, 2}, DType::f32, device)), Error);
    if (device.is_cuda()) CHECK_THROWS_AS(y.backward(Tensor::zeros({2, 3})), Error);
    y.backward(Tensor::full({2, 3}, 1.0, DType::f32, device));
    CHECK(close(x.grad(), Numbers(6, 2.0), 0.0));
  }
}

TEST_CASE("linear frees its input before it allocates the input's gradient") {
  for (Device device : devices()) {
    constexpr int64_t kRows = 1 << 16, kWidth = 64;
    const auto bytes = uz(kRows * kWidth) * sizeof(float);
    const Var a = Var::parameter(Tensor::full({kRows, kWidth}, 1.0, DType::f32, device)),
              w = Var::parameter(Tensor::full({kWidth, 1}, 1.0, DType::f32, device));
    const auto pass = [&] {
      const Var y = linear(scale(a, 2.0), w);  // nothing else holds the input
      const Tensor seed = Tensor::full(y.shape(), 1.0, DType::f32, device);
      const size_t before = memory_stats(device).current;
      reset_peak_memory(device);
      y.backward(seed);
      return memory_stats(device).peak - before;
    };
    (void)pass();  // libraries make their workspaces
    Var(a).zero_grad();
    Var(w).zero_grad();
    CHECK(pass() < bytes / 2);
  }
}

TEST_CASE("a second backward pass over the same ops is an error that names the op") {
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  const Var h = gelu(x), loss = sum(h);
  loss.backward();
  CHECK_ERROR_HAS(loss.backward(), "sum has already run backward");
  CHECK_ERROR_HAS(sum(h * h).backward(), "gelu has already run backward");
}

TEST_CASE("changing a saved tensor in place is an error at backward that names the op") {
  on_devices(111, DType::f32, [&](Draw& draw, Device) {
    const auto refuses = [](const Var& y, const Tensor& changed, const std::string& part) {
      CHECK(mentions(error_after_change(y, changed), {"changed in place", part}));
    };
    const Var x = Var::parameter(draw.normal({4, 3})), w = Var::parameter(draw.normal({3, 3}));
    const Var row = Var::parameter(draw.normal({3}));
    refuses(gelu(x), x.value(), "gelu");
    refuses(x * x, x.value(), "multiply");
    refuses(linear(x, w), w.value(), "linear");
    refuses(linear(x, w), x.value().rows(1, 2), "[4, 3]");
    refuses(layer_norm(x, row, row), row.value(), "layer_norm");
    const SparseMatrix a = draw.sparse(5, 4, 9);
    const Var values = Var::parameter(a.values());
    refuses(aggregate(a.relation(), x, {.weight = values}), x.value(), "aggregate");
    const Tensor label = draw.ints(4, 0, 3), index = draw.distinct(2, 4);
    refuses(cross_entropy(x, label, index), label, "cross_entropy");
    refuses(cross_entropy(x, label, index), index, "cross_entropy");
    refuses(index_select(x, index), index, "index_select");
  });
}

TEST_CASE("changing a matrix's values in place is an error at backward, with or without a kept adjoint") {
  for (int kept : {0, 1, 2})
    on_devices(112, DType::f32, [&](Draw& draw, Device) {
      CAPTURE(kept);
      const auto matrix = [&] {
        SparseMatrix a = draw.sparse(4, 4, 9);
        if (kept > 0) a.keep_adjoint(kept == 2);
        return a;
      };
      const Var x = Var::parameter(draw.normal({4, 3}));
      const auto message = [](const SparseMatrix& a, const Var& y) {
        return error_after_change(y, a.values());
      };
      const SparseMatrix a = matrix(), b = matrix(), c = matrix();
      CHECK(mentions(message(a, aggregate(a, x)), "aggregate had saved a tensor [9] float32"));
      CHECK(mentions(message(b, aggregate(b, x, {}, Activation::relu)), "changed in place"));
      CHECK(mentions(message(c, linear(Features(c), x)), "linear had saved a tensor [9] float32"));
      // If x needs no gradient, the values are not read again.
      const Var bias = Var::parameter(draw.normal({3}));
      CHECK(message(a, aggregate(a, x.detach(), bias)).empty());
    });
}

TEST_CASE("values changed before the forward pass give their gradient, or an error if a copy was kept") {
  on_devices(113, DType::f32, [&](Draw& draw, Device device) {
    SparseMatrix a = draw.sparse(5, 4, 11);
    const Var x = Var::parameter(draw.normal({4, 3}));
    const Tensor seed = draw.normal({5, 3}), other = draw.normal({11});
    const auto gradient = [&](const SparseMatrix& m) {
      Var(x).zero_grad();
      aggregate(m, x).backward(seed);
      return x.grad();
    };
    const Tensor expected = gradient(a.with_values(other.clone()));
    Tensor alias = a.values();
    alias.copy_(other);
    CHECK(same_bits(gradient(a), expected));
    a.keep_adjoint();
    alias.fill_(0.0);
    alias.copy_(other);
    CHECK_ERROR_HAS(gradient(a), "keep_adjoint");
    CHECK_ERROR_HAS(a.adjoint(), "sparse matrix [5, 4]");
    a.keep_adjoint();
    CHECK(same_bits(gradient(a), expected));
    CHECK(same_bits(gradient(a.to(Device::cpu()).to(device)), expected));
  });
}

TEST_CASE("changing a tensor that was not saved is allowed") {
  const Var x = Var::parameter(Tensor::full({2, 2}, 1.0));
  const Var y = scale(relu(x), 2.0);
  Tensor input = x.value();
  input.fill_(-1.0);
  sum(y).backward();
  CHECK(close(x.grad(), Numbers(4, 2.0), 0.0));
}

TEST_CASE("values that were not saved are freed in the forward pass") {
  on_devices(112, DType::f32, [&](Draw& draw, Device device) {
    const Var x = Var::parameter(draw.normal({kRows, kCols}));
    const size_t before = current(device);
    Var y = x;
    for (int i = 0; i < 10; ++i) y = scale(y, 1.1);
    CHECK(current(device) - before == kBytes);
    y = {};
    CHECK(current(device) == before);
    y = x;
    for (int i = 0; i < 10; ++i) y = gelu(y);  // saves its input
    CHECK(current(device) - before == 10 * kBytes);
    const NoGrad scope;
    y = x;
    for (int i = 0; i < 10; ++i) y = gelu(y);
    CHECK(current(device) - before == kBytes);
  });
}

TEST_CASE("saved tensors are freed as the backward pass passes them") {
  on_devices(113, DType::f32, [&](Draw& draw, Device device) {
    const Var x = Var::parameter(draw.normal({kRows, kCols}));
    const size_t before = current(device);
    constexpr size_t kOps = 20;
    std::vector<size_t> held;
    Var y = x;
    for (size_t i = 0; i < kOps; ++i) y = gelu(probe(y, [&] { held.push_back(current(device) - before); }));
    y = sum(y);
    const size_t forward = current(device) - before;
    CHECK(forward >= (kOps - 1) * kBytes);
    reset_peak_memory(device);
    y.backward();
    CHECK(memory_stats(device).peak - before <= forward + 2 * kBytes);
    // When the backward pass is at probe i, later ops have freed their saved tensors.
    REQUIRE(held.size() == kOps);
    for (size_t i = 0; i < kOps; ++i) CHECK(held[i] <= (kOps - i + 1) * kBytes);
    CHECK(current(device) - before <= kBytes + 256);  // the gradient, and the loss
  });
}

TEST_CASE("deep chains do not recurse, neither backward nor when they are freed") {
  constexpr int kOps = 100'000;
  const Var x = Var::parameter(Tensor::full({1}, 1.0));
  const auto chain = [&](auto op) {
    Var y = x;
    for (int i = 0; i < kOps; ++i) y = op(y);
    return y;
  };
  Var y = chain([](const Var& v) { return scale(v, 1.0); });
  y.backward();
  CHECK(x.grad().item() == 1.0);
  y = {};
  chain([](const Var& v) { return scale(v, 1.0); });
  chain([](const Var& v) { return gelu(v); });
  chain([&](const Var& v) { return v + x; });
  y = chain([](const Var& v) { return scale(v + v, 0.5); });
  y.backward();
  CHECK(x.grad().item() == 2.0);
}

TEST_CASE("a chain that another variable still holds is kept") {
  const Var x = Var::parameter(Tensor::full({2}, 1.0));
  Var y = scale(x, 3.0);
  Var z = scale(y, 5.0);
  Var other = scale(y, 7.0);
  z = {};
  y = {};
  sum(other).backward();
  CHECK(close(x.grad(), Numbers(2, 21.0), 0.0));
}
