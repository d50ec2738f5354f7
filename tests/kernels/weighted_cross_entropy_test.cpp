#include "../reference/plain.h"
#include "cases.h"
#include <adjoint/kernels/loss/weighted_cross_entropy.h>

#include <limits>

using namespace adj;
using namespace adj::test;

TEST_CASE("weighted_cross_entropy and its gradient: weights, ignored labels, a subset") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [rows, classes] : {std::pair<int64_t, int64_t>{5, 2}, {2708, 7}, {700, 40}, {33, 129}})
      for (bool weighted : {false, true})
        for (int subset : {0, 1, 2}) {  // all rows, some, some of them twice and three times
          CAPTURES(rows, classes, weighted, subset);
          const DType accumulator = accumulator_dtype(dtype);
          const Tensor x = random_tensor({rows, classes}, dtype, device);
          std::vector<int32_t> truth =
              random_ints(rows, -1, static_cast<int32_t>(classes)).to_vector<int32_t>();
          truth[0] = 0;  // at least one row counts
          const Tensor label = Tensor::from(truth, device);
          const Tensor weight = weighted ? random_ints(classes, 1, 5).to(accumulator).to(device) : Tensor();
          std::vector<int32_t> chosen;
          const int64_t step = subset > 0 ? 3 : 1;
          for (int64_t i = 0; i < rows; i += step) chosen.push_back(static_cast<int32_t>(i));
          if (subset == 2)
            for (int64_t i = 0; i < rows; i += i % 2 == 0 ? 3 : 9)
              chosen.insert(chosen.begin(), static_cast<int32_t>(i));
          const Tensor index = subset > 0 ? Tensor::from(chosen, device) : Tensor();

          const Numbers in = values(x), weights = weighted ? values(weight) : Numbers();
          double sum = 0.0, total = 0.0;
          Numbers gradient(in.size());
          for (int32_t i : chosen) {
            const int32_t c = truth[uz(i)];
            if (c == -1) continue;
            const double w = weighted ? weights[uz(c)] : 1.0;
            const double* row = in.data() + i * classes;
            double exps = 0.0;
            for (int64_t j = 0; j < classes; ++j) exps += std::exp(row[j]);
            for (int64_t j = 0; j < classes; ++j)
              gradient[uz(i * classes + j)] += 0.7 * w * (std::exp(row[j]) / exps - (j == c));
            sum += w * (std::log(exps) - row[c]);
            total += w;
          }
          for (double& g : gradient) g /= total;

          Tensor loss = Tensor::empty({}, accumulator, device),
                 sum_of_weights = Tensor::empty({}, accumulator, device);
          Tensor dx = Tensor::full({rows, classes}, 9.0, dtype, device);
          kernels::weighted_cross_entropy({.x = x,
                                           .label = label,
                                           .index = index,
                                           .weight = weight,
                                           .ignored = -1,
                                           .total = sum_of_weights,
                                           .loss = loss});
          CHECK(close(sum_of_weights, Numbers{total}, tolerance(accumulator)));
          CHECK(close(loss, Numbers{sum / total}, tolerance(accumulator)));
          kernels::weighted_cross_entropy_backward({.x = x,
                                                    .label = label,
                                                    .index = index,
                                                    .weight = weight,
                                                    .ignored = -1,
                                                    .total = sum_of_weights,
                                                    .dloss = Tensor::full({}, 0.7, accumulator, device),
                                                    .dx = dx});
          CHECK(close_to_scale(dx, Tensor::from(gradient, {rows, classes}), tolerance(dtype)));
        }
  });
}

TEST_CASE("weighted_cross_entropy rejects mismatched arguments") {
  const Tensor x = random_tensor({3, 2}), label = Tensor::from<int32_t>({0, 2, 1});
  Tensor loss = Tensor::empty({}), total = Tensor::empty({});
  CHECK_ERROR(kernels::weighted_cross_entropy({.x = x, .label = label, .total = total, .loss = loss}),
              "cross_entropy: label[1] is 2, expected [0, 2)");
  kernels::weighted_cross_entropy({.x = x, .label = label, .ignored = 2, .total = total, .loss = loss});
  CHECK(total.item() == 2.0);
  CHECK_THROWS_AS(kernels::weighted_cross_entropy(
                      {.x = x, .label = label, .weight = random_tensor({3}), .total = total, .loss = loss}),
                  Error);
}

TEST_CASE("weighted_cross_entropy names a label out of range, on a GPU when the loss is read") {
  for (Device device : devices())
    for (int32_t bad : {-1, 3, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
      for (bool weighted : {false, true})
        for (bool ignoring : {false, true}) {
          CAPTURE(bad);
          const Tensor x = random_tensor({6, 3}, DType::f32, device),
                       label = Tensor::from<int32_t>({0, 1, 1, 0, bad, 2}, device),
                       weight = weighted ? Tensor::full({3}, 0.5, DType::f32, device) : Tensor();
          Tensor loss = Tensor::empty({}, DType::f32, device), total = Tensor::empty({}, DType::f32, device);
          CHECK(error_of([&] {
                  kernels::weighted_cross_entropy({.x = x,
                                                   .label = label,
                                                   .weight = weight,
                                                   .ignored = ignoring ? 2 : kernels::kNothingIgnored,
                                                   .total = total,
                                                   .loss = loss});
                  (void)loss.item();
                }) == fmt::format("cross_entropy: label[4] is {}, expected [0, 3){}", bad,
                                  device.is_cuda() ? fmt::format(" (found on {})", device.str()) : ""));
        }
}
