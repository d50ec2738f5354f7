#include "cases.h"
#include <adjoint/kernels/update/optimizer.h>
#include <adjoint/kernels/update/sparse_update.h>

#include <numeric>

using namespace adj;
using namespace adj::test;
using kernels::AdagradRule, kernels::AdamRule, kernels::UpdateSlot;

namespace {

/// A table [rows, width] with states, and its sparse updates.
struct Table {
  Device device;
  UpdateSlot slot;
  Tensor rate, step;

  Table(int64_t rows, int64_t width, DType dtype, Device where) : device(where) {
    slot.parameter = random_tensor({rows, width}, dtype, where);
    slot.first = Tensor::zeros({rows, width}, dtype, where);
    slot.second = Tensor::zeros({rows, width}, dtype, where);
    rate = Tensor::full({1}, 0.1, DType::f64, where);
    step = Tensor::zeros({1}, DType::i64, where);
  }
  void update(bool adam, const Tensor& rows, const Tensor& gradient, bool distinct = false) {
    slot.gradient = gradient;
    if (adam)
      kernels::sparse_adam_update({.slot = slot,
                                   .rows = rows,
                                   .rule = kAdam,
                                   .learning_rate = rate,
                                   .step = step,
                                   .distinct = distinct});
    else
      kernels::sparse_adagrad_update({.slot = slot,
                                      .rows = rows,
                                      .rule = kAdagrad,
                                      .learning_rate = rate,
                                      .step = step,
                                      .distinct = distinct});
  }
  static constexpr AdamRule kAdam{.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.02};
  static constexpr AdagradRule kAdagrad{.eps = 1e-6, .weight_decay = 0.02};
};

/// Row ids of several kinds: few repeated; one in most places; short and long runs; with -1; none.
std::vector<std::vector<int32_t>> row_lists(int32_t rows) {
  std::vector<std::vector<int32_t>> lists{{}, {rows - 1}, {-1, 0, -1, 0, -1}};
  lists.push_back(random_ints(5, 0, rows).to_vector<int32_t>());
  lists.push_back(random_ints(700, -1, rows).to_vector<int32_t>());
  lists.push_back(random_ints(1001, 0, rows).to_vector<int32_t>());
  for (size_t k = 0; k < lists.back().size(); ++k)
    if (k % 7 != 0) lists.back()[k] = rows / 2;
  lists.emplace_back();
  for (int32_t row = 0; row < rows; ++row)  // runs of 15 to 18 and so on
    lists.back().insert(lists.back().end(), uz((row * 5) % 19), row);
  std::reverse(lists.back().begin(), lists.back().end());
  return lists;
}

}  // namespace

TEST_CASE("sparse Adam and Adagrad: rows that are listed change as by the rule, others not at all") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (const auto& [rows, width] :
         {std::pair<int32_t, int64_t>{1, 1}, {7, 3}, {40, 33}, {300, 128}, {20, 401}})
      for (bool adam : {true, false}) {
        CAPTURES(rows, width, adam);
        Table table(rows, width, dtype, device);
        Numbers p = values(table.slot.parameter), m(p.size()), v(p.size());
        int step = 0;
        for (const std::vector<int32_t>& list : row_lists(rows)) {
          const Tensor gradient = random_tensor({static_cast<int64_t>(list.size()), width}, dtype, device);
          const Numbers g = values(gradient);
          std::map<int32_t, Numbers> sums;
          for (size_t k = 0; k < list.size(); ++k) {
            if (list[k] < 0) continue;
            Numbers& sum = sums.try_emplace(list[k], uz(width), 0.0).first->second;
            for (size_t i = 0; i < uz(width); ++i) sum[i] += g[k * uz(width) + i];
          }
          table.update(adam, Tensor::from(list, device), gradient);
          CHECK(table.step.item() == ++step);
          for (const auto& [row, sum] : sums)
            for (size_t i = 0; i < uz(width); ++i) {
              const size_t place = uz(row * width) + i;
              const double d = sum[i] + 0.02 * p[place];
              if (adam) {
                m[place] = 0.8 * m[place] + 0.2 * d;
                v[place] = 0.95 * v[place] + 0.05 * d * d;
                p[place] -= 0.1 * m[place] / (1 - std::pow(0.8, step)) /
                            (std::sqrt(v[place] / (1 - std::pow(0.95, step))) + 1e-6);
              } else {
                m[place] += d * d;
                p[place] -= 0.1 * d / (std::sqrt(m[place]) + 1e-6);
              }
            }
          REQUIRE(close(table.slot.parameter, p, dtype == DType::f32 ? 5e-4 : 1e-9));
          REQUIRE(close(table.slot.first, m, dtype == DType::f32 ? 1e-4 : 1e-10));
        }
      }
  });
}

TEST_CASE("sparse updates: the same bits on any number of threads, whatever rows stand between") {
  for (Device device : devices()) {
    const Tensor rows = random_ints(3000, 0, 200, device),
                 gradient = random_tensor({3000, 65}, DType::f32, device);
    const Tensor start = random_tensor({200, 65}, DType::f32, device);
    for (bool adam : {true, false}) {
      const auto updated = [&](const Tensor& list, const Tensor& of_list) {
        Table table(200, 65, DType::f32, device);
        table.slot.parameter.copy_(start);
        table.update(adam, list, of_list);
        return table.slot.parameter;
      };
      CHECK(same_bits_on_any_threads([&] { return updated(rows, gradient); }));
      // Grouped by row beforehand, in the order of each row's positions.
      std::vector<int32_t> list = rows.to_vector<int32_t>(), order(list.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return list[uz(a)] > list[uz(b)]; });
      std::vector<int32_t> grouped;
      for (int32_t k : order) grouped.push_back(list[uz(k)]);
      const std::vector<float> g = gradient.to_vector<float>();
      std::vector<float> moved;
      for (int32_t k : order) moved.insert(moved.end(), g.begin() + k * 65, g.begin() + (k + 1) * 65);
      CHECK(same_bits(updated(Tensor::from(grouped, device), Tensor::from(moved, Shape{3000, 65}).to(device)),
                      updated(rows, gradient)));
    }
  }
}

TEST_CASE("sparse updates of distinct rows have the bits of any rows") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (const auto& [rows, width] : {std::pair<int32_t, int64_t>{1, 1}, {40, 33}, {3000, 64}, {20, 401}})
      for (bool adam : {true, false}) {
        CAPTURES(rows, width, adam);
        std::vector<int32_t> list(uz(rows));
        std::iota(list.begin(), list.end(), 0);
        for (size_t k = 0; k < list.size(); ++k) std::swap(list[k], list[k * 7919 % list.size()]);
        for (size_t k = 1; k < list.size(); k += 5) list[k] = -1;
        Table one(rows, width, dtype, device);
        Table other = one;
        for (Tensor* t : {&other.slot.parameter, &other.slot.first, &other.slot.second, &other.step})
          *t = t->clone();
        for (int step = 0; step < 3; ++step) {
          const Tensor gradient = random_tensor({std::ssize(list), width}, dtype, device);
          one.update(adam, Tensor::from(list, device), gradient);
          other.update(adam, Tensor::from(list, device), gradient, true);
        }
        CHECK(same_bits(one.slot.parameter, other.slot.parameter));
        CHECK(same_bits(one.slot.first, other.slot.first));
        CHECK(same_bits(one.step, other.step));
      }
  });
  Table table(3, 2, DType::f32, Device::cpu());
  CHECK_ERROR_HAS(table.update(true, Tensor::from<int32_t>({1, 1}), random_tensor({2, 2}), true),
                  "2 rows of 1 parameters, expected distinct ones");
}

TEST_CASE("adagrad_update: steps shrink with the sum of squares") {
  on_devices_and_features([](Device device, DType dtype) {
    const bool narrow = dtype == DType::bf16;
    const DType state = accumulator_dtype(dtype);
    UpdateSlot slot{.parameter = random_tensor({257, 3}, state, device).to(dtype),
                    .gradient = random_tensor({257, 3}, state, device).to(dtype),
                    .first = Tensor::zeros({257, 3}, state, device)};
    if (narrow) slot.master = slot.parameter.to(state);
    Numbers p = values(slot.parameter), v(p.size());
    const Numbers g = values(slot.gradient);
    Tensor rate = Tensor::full({1}, 0.1, DType::f64, device), step = Tensor::zeros({1}, DType::i64, device);
    for (int k = 1; k <= 3; ++k) {
      kernels::adagrad_update(
          {.slots = std::span(&slot, 1), .rule = Table::kAdagrad, .learning_rate = rate, .step = step});
      for (size_t i = 0; i < p.size(); ++i) {
        const double d = g[i] + 0.02 * p[i];
        v[i] += d * d;
        p[i] -= 0.1 * d / (std::sqrt(v[i]) + 1e-6);
      }
      CHECK(step.item() == k);
    }
    CHECK(close(narrow ? slot.master : slot.parameter, p, narrow ? 1e-5 : tolerance(dtype)));
  });
}

TEST_CASE("sparse updates refuse what does not fit") {
  Table table(5, 2, DType::f32, {});
  const Tensor gradient = random_tensor({3, 2});
  CHECK_ERROR(table.update(true, Tensor::from<int32_t>({0, 5, 1}), gradient),
              "sparse_adam_update: rows[1] is 5, expected [-1, 5)");
  CHECK_ERROR(table.update(false, Tensor::from<int32_t>({0, 1, -2}), gradient),
              "sparse_adagrad_update: rows[2] is -2, expected [-1, 5)");
  CHECK_ERROR(table.update(false, Tensor::from<int32_t>({0, 1}), gradient),
              "sparse_adagrad_update: the gradient is [3, 2] float32 on cpu, expected [2, 2] float32 on cpu");
  table.slot.second = Tensor::zeros({4, 2});
  CHECK_THROWS_AS(table.update(true, Tensor::from<int32_t>({0, 1, 2}), gradient), Error);
  CHECK(table.step.item() == 0);
}
