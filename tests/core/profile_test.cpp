#include "../support.h"
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/core/allocator.h>
#include <adjoint/core/profile.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/optim/captured_step.h>

#include <algorithm>
#include <thread>

#include <nlohmann/json.hpp>

using namespace adj;
using namespace adj::test;

namespace {

ProfileRow row_named(const Profiler& profiler, const std::string& name) {
  for (const ProfileRow& row : profiler.rows())
    if (row.name == name) return row;
  return {};
}

Tensor step(const Var& x, const Var& w) {
  const Var loss = sum(relu(matmul(x, w)));
  loss.backward();
  return loss.value();
}

}  // namespace

TEST_CASE("a profile counts forward and backward ops, their allocations, and kernels outside of ops") {
  for (Device device : devices()) {
    const Var x(random_tensor({64, 8}, DType::f32, device));
    const Var w = Var::parameter(random_tensor({8, 4}, DType::f32, device));
    step(x, w);  // not recorded, and creates cached objects
    const Profiler profiler;
    for (int k = 0; k < 3; ++k) step(x, w);
    {
      const NoGrad no_grad;
      relu(x);
    }
    const ProfileRow product = row_named(profiler, "matmul"), act = row_named(profiler, "relu");
    CHECK(product.forward_calls == 3);
    CHECK(product.backward_calls == 3);
    CHECK(product.forward_ms > 0.0);
    CHECK(product.backward_ms > 0.0);
    CHECK(product.allocated >= 3 * (64 + 8) * 4 * sizeof(float));
    CHECK(product.peak >= 64 * 8 * sizeof(float));
    CHECK(act.forward_calls == 4);
    CHECK(act.backward_calls == 3);
    CHECK(row_named(profiler, "gemm").forward_calls == 0);  // within ops
    Tensor y = Tensor::empty_like(x.value());
    kernels::linear_combination({.alpha = 1.0, .a = x.value(), .beta = 1.0, .b = x.value(), .y = y});
    CHECK(row_named(profiler, "linear_combination").forward_calls == 1);
    (void)y.to(Device::cpu());
    CHECK(row_named(profiler, "copy").copied == (device.is_cuda() ? y.bytes() : 0));
  }
}

TEST_CASE("the time of a nested op is not counted in its caller") {
  const Profiler profiler;
  {
    const AllocationScope outer("outer");
    {
      const AllocationScope inner("inner");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  CHECK(row_named(profiler, "inner").forward_ms >= 20.0);
  CHECK(row_named(profiler, "outer").forward_ms < row_named(profiler, "inner").forward_ms);
  CHECK(profiler.rows().front().name == "inner");
}

TEST_CASE("a profile ends with its profiler, is unique, and changes no bits") {
  const Var x(random_tensor({16, 8}));
  const Var w = Var::parameter(random_tensor({8, 4}));
  const Tensor plain = step(x, w), gradient = w.grad();
  {
    const AllocationScope begun_before("before");
    const Profiler profiler;
    Var again = Var::parameter(w.value());
    CHECK(same_bits(step(x, again), plain));
    CHECK(same_bits(again.grad(), gradient));
    CHECK_ERROR_HAS(const Profiler second, "profiler: a Profiler is already active");
    CHECK(row_named(profiler, "before").forward_calls == 0);
  }
  CHECK_FALSE(profiling());
  step(x, w);
  const Profiler fresh;
  CHECK(fresh.rows().empty());
}

TEST_CASE("a step is not captured while it is profiled") {
  for (Device device : devices()) {
    const Var x(random_tensor({16, 8}, DType::f32, device));
    const Var w = Var::parameter(random_tensor({8, 4}, DType::f32, device));
    optim::CapturedStep captured([&] {
      Var(w).zero_grad();
      const Var loss = sum(matmul(x, w));
      loss.backward();
      return loss;
    });
    const Profiler profiler;
    for (int k = 0; k < 5; ++k) captured();
    CHECK_FALSE(captured.captured());
    CHECK(row_named(profiler, "matmul").forward_calls == 5);
  }
}

TEST_CASE("a trace is JSON whose kernels lie within their ops") {
  const Profiler profiler;
  step(Var(random_tensor({64, 8})), Var::parameter(random_tensor({8, 4})));
  std::thread([] { relu(Var(random_tensor({4, 4}))); }).join();
  const auto trace = nlohmann::json::parse(profiler.chrome_trace());
  CHECK(trace["otherData"]["left_out"] == 0);
  const auto& events = trace["traceEvents"];
  const auto find = [&](const std::string& name, const std::string& category) {
    return *std::find_if(events.begin(), events.end(),
                         [&](const auto& e) { return e["name"] == name && e["cat"] == category; });
  };
  const auto op = find("matmul", "forward"), kernel = find("gemm", "kernel"),
             back = find("matmul", "backward");
  CHECK(op["ph"] == "X");
  CHECK(kernel["ts"] >= op["ts"]);
  CHECK(kernel["ts"].get<double>() + kernel["dur"].get<double>() <=
        op["ts"].get<double>() + op["dur"].get<double>() + 0.002);
  CHECK(back["ts"] > op["ts"]);
  CHECK(op["args"]["allocated"].get<size_t>() >= 64 * 4 * sizeof(float));
  CHECK(events.back()["tid"] != op["tid"]);
}

TEST_CASE("the table has a line per op and a total") {
  const std::vector<ProfileRow> rows{
      {.name = "spmm",
       .forward_calls = 2,
       .backward_calls = 1,
       .forward_ms = 3.0,
       .backward_ms = 1.5,
       .allocated = 4'000'000,
       .copied = 0,
       .peak = 8'000'000},
      {.name = "relu", .forward_calls = 1, .forward_ms = 0.5, .peak = 1'000'000}};
  CHECK(profile_table(rows) ==
        "op      forward           ms  backward           ms      % allocated MB   copied MB    peak MB\n"
        "spmm          2        3.000         1        1.500   90.0          4.0         0.0        8.0\n"
        "relu          1        0.500         0        0.000   10.0          0.0         0.0        1.0\n"
        "all           3        3.500         1        1.500  100.0          4.0         0.0        8.0\n");
}
