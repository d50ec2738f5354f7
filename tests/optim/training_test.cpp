#include "../nn/module_state.h"
#include "../reference/plain.h"
#include <adjoint/core/capture.h>
#include <adjoint/data/generators.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/metrics/metrics.h>
#include <adjoint/nn/norm/norm.h>
#include <adjoint/ops.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/optimizer.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Gcn : nn::Module {
  nn::Child<nn::GCNConv> conv1, conv2;
  Gcn(int64_t in, int64_t hidden, int64_t out)
      : conv1{this, "conv1", in, hidden, nn::GCNConvOptions{.activation = Activation::relu}},
        conv2{this, "conv2", hidden, out} {}
  Var operator()(const Graph& graph, const Features& x) {
    return conv2(graph, dropout(conv1(graph, dropout(x, 0.5f)), 0.5f));
  }
};

// Only Adjoint's own kernels: sparse features need no library product.
struct WithoutGemm : nn::Module {
  nn::Child<nn::GCNConv> conv;
  nn::Child<nn::BatchNorm> norm;
  nn::Child<nn::LayerNorm> last;
  WithoutGemm(int64_t in, int64_t out)
      : conv{this, "conv", in, out}, norm{this, "norm", out}, last{this, "last", out} {}
  Var operator()(const Graph& graph, const Features& x) {
    const Var h = norm(conv(graph, dropout(x, 0.3f)), {Activation::relu, 0.3f});
    return last(gelu(aggregate(graph.mean_adjacency(), h)) + l2_normalize(h));
  }
};

Dataset citations(Device device, int64_t nodes = 1200) {
  const CitationOptions options{.nodes = nodes, .classes = 4, .features = 300, .val = 100, .test = 400};
  return make_citation_dataset(options).to(device);
}

// Trains and returns the model's state; the losses go to `losses`.
template <class Model>
std::map<std::string, Tensor> trained(Model& model, const Dataset& data, int epochs, bool capture = true,
                                      std::vector<double>* losses = nullptr) {
  model.to(data.device());
  optim::Adam adam(model.parameters(), {.lr = 0.01, .weight_decay = 5e-4});
  optim::CapturedStep step(
      [&] {
        const Var loss = cross_entropy(model(data.graph, data.x), data.y, data.train);
        loss.backward();
        adam.step();
        return loss;
      },
      {.capture = capture});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const double loss = step().item();
    if (losses != nullptr) losses->push_back(loss);
  }
  return copied(model);
}

}  // namespace

TEST_CASE("a small GCN learns a citation-like graph") {
  on_devices([&](Device device) {
    const Dataset data = citations(device);
    manual_seed(1);
    nn::Model<Gcn> model(data.num_features(), 16, 4);
    std::vector<double> losses;
    trained(model, data, 100, true, &losses);
    model.eval();
    const NoGrad scope;
    const double accuracy = nn::accuracy(model(data.graph, data.x).value(), data.y, data.test);
    CHECK(accuracy > 0.55);  // chance is 0.25
    CHECK(losses.front() == doctest::Approx(std::log(4.0)).epsilon(0.1));
    CHECK(losses.back() < 0.75 * losses.front());
  });
}

TEST_CASE("the same seed gives the same bits, another seed other bits") {
  on_devices([&](Device device) {
    const Dataset data = citations(device);
    const auto run = [&](uint64_t seed) {
      manual_seed(seed);
      nn::Model<Gcn> model(data.num_features(), 16, 4);
      return trained(model, data, 12);
    };
    const auto first = run(3);
    CHECK(equal(first, run(3)));
    CHECK_FALSE(equal(first, run(4)));
  });
}

TEST_CASE("a captured step gives the same bits as an eager one") {
  on_devices([&](Device device) {
    const Dataset data = citations(device);
    const auto run = [&](bool capture, std::vector<double>& losses) {
      manual_seed(5);
      nn::Model<WithoutGemm> model(data.num_features(), 4);
      return trained(model, data, 8, capture, &losses);
    };
    std::vector<double> captured, eager;
    CHECK(equal(run(true, captured), run(false, eager)));
    CHECK(captured == eager);
  });
}

TEST_CASE("an exception during capture leaves gradients, optimizer and generators unchanged") {
  for (Device device : devices()) {
    if (!StepGraph::supported(device)) continue;
    const Dataset data = citations(device);
    const auto run = [&](bool failing) {
      manual_seed(7);
      nn::Model<WithoutGemm> model(data.num_features(), 4);
      model.to(device);
      const std::vector<Var> parameters = model.parameters();
      optim::Adam adam(parameters, {.lr = 0.01, .weight_decay = 5e-4});
      bool reads = false;
      optim::CapturedStep step([&] {
        const Var loss = cross_entropy(model(data.graph, data.x), data.y, data.train);
        loss.backward();
        if (reads) (void)loss.item();
        adam.step();
        return loss;
      });
      for (int i = 0; i < 2; ++i) step();
      if (failing) {
        const uint64_t position = default_generator().position();
        reads = true;
        for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(step(), Error);
        reads = false;
        for (const Var& parameter : parameters) CHECK(!parameter.grad());
        CHECK(default_generator().position() == position);
        CHECK(!step.captured());
      }
      for (int i = 0; i < 4; ++i) step();
      CHECK(step.captured());
      return copied(model);
    };
    CHECK(equal(run(true), run(false)));
  }
}

TEST_CASE("models train to the same bits with 1, 2, 3, 5, 8 and 16 threads") {
  const Dataset data = citations({}, 6000);
  const auto run = [&](const auto& make, int count) {
    const Threads threads(count);
    manual_seed(6);
    auto model = make();
    return trained(model, data, 5);
  };
  const auto check = [&](const auto& make) {
    const auto one = run(make, 1);
    for (int count : {2, 3, 5, 8, 16}) CHECK(equal(one, run(make, count)));
  };
  check([&] { return nn::Model<WithoutGemm>(data.num_features(), 48); });
  check([&] { return nn::Model<Gcn>(data.num_features(), 64, 4); });
}

TEST_CASE("a label out of range in a step, also a captured one, is an error when the loss is read") {
  on_devices([&](Device device) {
    const Tensor x = random_tensor({40, 5}, DType::f32, device);
    Tensor label = random_ints(40, 0, 3, device);
    nn::Model<nn::Linear> model(5, 3);
    model.to(device);
    optim::SGD sgd(model.parameters(), {.lr = 0.1});
    optim::CapturedStep step([&] {
      const Var loss = cross_entropy(model(x), label);
      loss.backward();
      sgd.step();
      return loss;
    });
    for (int i = 0; i < 5; ++i) CHECK(std::isfinite(step().item()));
    CHECK(step.captured() == device.is_cuda());
    Tensor one = label.rows(17, 18);
    one.fill_(7);
    CHECK(mentions(error_of([&] { (void)step().item(); }), "cross_entropy: label[17] is 7, expected [0, 3)"));
    one.fill_(0);
    if (device.is_cpu()) CHECK(std::isfinite(step().item()));
  });
}
