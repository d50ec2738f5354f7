// Layers, losses and optimizers against what torch_geometric computed from the same numbers
// (tests/reference/make_pyg_reference.py): in float32, and in bfloat16 from these numbers rounded.
#include "../reference/pyg_case.h"
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/optimizer.h>

using namespace adj;
using namespace adj::test;

namespace {

/// bfloat16 has up to five roundings in sequence: of two factors, of two stored products, of the result. Each
/// is at most 2^-8 and on average half of it in either direction: together below 3 x 2^-8, of the largest
/// element, since sums cancel.
bool agrees(const Tensor& a, const Tensor& reference) {
  return a.dtype() == DType::bf16 ? close_to_scale(a, reference, 3 * 0x1p-8) : close(a, reference, 1e-5);
}

/// f(case, dtype) for each of these cases.
template <class F>
void in_both_dtypes(const std::vector<std::string>& groups, F f) {
  for (const std::string& group : groups)
    on_devices(group, [&](PygCase& ref) {
      for (DType dtype : {DType::f32, DType::bf16}) {
        CAPTURE(name_of(dtype));
        f(ref, dtype);
      }
    });
}

/// The gradient of x where y was computed from it.
void compare_gradient(const PygCase& ref, const Var& x, const Var& y) {
  CHECK(y.dtype() == x.dtype());
  CHECK(agrees(y.value(), ref("y")));
  y.backward(ref("dy").to(x.dtype()));
  CHECK(agrees(x.grad(), ref("dx")));
}

template <class Layer, class Options>
void compare_convolution(const PygCase& ref, DType dtype, const Options& options) {
  const Tensor w = ref("w");
  nn::Model<Layer> layer(w.size(0), w.size(1), options);
  layer.to(w.device());
  layer.load_state({{"weight", w}, {"bias", ref("b")}});
  layer.to(dtype);
  const Graph graph = ref.graph();
  const auto gradients = [&](const Var& x) {
    layer.zero_grad();
    const Var y = layer(graph, x);
    CHECK(y.dtype() == dtype);
    CHECK(agrees(y.value(), ref("y")));
    y.backward(ref("dy").to(dtype));
    CHECK(agrees(layer.weight.grad(), ref("dw")));
    CHECK(agrees(layer.bias.grad(), ref("db")));
  };
  const Var x = Var::parameter(ref("x").to(dtype));
  gradients(x);
  CHECK(agrees(x.grad(), ref("dx")));
  // Features without gradient: aggregated, then kept, then from the cache.
  for (int i = 0; i < 3; ++i) gradients(x.detach());
}

template <class Norm>
void compare_norm(Norm& norm, const PygCase& ref, const Var& x) {
  norm.weight.set_value(ref("gamma"));
  norm.bias.set_value(ref("beta"));
  norm.to(x.device());
  norm.to(x.dtype());
  compare_gradient(ref, x, norm(x));
  CHECK(agrees(norm.weight.grad(), ref("dgamma")));
  CHECK(agrees(norm.bias.grad(), ref("dbeta")));
}

template <class Optimizer, class Options>
void compare_optimizer(const PygCase& ref, DType dtype, const Options& options) {
  std::vector<Var> parameters{Var::parameter(ref("start0").to(dtype)),
                              Var::parameter(ref("start1").to(dtype))};
  Optimizer optimizer(parameters, options);
  const Tensor history[] = {ref("history0"), ref("history1")};
  const Tensor gradients[] = {ref("gradients0"), ref("gradients1")};
  for (int64_t step = 0; step < 5; ++step) {
    CAPTURE(step);
    for (size_t k = 0; k < 2; ++k)
      parameters[k].set_grad(gradients[k].rows(step, step + 1).reshape(parameters[k].shape()).to(dtype));
    optimizer.step();
    for (size_t k = 0; k < 2; ++k)
      CHECK(agrees(parameters[k].value(), history[k].rows(step, step + 1).reshape(parameters[k].shape())));
  }
}

}  // namespace

TEST_CASE("GCNConv and its gradients equal torch_geometric's") {
  in_both_dtypes(
      {"gcn/in_below_out", "gcn/in_above_out", "gcn/self_loops", "gcn/weighted", "gcn/weighted_self_loops"},
      [](PygCase& ref, DType dtype) { compare_convolution<nn::GCNConv>(ref, dtype, nn::GCNConvOptions{}); });
}

TEST_CASE("SGConv and its gradients equal torch_geometric's") {
  in_both_dtypes({"sgc/plain", "sgc/weighted_self_loops"}, [](PygCase& ref, DType dtype) {
    compare_convolution<nn::SGConv>(ref, dtype, nn::SGConvOptions{2});
  });
}

TEST_CASE("BatchNorm, its gradients and its running statistics equal torch_geometric's") {
  in_both_dtypes({"batch_norm"}, [](PygCase& ref, DType dtype) {
    nn::Model<nn::BatchNorm> norm(5);
    const Var x = Var::parameter(ref("x").to(dtype));
    compare_norm(norm, ref, x);
    CHECK(norm.running_mean.dtype() == DType::f32);
    CHECK(agrees(norm.running_mean.to(dtype), ref("running_mean")));
    CHECK(agrees(norm.running_var.to(dtype), ref("running_variance")));
    norm.eval();
    CHECK(agrees(norm(x).value(), ref("y_eval")));
  });
}

TEST_CASE("LayerNorm and its gradients equal torch_geometric's") {
  in_both_dtypes({"layer_norm"}, [](PygCase& ref, DType dtype) {
    nn::Model<nn::LayerNorm> norm(7);
    compare_norm(norm, ref, Var::parameter(ref("x").to(dtype)));
  });
}

TEST_CASE("losses and their gradients equal torch's") {
  using Loss = Var (*)(const Var&, const Tensor&, const Tensor&);
  const auto bce = [](const Var& x, const Tensor& y, const Tensor& rows) {
    return bce_with_logits(x, y, rows);
  };
  for (const auto& [group, loss] : {std::pair<std::string, Loss>{"loss/cross_entropy", cross_entropy},
                                    {"loss/bce_with_logits", bce},
                                    {"loss/mse", mse_loss}})
    in_both_dtypes({group}, [f = loss](PygCase& ref, DType dtype) {
      const Var x = Var::parameter(ref("x").to(dtype));
      const Var value = f(x, ref("target"), ref("index"));
      CHECK(agrees(value.value().to(dtype), ref("loss")));
      value.backward();
      CHECK(agrees(x.grad(), ref("dx")));
    });
}

TEST_CASE("activations and their gradients equal torch's") {
  for (Activation activation : {Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu})
    in_both_dtypes({"activation/" + std::string(name_of(activation))}, [&](PygCase& ref, DType dtype) {
      const Var x = Var::parameter(ref("x").to(dtype));
      compare_gradient(ref, x, activate(activation, x));
    });
}

TEST_CASE("five steps of each optimizer equal torch's") {
  in_both_dtypes({"sgd/plain", "sgd/momentum", "sgd/nesterov"}, [](PygCase& ref, DType dtype) {
    compare_optimizer<optim::SGD>(ref, dtype,
                                  optim::SGDOptions{.lr = ref.option("lr", -1.0),
                                                    .momentum = ref.option("momentum", 0.0),
                                                    .weight_decay = ref.option("weight_decay", 0.0),
                                                    .nesterov = ref.option("nesterov", 0.0) != 0.0});
  });
  const auto options_of = [](const PygCase& ref) {
    return optim::AdamOptions{.lr = ref.option("lr", -1.0), .weight_decay = ref.option("weight_decay", 0.0)};
  };
  in_both_dtypes({"adam/plain", "adam/decay"}, [&](PygCase& ref, DType dtype) {
    compare_optimizer<optim::Adam>(ref, dtype, options_of(ref));
  });
  in_both_dtypes({"adamw/decay"}, [&](PygCase& ref, DType dtype) {
    compare_optimizer<optim::AdamW>(ref, dtype, options_of(ref));
  });
}
