#include "../reference/plain.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

// Ops over bfloat16 against the same ops in float64 from the same numbers: values and all gradients, to the
// rounding of stored tensors.

namespace {

constexpr double kRounding = 0x1p-8;

using Op = std::function<Var(const std::vector<Var>&)>;

/// f over `dtype`, with the last `wide` inputs in float32. `roundings`: how many stored intermediate results
/// follow one another. Returns the dtype of the value.
DType compare(const Op& f, const std::vector<Tensor>& inputs, int roundings = 1, size_t wide = 0,
              DType dtype = DType::bf16) {
  std::vector<Tensor> operands, same;
  for (const Tensor& input : inputs) {
    operands.push_back(input.to(operands.size() + wide < inputs.size() ? dtype : DType::f32));
    same.push_back(operands.back().to(DType::f64));
  }
  const std::vector<Tensor> narrow = with_gradients(f, operands), exact = with_gradients(f, same);
  operands.insert(operands.begin(), narrow[0]);  // whose dtype is the op's choice
  for (size_t i = 0; i < narrow.size(); ++i) {
    CAPTURE(i);
    REQUIRE(narrow[i]);
    CHECK(narrow[i].dtype() == operands[i].dtype());
    const double off = operands[i].dtype() == DType::bf16 ? roundings * kRounding : 1e-5;
    CHECK((i == 0 ? close(narrow[0], exact[0], off) : close_to_scale(narrow[i], exact[i], off)));
  }
  return narrow[0].dtype();
}

}  // namespace

TEST_CASE("bfloat16: products and aggregations with their gradients") {
  on_devices(31, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.off_zero({50, 16}), w = draw.normal({16, 9}), bias = draw.normal({9});
    for (Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      CAPTURE(name_of(activation));
      const int roundings = activation == Activation::gelu ? 2 : 1;
      compare([&](const auto& v) { return linear(v[0], v[1], v[2], activation); }, {x, w, bias}, roundings);
      compare([&](const auto& v) { return linear(v[0], v[1], {}, activation); }, {x, w}, roundings);
    }
    Draw matrices(31, device, DType::f32);
    const SparseMatrix a = matrices.sparse(40, 50, 300), features = matrices.sparse(40, 16, 100);
    compare([&](const auto& v) { return linear(Features(features), v[0], v[1]); }, {w, bias});
    const Tensor shift = draw.normal({16});
    for (Activation activation : {Activation::none, Activation::relu})
      compare([&](const auto& v) { return aggregate(a, v[0], v[1], activation); }, {x, shift});
  });
}

TEST_CASE("bfloat16: element-wise ops, gathers and sums with their gradients") {
  on_devices(33, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.off_zero({33, 17}), y = draw.normal({33, 17}), bias = draw.normal({17});
    const Tensor index = draw.ints(50, 0, 33);
    for (Activation activation :
         {Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu})
      compare([&](const auto& v) { return activate(activation, v[0], 0.25f); }, {x});
    compare([](const auto& v) { return v[0] + v[1]; }, {x, y});
    compare([](const auto& v) { return v[0] - v[1]; }, {x, y});
    compare([](const auto& v) { return v[0] * v[1]; }, {x, y});
    compare([](const auto& v) { return 1.7 * v[0]; }, {x});
    compare([](const auto& v) { return v[0] + v[1]; }, {x, bias});
    const Tensor column = draw.off_zero({33, 1}), number = draw.off_zero({});
    for (const Tensor& other : {bias, column, number}) {
      compare([](const auto& v) { return v[0] - v[1]; }, {x, other});
      compare([](const auto& v) { return v[0] * v[1]; }, {x, other}, 2);
    }
    compare([](const auto& v) { return v[0] / v[1]; }, {x, draw.uniform({33, 1}, 1.0, 2.0)}, 4);
    compare([](const auto& v) { return 2.0 - v[0]; }, {x});
    compare([](const auto& v) { return v[0] + 1.7; }, {x});
    compare([](const auto& v) { return -v[0]; }, {x});
    const Tensor positive = draw.uniform({33, 17}, 0.5, 2.0);
    compare([](const auto& v) { return log(v[0]); }, {positive});
    compare([](const auto& v) { return sqrt(v[0]); }, {positive}, 2);
    compare([](const auto& v) { return reciprocal(v[0]); }, {positive}, 3);
    compare([](const auto& v) { return exp(v[0]); }, {x}, 2);
    compare([](const auto& v) { return sigmoid(v[0]); }, {x}, 2);
    compare([](const auto& v) { return tanh(v[0]); }, {x}, 2);
    compare([](const auto& v) { return softmax(v[0]); }, {x}, 2);
    compare([](const auto& v) { return log_softmax(v[0]); }, {x}, 4);
    compare([](const auto& v) { return max(v[0], 0).values; }, {x});
    compare([](const auto& v) { return mean(v[0], 1, true); }, {x}, 2);
    compare([](const auto& v) { return sum(reshape(v[0], {3, 11, 17}), 1); }, {x});
    compare([](const auto& v) { return narrow(v[0], 1, 3, 5); }, {x});
    compare(
        [](const auto& v) {
          Generator generator(3);
          return dropout(v[0], 0.4f, true, generator);
        },
        {x});
    compare([&](const auto& v) { return index_select(v[0], index); }, {x});
    compare([](const auto& v) { return cat({v[0], v[1]}, 1); }, {x, y});
    compare([](const auto& v) { return sum(v[0], 0); }, {x});
    compare([](const auto& v) { return sum(v[0], 1); }, {x});
    // Used twice: the gradients are added up.
    compare([](const auto& v) { return v[0] * v[0] + v[0]; }, {x}, 3);
  });
}

TEST_CASE("bfloat16: sums, means and losses are float32, their gradients bfloat16") {
  on_devices(34, DType::f64, [&](Draw& draw, Device) {
    const Tensor x = draw.normal({60, 7}), target = draw.uniform({60, 7}, 0.0, 1.0);
    const Tensor label = draw.ints(60, 0, 7), index = draw.distinct(20, 60);
    const auto compare_loss = [&](const Op& f) { CHECK(compare(f, {x}) == DType::f32); };
    compare_loss([](const auto& v) { return sum(v[0]); });
    compare_loss([](const auto& v) { return mean(v[0]); });
    compare_loss([&](const auto& v) { return cross_entropy(v[0], label, index); });
    compare_loss([&](const auto& v) {
      return bce_with_logits(v[0], target.to(accumulator_dtype(v[0].dtype())), index);
    });
    compare_loss([&](const auto& v) { return mse_loss(v[0], target.to(accumulator_dtype(v[0].dtype()))); });
    // Targets and weights of classes may be bfloat16 as well.
    const Tensor rounded = target.to(DType::bf16), counts = draw.uniform({7}, 0.5, 2.0).to(DType::bf16);
    compare_loss([&](const auto& v) {
      const DType dtype = v[0].dtype();
      return bce_with_logits(v[0], rounded.to(dtype), index, counts.to(dtype));
    });
    compare_loss([&](const auto& v) { return mse_loss(v[0], rounded.to(v[0].dtype())); });
    compare_loss([&](const auto& v) {
      return cross_entropy(v[0], label, index, {.weight = counts.to(v[0].dtype()), .ignore_index = 3});
    });
  });
}

TEST_CASE("bfloat16: edge operations and segments with their gradients; edge values are float32") {
  on_devices(38, DType::f64, [&](Draw& draw, Device device) {
    const Graph graph = draw.graph(40, 200);
    const Tensor x = draw.normal({40, 12}), y = draw.normal({40, 12});
    const Tensor offsets = Tensor::from<int64_t>({0, 7, 7, 30, 40}, device);
    for (Reduce reduce : {Reduce::sum, Reduce::mean}) {
      CHECK(compare([&](const auto& v) { return aggregate(graph, v[0], {.reduce = reduce}); }, {x}) ==
            DType::bf16);
      for (const Shape& shape : {Shape{200}, Shape{200, 3}}) {
        const Tensor e = draw.normal(shape);
        const auto weighted = [&](const auto& v) {
          return aggregate(graph, v[0], {.reduce = reduce, .weight = v[1]});
        };
        compare(weighted, {x, e});
        CHECK(compare(weighted, {x, e}, 1, 1) == DType::bf16);
        CHECK(compare([&](const auto& v) { return edge_softmax(graph, v[0]); }, {e}) == DType::f32);
        compare(
            [&](const auto& v) {
              return weighted(std::vector{v[0], edge_softmax(graph, v[1])});
            },
            {x, e});
      }
    }
    CHECK(compare([&](const auto& v) { return edge_dot(graph, v[0], v[1], 3); }, {x, y}) == DType::f32);
    CHECK(compare([&](const auto& v) { return edge_add(graph, v[0], v[1]); }, {x, y}) == DType::f32);
    const Tensor half = x.to(DType::bf16), rounded = half.to(DType::f32);
    CHECK(same_bits(edge_add(graph, half, half).value(), edge_add(graph, rounded, rounded).value()));
    compare([&](const auto& v) { return segment_sum(v[0], offsets); }, {x});
    compare([&](const auto& v) { return segment_mean(v[0], offsets); }, {x});
  });
}

TEST_CASE("reductions over neighbours in float32 and bfloat16 have the gradients of float64") {
  for (DType dtype : {DType::f32, DType::bf16})
    for (int64_t edges : {150, 3000})  // gathered and scattered
      on_devices(95, DType::f64, [&](Draw& draw, Device) {
        CAPTURES(name_of(dtype), edges);
        const Graph graph = draw.graph(40, edges);
        const Tensor x = draw.normal({40, 33}), w = draw.normal({edges});
        const std::vector<Reduce> set{Reduce::mean, Reduce::max, Reduce::std, Reduce::min};
        compare([&](const auto& v) { return aggregate_all(graph, v[0], set); }, {x}, 3, 0, dtype);
        for (size_t wide : {0, 1})
          compare(
              [&](const auto& v) { return aggregate(graph, v[0], {.reduce = Reduce::max, .weight = v[1]}); },
              {x, w}, 3, wide, dtype);
      });
}

TEST_CASE("bfloat16: normalisations with their gradients; running statistics are float32") {
  on_devices(35, DType::f64, [&](Draw& draw, Device device) {
    const Tensor x = draw.normal({64, 12}), gamma = draw.uniform({12}, 0.5, 1.5), beta = draw.normal({12});
    RunningStatistics last;
    for (bool training : {true, false})
      for (float p : {0.0f, 0.3f}) {
        const Op norm = [&](const std::vector<Var>& v) {
          Generator generator(5);
          const DType accumulator = accumulator_dtype(v[0].dtype());
          last = {Tensor::zeros({12}, accumulator, device), Tensor::full({12}, 1.0, accumulator, device)};
          return batch_norm(v[0], v[1], v[2], last, training, 1e-5, {Activation::relu, p}, generator);
        };
        if (training) {
          compare(norm, {x, gamma, beta});
        } else {
          const NoGrad values_only;
          const auto output = [&](DType dtype) {
            const auto stored = [&](const Tensor& t) { return Var(t.to(DType::bf16).to(dtype)); };
            return norm({stored(x), stored(gamma), stored(beta)}).value();
          };
          const Tensor exact = output(DType::f64);
          CHECK(close(output(DType::bf16), exact, kRounding));
          CHECK(last.mean.dtype() == DType::f32);
        }
      }
    compare([](const auto& v) { return layer_norm(v[0], v[1], v[2]); }, {x, gamma, beta});
    // The gradient is taken from the stored output, which was rounded once.
    compare([](const auto& v) { return l2_normalize(v[0]); }, {x}, 2);
  });
}

TEST_CASE("operands of mixed dtypes are refused") {
  const Tensor x = random_tensor({4, 3}), w = random_tensor({3, 2}, DType::bf16);
  CHECK(error_of([&] { linear(Var(x), Var(w)); }) ==
        "linear: inputs are [4, 3] float32 on cpu and [3, 2] bfloat16 on cpu, expected one dtype");
  CHECK_ERROR_HAS(linear(Features(x), Var(w)), "expected one dtype");
  CHECK(linear(Features(x).to(DType::bf16), Var(w)).dtype() == DType::bf16);
  const Var v = Var::parameter(x);
  const Var y = record("mine", x.clone(), {v},
                       [](const Tensor& dy, Gradients& out) { out.add(0, dy.to(DType::bf16)); });
  CHECK_ERROR_HAS(y.backward(Tensor::full({4, 3}, 1.0)),
                  "backward: gradient [4, 3] bfloat16 on cpu for a value [4, 3] float32");
}
