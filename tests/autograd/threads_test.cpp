// The bits of every op, forward and backward, are the same for any number of threads.
#include "../reference/plain.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

using Op = std::function<Var(const std::vector<Var>&)>;

}  // namespace

TEST_CASE("ops give the same bits with 1, 2, 3, 5, 8 and 16 threads") {
  constexpr int64_t kRows = 20'001, kCols = 37;
  Draw draw(120, {}, DType::f32);
  const Tensor x = draw.normal({kRows, kCols}), other = draw.normal({kRows, kCols});
  const Tensor column = draw.normal({kRows, 1}), stack = draw.normal({3 * kRows, kCols});
  const Tensor gamma = draw.normal({kCols}), beta = draw.normal({kCols});
  const SparseMatrix a = draw.sparse(kRows, kRows, 8 * kRows);
  const SparseMatrix wide = draw.sparse(kRows, 500, 9 * kRows);
  const Tensor w = draw.normal({500, kCols});
  const Tensor square = draw.normal({kCols, kCols});
  const Tensor label = draw.ints(kRows, 0, kCols), index = draw.distinct(kRows / 2, kRows);
  const Tensor repeated = draw.ints(2 * kRows, 0, 300), seed = draw.normal({3 * kRows * kCols});
  const Tensor weight = draw.uniform({kCols}, 0.1, 2.0);
  const Tensor target = draw.uniform({kRows, kCols}, 0.0, 1.0);
  const auto norm = [&](const std::vector<Var>& v) {
    RunningStatistics running{Tensor::zeros({kCols}), Tensor::full({kCols}, 1.0), 0.1};
    Generator generator(1);
    return batch_norm(v[0], v[1], v[2], running, true, 1e-5, {Activation::relu, 0.4f}, generator);
  };
  const auto drop = [](const std::vector<Var>& v) {
    Generator generator(2);
    return dropout(v[0], 0.4f, true, generator);
  };
  const std::vector<std::tuple<const char*, Op, std::vector<Tensor>>> ops{
      {"arithmetic", [](const auto& v) { return (v[0] - v[1]) * v[0] + 0.3 * v[1]; }, {x, other}},
      {"a row added", [](const auto& v) { return v[0] + v[1]; }, {x, beta}},
      {"a row and a column",
       [](const auto& v) { return v[0] * v[1] / (v[2] * v[2] + 1.0); },
       {x, column, beta}},
      {"a stretched middle",
       [](const auto& v) {
         return reshape(v[0], {-1, 37, 3}) * reshape(v[1], {37, 1});
       },
       {stack, beta}},
      {"gelu", [](const auto& v) { return gelu(v[0]); }, {x}},
      {"elu", [](const auto& v) { return elu(v[0]); }, {x}},
      {"dropout", drop, {x}},
      {"sum", [](const auto& v) { return sum(v[0]); }, {x}},
      {"mean", [](const auto& v) { return mean(v[0] * v[0]); }, {x}},
      {"sum over rows", [](const auto& v) { return sum(v[0], 0); }, {x}},
      {"sum over columns", [](const auto& v) { return sum(v[0], 1); }, {x}},
      {"sum over a middle",
       [](const auto& v) {
         return sum(reshape(v[0], {3, -1, 37}), 1);
       },
       {stack}},
      {"max over rows", [](const auto& v) { return max(v[0], 0).values; }, {x}},
      {"max over columns", [](const auto& v) { return max(v[0], 1).values; }, {x}},
      {"sigmoid", [](const auto& v) { return sigmoid(v[0]); }, {x}},
      {"softmax", [](const auto& v) { return softmax(v[0]); }, {x}},
      {"log_softmax", [](const auto& v) { return log_softmax(v[0]); }, {x}},
      {"narrow", [](const auto& v) { return narrow(v[0], 1, 3, 20); }, {x}},
      {"index_select", [&](const auto& v) { return index_select(v[0], repeated); }, {x}},
      {"cat",
       [](const auto& v) {
         return cat({v[0], v[1]}, 1);
       },
       {x, other}},
      {"aggregate with a matrix",
       [&](const auto& v) { return aggregate(a, v[0], v[1], Activation::relu); },
       {x, beta}},
      {"weighted aggregation",
       [&](const auto& v) { return aggregate(a.relation(), v[1], {.weight = v[0]}); },
       {a.values(), x}},
      {"SDDMM", [&](const auto& v) { return aggregate(a.relation(), x, {.weight = v[0]}); }, {a.values()}},
      {"linear",
       [&](const auto& v) { return linear(v[0], v[1], v[2], Activation::gelu); },
       {x, square, beta}},
      {"sparse linear", [&](const auto& v) { return linear(wide, v[0], v[1], Activation::relu); }, {w, beta}},
      {"batch_norm", norm, {x, gamma, beta}},
      {"layer_norm", [](const auto& v) { return layer_norm(v[0], v[1], v[2]); }, {x, gamma, beta}},
      {"l2_normalize", [](const auto& v) { return l2_normalize(v[0]); }, {x}},
      {"cross_entropy", [&](const auto& v) { return cross_entropy(v[0], label, index); }, {x}},
      {"weighted cross_entropy",
       [&](const auto& v) {
         return cross_entropy(v[0], label, index, {.weight = weight, .ignore_index = 3});
       },
       {x}},
      {"bce_with_logits", [&](const auto& v) { return bce_with_logits(v[0], target, index); }, {x}},
      {"mse_loss", [&](const auto& v) { return mse_loss(v[0], target); }, {x}},
  };
  for (const auto& [name, op, inputs] : ops) {
    CAPTURE(name);
    const auto computed = [&, &op = op, &inputs = inputs](int threads) {
      const Threads scope(threads);
      return with_gradients(op, inputs, seed);
    };
    const auto one = computed(1);
    for (int threads : {2, 3, 5, 8, 16}) {
      CAPTURE(threads);
      const auto many = computed(threads);
      for (size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], many[i]));
    }
  }
}
