#include "../support.h"
#include <adjoint/nn/embedding.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("an embedding's collected rows have the gradient of the whole table, and others none") {
  for (Device device : devices()) {
    nn::Model<nn::Embedding> table(6, 3);
    table.to(device);
    const Tensor numbers = Tensor::from(std::vector<int32_t>{4, 1, 4}, device);
    Generator generator(3);
    const Tensor seed = random_normal({3, 3}, 0.0, 1.0, generator, DType::f32, device);
    table(numbers).backward(seed);
    const std::vector<float> dense = table.weight.grad().to_vector<float>();
    table.zero_grad();
    CHECK_FALSE(table.take_rows());
    table.collect_rows(true);
    table(numbers).backward(seed);
    CHECK_FALSE(table.weight.grad());
    const auto rows = table.take_rows();
    REQUIRE(rows);
    std::vector<float> sum(18);
    const auto number = rows->numbers.to_vector<int32_t>();
    const auto gradient = rows->gradient.to_vector<float>();
    for (size_t k = 0; k < 9; ++k) sum[3 * static_cast<size_t>(number[k / 3]) + k % 3] += gradient[k];
    CHECK(sum == dense);
    CHECK_FALSE(table.take_rows());
    table.eval();
    (void)table(numbers);
    CHECK_FALSE(table.take_rows());
  }
}

TEST_CASE(
    "steps of rows are Adam's of the whole table where a batch took them, and leave others as they are") {
  const auto trained = [](bool rows) {
    nn::Model<nn::Embedding> table(5, 2);
    table.weight.set_value(Tensor::full({5, 2}, 0.5, DType::f32));
    table.collect_rows(rows);
    optim::Adam adam({{{table.weight}, {.lr = 0.1}}});
    for (int k = 0; k < 3; ++k) {
      table(Tensor::from(std::vector<int32_t>{3, 0})).backward(Tensor::full({2, 2}, 1.0 + k, DType::f32));
      adam.step();
      if (const auto taken = table.take_rows()) adam.step_rows(0, taken->numbers, taken->gradient);
    }
    return table.weight.value().to_vector<float>();
  };
  const std::vector<float> dense = trained(false), some = trained(true);
  CHECK(dense == some);
  CHECK(some[0] < 0.3f);  // three steps of 0.1
  CHECK(some[2] == 0.5f);
}
