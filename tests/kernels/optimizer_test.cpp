#include "cases.h"
#include <adjoint/kernels/update/optimizer.h>

using namespace adj;
using namespace adj::test;
using kernels::AdamRule, kernels::SgdRule, kernels::UpdateSlot;

namespace {

/// Parameters of odd sizes with their gradients and zeroed states, and the same as plain vectors.
struct ParameterGroup {
  std::vector<UpdateSlot> slots;
  std::vector<Numbers> p, g, m, v;
  Tensor rate, step;

  ParameterGroup(Device device, DType dtype, int states, double learning_rate) {
    const bool narrow = dtype == DType::bf16;
    const DType state = narrow ? DType::f32 : dtype;
    for (const Shape& shape : {Shape{16}, Shape{1433, 16}, Shape{0}, Shape{}, Shape{257, 3}}) {
      UpdateSlot slot{.parameter = random_tensor(shape, state, device).to(dtype),
                      .gradient = random_tensor(shape, state, device).to(dtype)};
      if (states >= 1) slot.first = Tensor::zeros(shape, state, device);
      if (states >= 2) slot.second = Tensor::zeros(shape, state, device);
      if (narrow) slot.master = slot.parameter.to(state);
      slots.push_back(slot);
      p.push_back(values(slot.parameter));
      g.push_back(values(slot.gradient));
      m.emplace_back(p.back().size());
      v.emplace_back(p.back().size());
    }
    rate = Tensor::full({1}, learning_rate, DType::f64, device);
    step = Tensor::zeros({1}, DType::i64, device);
  }

  void sgd(const SgdRule& rule = {}) {
    kernels::sgd_update({.slots = slots, .rule = rule, .learning_rate = rate, .step = step});
  }
  void adam(const AdamRule& rule = {}) {
    kernels::adam_update({.slots = slots, .rule = rule, .learning_rate = rate, .step = step});
  }

  /// update(p, g, m, v) for every element.
  template <class F>
  void expect(F update) {
    for (size_t k = 0; k < p.size(); ++k)
      for (size_t i = 0; i < p[k].size(); ++i) update(p[k][i], g[k][i], m[k][i], v[k][i]);
  }

  /// Checks the parameters; in bfloat16 the masters, and that the parameters are the rounded masters.
  void check_parameters(DType dtype) const {
    for (size_t k = 0; k < slots.size(); ++k) {
      const bool narrow = dtype == DType::bf16;
      CHECK(close(narrow ? slots[k].master : slots[k].parameter, p[k], narrow ? 1e-5 : tolerance(dtype)));
      if (narrow) CHECK(same_bits(slots[k].parameter, slots[k].master.to(dtype)));
    }
  }
};

}  // namespace

TEST_CASE("sgd_update: plain, with weight decay, momentum and Nesterov") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const SgdRule& rule :
         {SgdRule{}, SgdRule{0.0, 0.1, false}, SgdRule{0.9, 0.01, false}, SgdRule{0.9, 0.01, true}}) {
      CAPTURES(rule.momentum, rule.nesterov);
      ParameterGroup group(device, dtype, rule.momentum != 0 ? 1 : 0, 0.05);
      for (int step = 1; step <= 3; ++step) {
        group.sgd(rule);
        CHECK(group.step.item() == step);
        group.expect([&](double& p, double g, double& m, double&) {
          g += rule.weight_decay * p;
          m = rule.momentum * m + g;
          p -= 0.05 * (rule.nesterov ? g + rule.momentum * m : rule.momentum != 0 ? m : g);
        });
      }
      group.check_parameters(dtype);
    }
  });
}

TEST_CASE("adam_update: Adam with weight decay, and AdamW") {
  on_devices_and_features([](Device device, DType dtype) {
    for (bool decoupled : {false, true}) {
      CAPTURE(decoupled);
      const AdamRule rule{
          .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.02, .decoupled = decoupled};
      ParameterGroup group(device, dtype, 2, 0.01);
      for (int step = 1; step <= 4; ++step) {
        group.adam(rule);
        CHECK(group.step.item() == step);
        group.expect([&](double& p, double g, double& m, double& v) {
          if (decoupled) {
            p -= 0.01 * rule.weight_decay * p;
          } else {
            g += rule.weight_decay * p;
          }
          m = rule.beta1 * m + (1 - rule.beta1) * g;
          v = rule.beta2 * v + (1 - rule.beta2) * g * g;
          const double mean = m / (1 - std::pow(rule.beta1, step)),
                       square = v / (1 - std::pow(rule.beta2, step));
          p -= 0.01 * mean / (std::sqrt(square) + rule.eps);
        });
      }
      group.check_parameters(dtype);
      for (size_t k = 0; k < group.slots.size(); ++k) {
        CHECK(close(group.slots[k].first, group.m[k], tolerance(group.slots[k].first.dtype())));
        CHECK(close(group.slots[k].second, group.v[k], tolerance(group.slots[k].first.dtype())));
      }
    }
  });
}

TEST_CASE("adam_update: a gradient of zero changes nothing") {
  on_devices_and_features([](Device device, DType dtype) {
    ParameterGroup group(device, dtype, 2, 0.01);
    for (UpdateSlot& slot : group.slots) slot.gradient.zero_();
    group.adam();
    for (size_t k = 0; k < group.slots.size(); ++k) CHECK(values(group.slots[k].parameter) == group.p[k]);
  });
}

TEST_CASE("steps too small for bfloat16 accumulate in the master; loaded weights replace it") {
  for (Device device : devices())
    for (int64_t n : {1, 7, 1024, 100'003}) {
      const Tensor ones = Tensor::full({n}, 1.0, DType::bf16, device);
      ParameterGroup group(device, DType::bf16, 0, 1e-4);
      group.slots = {{.parameter = ones.clone(), .gradient = ones, .master = ones.to(DType::f32)}};
      const UpdateSlot& slot = group.slots[0];
      group.sgd();
      CHECK(same_bits(slot.parameter, ones));
      for (int i = 0; i < 99; ++i) group.sgd();
      CHECK(close(slot.master, Numbers(uz(n), 0.99), 1e-5));
      CHECK(same_bits(slot.parameter, slot.master.to(DType::bf16)));
      group.slots[0].parameter.fill_(-2.0);
      group.sgd();
      CHECK(close(slot.master, Numbers(uz(n), -2.0001), 1e-6));
      CHECK(same_bits(slot.parameter, slot.master.to(DType::bf16)));
    }
}

TEST_CASE("groups of several dtypes take one step together") {
  for (Device device : devices()) {
    ParameterGroup group(device, DType::bf16, 2, 0.01), wide(device, DType::f32, 2, 0.01),
        same(device, DType::bf16, 2, 0.01);
    for (size_t k = 0; k < group.slots.size(); ++k) {
      same.slots[k].parameter.copy_(group.slots[k].parameter);
      same.slots[k].gradient.copy_(group.slots[k].gradient);
    }
    std::vector<UpdateSlot> both = group.slots;
    both.insert(both.begin() + 2, wide.slots.begin(), wide.slots.end());
    kernels::adam_update({.slots = both, .rule = {}, .learning_rate = group.rate, .step = group.step});
    same.adam();
    CHECK(group.step.item() == 1);
    for (size_t k = 0; k < group.slots.size(); ++k)
      CHECK(same_bits(group.slots[k].parameter, same.slots[k].parameter));
  }
}

TEST_CASE("empty tensors change nothing, in any number and position") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const auto& [full, none] :
         {std::pair{0, 0}, {0, 150}, {1, 150}, {63, 150}, {64, 150}, {65, 150}, {128, 150}}) {
      CAPTURES(full, none);
      ParameterGroup group(device, dtype, 0, 0.5);
      group.slots.clear();
      std::vector<Tensor> gradients;
      for (int k = 0; k < full + none; ++k) {
        const int64_t n = k < full ? 3 : 0;
        UpdateSlot slot{.parameter = Tensor::full({n}, 2.0, dtype, device),
                        .gradient = Tensor::full({n}, 1.0, dtype, device)};
        if (dtype == DType::bf16) slot.master = slot.parameter.to(DType::f32);
        group.slots.push_back(slot);
        gradients.push_back(slot.gradient);
      }
      group.sgd();
      CHECK(group.step.item() == 1.0);
      for (int k = 0; k < full; ++k) CHECK(values(group.slots[uz(k)].parameter) == Numbers(3, 1.5));
      Tensor norm = Tensor::full({1}, 9.0, DType::f64, device);
      kernels::global_norm({.tensors = gradients, .norm = norm});
      CHECK(norm.item() == doctest::Approx(std::sqrt(3.0 * full)));
    }
  });
}

TEST_CASE("global_norm and clip_to_norm") {
  on_devices_and_features([](Device device, DType dtype) {
    std::vector<Tensor> tensors;
    double squares = 0.0;
    for (const Shape& shape : {Shape{200003}, Shape{0}, Shape{7, 5}}) {
      tensors.push_back(random_tensor(shape, dtype == DType::f64 ? dtype : DType::f32, device).to(dtype));
      for (double v : values(tensors.back())) squares += v * v;
    }
    Tensor norm = Tensor::empty({1}, DType::f64, device);
    CHECK(same_bits_on_any_threads([&] {
      kernels::global_norm({.tensors = tensors, .norm = norm});
      return norm.clone();
    }));
    CHECK(norm.item() == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));

    const std::vector<Tensor> before{tensors[0].clone(), tensors[1].clone(), tensors[2].clone()};
    kernels::clip_to_norm({.tensors = tensors, .norm = norm, .max_norm = norm.item() * 1.01});
    for (size_t k = 0; k < before.size(); ++k) CHECK(same_bits(tensors[k], before[k]));
    kernels::clip_to_norm({.tensors = tensors, .norm = norm, .max_norm = 2.0});
    kernels::global_norm({.tensors = tensors, .norm = norm});
    CHECK(norm.item() == doctest::Approx(2.0).epsilon(dtype == DType::bf16 ? 1e-2 : 1e-5));
  });
}

TEST_CASE(
    "clip_to_norm does not change gradients with a NaN norm, and refuses a limit that is not positive") {
  on_devices_and_features([](Device device, DType dtype) {
    std::vector<Tensor> tensors{Tensor::full({4}, 3.0, dtype, device), Tensor::full({5}, NAN, dtype, device)};
    const Tensor before = tensors[0].clone();
    Tensor norm = Tensor::empty({1}, DType::f64, device);
    kernels::global_norm({.tensors = tensors, .norm = norm});
    CHECK(std::isnan(norm.item()));
    kernels::clip_to_norm({.tensors = tensors, .norm = norm, .max_norm = 1.0});
    CHECK(same_bits(tensors[0], before));
    for (double most : {0.0, -1.0, double(NAN)})
      CHECK_ERROR_HAS(kernels::clip_to_norm({.tensors = tensors, .norm = norm, .max_norm = most}),
                      "expected a positive number");
  });
}

TEST_CASE("updates reject mismatched states") {
  ParameterGroup group({}, DType::f32, 1, 0.1);
  CHECK_THROWS_AS(group.adam(), Error);
  group.slots[1].gradient = random_tensor({16, 1433});
  CHECK_ERROR(group.sgd(),
              "sgd_update: a gradient is [16, 1433] float32 on cpu, expected [1433, 16] float32 on cpu");
  CHECK_THROWS_AS(
      kernels::sgd_update({.slots = {}, .rule = {}, .learning_rate = group.step, .step = group.step}), Error);
  CHECK(group.step.item() == 0);
}
