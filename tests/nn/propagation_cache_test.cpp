#include "../reference/plain.h"
#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/conv/gin_conv.h>
#include <adjoint/nn/conv/graph_conv.h>
#include <adjoint/nn/conv/sage_conv.h>
#include <adjoint/nn/conv/sg_conv.h>
#include <adjoint/nn/conv/structure.h>

#include <optional>

using namespace adj;
using namespace adj::test;

namespace {

Dense propagated(const SparseMatrix& a, const Tensor& x, int hops) {
  Dense y(x);
  for (int hop = 0; hop < hops; ++hop) y = dense_of(a) * y;
  return y;
}

/// Two calls; the second result may be cached.
void check_twice(nn::PropagationCache& cache, const SparseMatrix& a, const Tensor& x, int hops,
                 double tolerance) {
  const Dense expected = propagated(a, x, hops);
  for (int i = 0; i < 2; ++i) CHECK(close(cache.get(a, x, hops).value(), expected.data, tolerance));
}

}  // namespace

TEST_CASE("the cache keeps a result from the second call with a tensor") {
  for (Device device : devices())
    for (int hops : {1, 3}) {
      CAPTURE(device.str());
      CAPTURE(hops);
      Draw draw(210, device);
      const SparseMatrix a = draw.sparse(12, 12, 40);
      const Tensor x = draw.normal({12, 5});
      nn::PropagationCache cache;
      const auto get = [&] { return cache.get(a, x, hops).value(); };
      const Tensor first = get(), second = get(), third = get();
      CHECK_FALSE(first.shares_storage_with(second));
      CHECK(second.shares_storage_with(third));
      CHECK(same_bits(first, second));
      CHECK(close(first, propagated(a, x, hops).data, 1e-12));
    }
}

TEST_CASE("results of new inputs are not kept") {
  on_devices(211, DType::f32, [&](Draw& draw, Device device) {
    const SparseMatrix a = draw.sparse(500, 500, 900);
    nn::PropagationCache cache;
    // Twice: the first products also fill the kernels' caches of the structure.
    for (int i = 0; i < 2; ++i) (void)cache.get(a, draw.normal({500, 64}), 1).value();
    const size_t before = memory_stats(device).current;
    for (int i = 0; i < 4; ++i) (void)cache.get(a, draw.normal({500, 64}), 1).value();
    CHECK(memory_stats(device).current == before);
  });
}

TEST_CASE("the cache detects changes of the input, the matrix and the hops") {
  on_devices(212, DType::f64, [&](Draw& draw, Device) {
    const SparseMatrix a = draw.sparse(12, 12, 40);
    Tensor x = draw.normal({12, 5});
    nn::PropagationCache cache;
    const auto twice = [&](const SparseMatrix& matrix, const Tensor& input, int hops) {
      check_twice(cache, matrix, input, hops, 1e-12);
    };
    twice(a, x, 1);
    x.fill_(0.5);  // in place
    twice(a, x, 1);
    twice(a, x, 2);
    twice(a, draw.normal({12, 5}), 2);
    const SparseMatrix other = a.with_values(draw.normal({40}));  // of the same structure
    twice(a, x, 2);
    twice(other, x, 2);
    Tensor weights = other.values();
    weights.fill_(2.0);
    twice(other, x, 2);
    twice(draw.sparse(12, 12, 40), x, 2);
    const Tensor both = draw.normal({24, 5});  // views of one storage
    twice(a, both.rows(0, 12), 1);
    twice(a, both.rows(12, 24), 1);
  });
}

TEST_CASE("a new tensor at the address of a freed one is not mistaken for it") {
  on_devices(215, DType::f32, [&](Draw& draw, Device) {
    const SparseMatrix drawn = draw.sparse(12, 12, 40);
    const Tensor one = draw.normal({12, 5}), two = draw.normal({12, 5});
    const Tensor some = draw.normal({40}), others = draw.normal({40});
    bool features_met = false, values_met = false;
    for (int attempt = 0; attempt < 5; ++attempt) {
      nn::PropagationCache cache;
      Tensor x = one.clone();
      const SparseMatrix a = drawn.with_values(some.clone());
      check_twice(cache, a, x, 1, 1e-5);
      const void* address = x.raw_data();
      const uint64_t version = x.version();
      x = Tensor();
      const Tensor y = two.clone();
      features_met = features_met || (y.raw_data() == address && y.version() == version);
      check_twice(cache, a, y, 1, 1e-5);
    }
    for (int attempt = 0; attempt < 5; ++attempt) {
      nn::PropagationCache cache;
      SparseMatrix a = drawn.with_values(some.clone());
      check_twice(cache, a, one, 1, 1e-5);
      const void* address = a.values().raw_data();
      a = SparseMatrix();
      const SparseMatrix b = drawn.with_values(others.clone());
      values_met = values_met || b.values().raw_data() == address;
      check_twice(cache, b, one, 1, 1e-5);
    }
    CHECK(features_met);  // else nothing was tested
    CHECK(values_met);
  });
}

TEST_CASE("a result read by a captured step keeps its storage, and one computed in it is not kept") {
  on_devices(214, DType::f64, [&](Draw& draw, Device device) {
    const SparseMatrix a = draw.sparse(12, 12, 40);
    const Tensor x = draw.normal({12, 3}), other = draw.normal({12, 3});
    nn::PropagationCache cache;
    for (int i = 0; i < 2; ++i) (void)cache.get(a, x, 1).value();
    const auto recorded = [&](const Tensor& input) {
      StepGraph graph;
      detail::Recorder recorder(device, nullptr, nullptr);  // on the CPU, as if capturing
      std::optional<detail::RecorderScope> scope;
      StepGraph::supported(device) ? graph.begin(device) : void(scope.emplace(&recorder));
      return cache.get(a, input, 1).value();  // the capture is abandoned
    };
    const Tensor read = recorded(x);
    for (int i = 0; i < 2; ++i) (void)cache.get(a, other, 1).value();
    CHECK_FALSE(read.is_unique());
    (void)recorded(x);
    const Tensor computed = recorded(x);
    CHECK_FALSE(computed.shares_storage_with(cache.get(a, x, 1).value()));
  });
}

TEST_CASE("a matrix of float32 propagates features of float64") {
  on_devices(213, DType::f64, [&](Draw& draw, Device) {
    const SparseMatrix drawn = draw.sparse(12, 12, 40);
    const SparseMatrix a = drawn.with_values(drawn.values().to(DType::f32));
    const Tensor x = draw.normal({12, 3});
    nn::PropagationCache cache;
    CHECK(close(cache.get(a, x, 2).value(), propagated(a, x, 2).data, 1e-12));
  });
}

TEST_CASE("layers keep the product of a constant input in the caller's cache, and none of another input") {
  on_devices(216, DType::f32, [](Draw& draw, Device device) {
    const Graph graph = draw.graph(300, 900);
    const Tensor x = draw.normal({300, 64});
    const auto check = [&](auto&& conv) {
      conv.to(device);
      const auto kept_by = [&](const nn::Sides& input) {
        Tensor y;
        const size_t before = memory_stats(device).current;
        for (int i = 0; i < 3; ++i) y = conv(graph, input).value();
        return std::pair(y, memory_stats(device).current - before - y.bytes());
      };
      (void)conv(graph, x);  // fills the graph's caches
      nn::PropagationCache cache;
      const auto [plain, none] = kept_by(x);
      const auto [cached, product] = kept_by(cache.constant(x));
      CAPTURE(conv.describe());
      CHECK(none < x.bytes());
      CHECK(product >= x.bytes());
      CHECK(close(cached, plain, 1e-5));
    };
    check(nn::Model<nn::GCNConv>(64, 64));
    check(nn::Model<nn::SGConv>(64, 64, nn::SGConvOptions{.K = 2}));
    check(nn::Model<nn::SAGEConv>(64, 64));
    check(nn::Model<nn::GraphConv>(64, 64));
    check(nn::Model<nn::GINConv<>>(nn::GINConvOptions{}, std::vector<int64_t>{64, 64}));
    check(nn::Model<nn::GINConv<>>(nn::GINConvOptions{.train_eps = true}, std::vector<int64_t>{64, 64}));
  });
}
