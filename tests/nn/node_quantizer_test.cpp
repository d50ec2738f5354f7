#include "../reference/plain.h"
#include "module_state.h"
#include <adjoint/nn/quant_linear.h>
#include <adjoint/ops.h>
#include <adjoint/optim/adam.h>

#include <cmath>
#include <set>

using namespace adj;
using namespace adj::test;

TEST_CASE("each node starts with the step size of least error, also used in evaluation") {
  for (Device device : devices())
    for (const double bits : {1.0, 3.0, 8.0})
      for (bool has_signs : {false, true}) {
        CAPTURES(bits, has_signs);
        nn::Model<nn::NodeQuantizer> quantizer(nn::NodeBitsOptions{30, bits});
        quantizer.to(device);
        std::vector<float> numbers = random_tensor({30 * 12}).to_vector<float>();
        for (size_t k = 0; k < numbers.size(); ++k) {
          numbers[k] *= static_cast<float>(k / 12 + 1);
          if (!has_signs) numbers[k] = std::abs(numbers[k]);
        }
        for (size_t k = 0; k < 12; ++k) numbers[k] = 0.0f;  // a node of zeros
        const Tensor x = Tensor::from(numbers, {30, 12}).to(device);
        quantizer.eval();
        CHECK_ERROR_HAS(quantizer(Var(x)), "no scale yet");
        quantizer.train();
        const Tensor y = quantizer(Var(x)).value(), scale = quantizer.scale().clone();
        const double steps = std::pow(2.0, bits - (has_signs ? (bits > 1.0 ? 1.0 : 0.0) : 0.0)) - 1.0;
        for (int64_t i = 1; i < 30; ++i) {
          const Tensor row = x.rows(i, i + 1);
          double most = 0.0;
          for (const double value : values(row)) most = std::max(most, std::abs(value));
          // No other share of the largest number, in eighths of a power of two, has a smaller error.
          for (int k = 0; k <= 64; ++k) {
            const Tensor other = Tensor::full({1}, most * std::exp2(-k / 8.0) / steps, DType::f32, device);
            const Tensor tried =
                node_quantize(Var(row), Var(other), Var(Tensor::full({1}, bits, DType::f32, device)),
                              Tensor::full({1}, has_signs ? 1.0 : 0.0, DType::f32, device))
                    .value();
            CHECK(squared_error(tried, row) > squared_error(y.rows(i, i + 1), row) * 0.999);
          }
        }
        quantizer.eval();
        CHECK(same_bits(quantizer(Var(x)).value(), y));
        CHECK_ERROR_HAS(quantizer(Var(x.rows(0, 29))), "bits by node of 30 nodes");
        const auto held = quantizer.held_bits();
        CHECK(held == std::vector<int>(30, std::max(static_cast<int>(bits), has_signs ? 2 : 1)));
        CHECK(quantizer.mean_bits().value().item() == doctest::Approx(held.front()));
      }
}

TEST_CASE("with a target for the mean of bits, nodes of larger values get more bits") {
  for (Device device : devices()) {
    nn::Model<nn::NodeQuantizer> quantizer(nn::NodeBitsOptions{40, 4.0});
    quantizer.to(device);
    // For equal errors, numbers k times as large need k times as many steps.
    std::vector<float> numbers = random_tensor({40 * 64}).to_vector<float>();
    for (size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = std::abs(numbers[k]) * (k / 64 < 20 ? 0.05f : 5.0f);
    const Tensor x = Tensor::from(numbers, {40, 64}).to(device);
    optim::Adam adam(quantizer.parameters(), {.lr = 0.02});
    for (int step = 0; step < 300; ++step) {
      quantizer.zero_grad();
      const Var off = quantizer.mean_bits() - 3.0;
      (sum(quantizer(Var(x))) * 0.0 + reshape(off * off * 2.0, {})).backward();
      adam.step();
    }
    const std::vector<int> held = quantizer.held_bits();
    double small = 0.0, large = 0.0;
    for (size_t i = 0; i < 40; ++i) (i < 20 ? small : large) += held[i] / 20.0;
    MESSAGE("bits of small numbers " << small << ", of large ones " << large);
    CHECK(large > small + 1.0);
    CHECK((small + large) / 2.0 == doctest::Approx(3.0).epsilon(0.25));
  }
}

TEST_CASE("mean_bits has the gradient of its definition") {
  nn::Model<nn::NodeQuantizer> quantizer(nn::NodeBitsOptions{4, 3.0});
  std::map<std::string, Tensor> state = copied(quantizer);
  state["bits"] = Tensor::from<float>({0.5f, 3.25f, 7.75f, 9.0f});
  quantizer.load_state(state);
  CHECK(quantizer.mean_bits().value().item() == doctest::Approx((1.0 + 3.25 + 7.75 + 8.0) / 4.0));
  quantizer.mean_bits().backward(Tensor::full({1}, 1.0));
  for (const auto& [name, parameter] : quantizer.named_parameters())
    if (name == "bits") CHECK(parameter.grad().to_vector<float>() == std::vector<float>{0, 0.25f, 0.25f, 0});
  CHECK(quantizer.held_bits() == std::vector<int>{1, 3, 8, 8});
}

TEST_CASE("a per-node quantizer has its own state, and refuses rows that are not quantised") {
  nn::Model<nn::QuantLinear> linear(6, 3, nn::QuantLinearOptions{.by_node = {5, 2.0}});
  std::set<std::string> names;
  for (const auto& [name, tensor] : linear.state())
    if (name.starts_with("input.")) names.insert(name.substr(12));
  CHECK(names == std::set<std::string>{"bits", "log_scale", "scale", "signed"});  // of input.nodes
  const Var x(random_tensor({5, 6}));
  CHECK(linear(x).shape() == Shape{5, 3});
  CHECK_ERROR_HAS(linear(x, Tensor::zeros({5}, DType::u8)), "not allowed with bits per node");
  CHECK_THROWS_AS(nn::Model<nn::NodeQuantizer>(nn::NodeBitsOptions{5, 9.0}), Error);
  CHECK_THROWS_AS(nn::Model<nn::NodeQuantizer>(nn::NodeBitsOptions{0, 4.0}), Error);
}
