// Layers, losses and optimizers against what torch_geometric computed from the same numbers
// (tests/reference/make_pyg_reference.py): in float32, and in bfloat16 from these numbers rounded.
#include "../reference/plain.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/adam.h>
#include <adjoint/optim/sgd.h>

using namespace adj;
using namespace adj::test;

namespace {

/// In bfloat16 up to five roundings stand behind one another: of two factors, of what is stored of their
/// products, of the result. Each is off by at most 2^-8, by half of it at a mean and to either side, so that
/// together they stay below 3 x 2^-8; of the largest element, for sums cancel.
bool agrees(const Tensor& a, const Tensor& reference) {
  return a.dtype() == DType::bf16 ? close_to_scale(a, reference, 3 * 0x1p-8) : close(a, reference, 1e-5);
}

/// Runs f(device, dtype) on every device.
template <class F>
void in_both_dtypes(F f) {
  for (Device device : devices())
    for (DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(device.str());
      CAPTURE(name_of(dtype));
      f(device, dtype);
    }
}

class Reference {
 public:
  Reference(std::string group, Device device) : group_(std::move(group)), device_(device) {}

  Tensor operator()(const std::string& name) const {
    return file().tensor(group_ + "/" + name, {DType::f32, DType::i32}).to(device_);
  }
  bool has(const std::string& name) const { return file().has(group_ + "/" + name); }
  double option(const std::string& name, double otherwise) const {
    return file().has_attribute(group_, name) ? file().number(group_, name) : otherwise;
  }
  Graph graph() const {
    return Graph::from_coo((*this)("x").size(0), (*this)("src"), (*this)("dst"),
                           has("weight") ? (*this)("weight") : Tensor{});
  }

 private:
  static const H5Reader& file() {
    static const H5Reader reader = H5Reader::open("tests/reference/pyg_layers.h5");
    return reader;
  }
  std::string group_;
  Device device_;
};

template <class Layer>
void compare_convolution(Layer& layer, const Reference& ref, Device device, DType dtype) {
  layer.to(device);
  layer.load_state({{"weight", ref("w")}, {"bias", ref("b")}});
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
  // Features that take no gradient: aggregated anew, then kept, then from the cache.
  for (int i = 0; i < 3; ++i) gradients(x.detach());
}

template <class Norm>
Var compare_norm(Norm& norm, const Reference& ref, DType dtype) {
  norm.weight.set_value(ref("gamma"));
  norm.bias.set_value(ref("beta"));
  norm.to(dtype);
  const Var x = Var::parameter(ref("x").to(dtype));
  const Var y = norm(x);
  CHECK(y.dtype() == dtype);
  CHECK(agrees(y.value(), ref("y")));
  y.backward(ref("dy").to(dtype));
  CHECK(agrees(x.grad(), ref("dx")));
  CHECK(agrees(norm.weight.grad(), ref("dgamma")));
  CHECK(agrees(norm.bias.grad(), ref("dbeta")));
  return x;
}

template <class Optimizer, class Options>
void compare_optimizer(const Reference& ref, DType dtype, const Options& options) {
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
  in_both_dtypes([](Device device, DType dtype) {
    for (const char* name :
         {"in_below_out", "in_above_out", "self_loops", "weighted", "weighted_self_loops"}) {
      CAPTURE(name);
      const Reference ref(std::string("gcn/") + name, device);
      nn::Model<nn::GCNConv> layer(ref("w").size(0), ref("w").size(1));
      compare_convolution(layer, ref, device, dtype);
    }
  });
}

TEST_CASE("SGConv and its gradients equal torch_geometric's") {
  in_both_dtypes([](Device device, DType dtype) {
    for (const char* name : {"plain", "weighted_self_loops"}) {
      CAPTURE(name);
      const Reference ref(std::string("sgc/") + name, device);
      nn::Model<nn::SGConv> layer(ref("w").size(0), ref("w").size(1), nn::SGConvOptions{2});
      compare_convolution(layer, ref, device, dtype);
    }
  });
}

TEST_CASE("BatchNorm, its gradients and its running statistics equal torch_geometric's") {
  in_both_dtypes([](Device device, DType dtype) {
    const Reference ref("batch_norm", device);
    nn::Model<nn::BatchNorm> norm(5);
    norm.to(device);
    const Var x = compare_norm(norm, ref, dtype);
    CHECK(norm.running_mean.dtype() == DType::f32);
    CHECK(agrees(norm.running_mean.to(dtype), ref("running_mean")));
    CHECK(agrees(norm.running_var.to(dtype), ref("running_variance")));
    norm.eval();
    CHECK(agrees(norm(x).value(), ref("y_eval")));
  });
}

TEST_CASE("LayerNorm and its gradients equal torch_geometric's") {
  in_both_dtypes([](Device device, DType dtype) {
    const Reference ref("layer_norm", device);
    nn::Model<nn::LayerNorm> norm(7);
    norm.to(device);
    compare_norm(norm, ref, dtype);
  });
}

TEST_CASE("losses and their gradients equal torch's") {
  using Loss = Var (*)(const Var&, const Tensor&, const Tensor&);
  const std::vector<std::pair<std::string, Loss>> losses{
      {"cross_entropy", cross_entropy}, {"bce_with_logits", bce_with_logits}, {"mse", mse_loss}};
  in_both_dtypes([&](Device device, DType dtype) {
    for (const auto& [name, loss] : losses) {
      CAPTURE(name);
      const Reference ref("loss/" + name, device);
      const Var x = Var::parameter(ref("x").to(dtype));
      const Var value = loss(x, ref("target"), ref("index"));
      CHECK(agrees(value.value().to(dtype), ref("loss")));
      value.backward();
      CHECK(agrees(x.grad(), ref("dx")));
    }
  });
}

TEST_CASE("activations and their gradients equal torch's") {
  in_both_dtypes([](Device device, DType dtype) {
    for (Activation activation :
         {Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu}) {
      CAPTURE(name_of(activation));
      const Reference ref("activation/" + std::string(name_of(activation)), device);
      const Var x = Var::parameter(ref("x").to(dtype));
      const Var y = activate(activation, x);
      CHECK(agrees(y.value(), ref("y")));
      y.backward(ref("dy").to(dtype));
      CHECK(agrees(x.grad(), ref("dx")));
    }
  });
}

TEST_CASE("five steps of each optimizer equal torch's") {
  in_both_dtypes([](Device device, DType dtype) {
    for (const char* name : {"sgd/plain", "sgd/momentum", "sgd/nesterov"}) {
      CAPTURE(name);
      const Reference ref(name, device);
      optim::SGDOptions options;
      options.lr = ref.option("lr", -1.0);
      options.momentum = ref.option("momentum", 0.0);
      options.weight_decay = ref.option("weight_decay", 0.0);
      options.nesterov = ref.option("nesterov", 0.0) != 0.0;
      compare_optimizer<optim::SGD>(ref, dtype, options);
    }
    for (const char* name : {"adam/plain", "adam/decay", "adamw/decay"}) {
      CAPTURE(name);
      const Reference ref(name, device);
      optim::AdamOptions options;
      options.lr = ref.option("lr", -1.0);
      options.weight_decay = ref.option("weight_decay", 0.0);
      if (name == std::string("adamw/decay")) {
        compare_optimizer<optim::AdamW>(ref, dtype, options);
      } else {
        compare_optimizer<optim::Adam>(ref, dtype, options);
      }
    }
  });
}
