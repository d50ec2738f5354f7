#include "../reference/plain.h"
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/linear.h>
#include <adjoint/autograd/loss.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/data/generators.h>
#include <adjoint/optim/captured_step.h>
#include <adjoint/optim/optimizer.h>

// Common behaviour of all attentions: bfloat16, memory, dropout, training, errors.

using namespace adj;
using namespace adj::test;

namespace {

/// Every op, over one set of nodes, of x [N, H D].
using Attention = std::function<Var(const Relation&, const Var& x, const AttentionOptions& options)>;

struct NamedAttention {
  const char* name;
  Attention apply;
};

/// With parameters drawn for `heads` of `width` on `device`; edge weights too where `features` are given.
std::vector<NamedAttention> all_attentions(Draw& draw, int64_t heads, int64_t width, int64_t features,
                                           std::vector<Var>* parameters = nullptr) {
  const auto parameter = [&](Shape shape) {
    const Var p = Var::parameter(draw.normal(shape));
    if (parameters != nullptr) parameters->push_back(p);
    return p;
  };
  const Var source = parameter({heads, width}), target = parameter({heads, width}), beta = parameter({1});
  const Var by_head = features > 0 ? parameter({features, heads}) : Var(),
            by_feature = features > 0 ? parameter({features, heads * width}) : Var();
  const auto cube = [=](const Var& x) { return reshape(x, {x.size(0), heads, width}); };
  const auto matrix = [](const Var& o) { return reshape(o, {o.size(0), o.size(1) * o.size(2)}); };
  const auto with = [](AttentionOptions options, const Var& weight) {
    if (options.edge_attr) options.edge_weight = weight;
    return options;
  };
  std::vector<NamedAttention> all = {
      {"gat",
       [=](const Relation& a, const Var& x, const AttentionOptions& o) {
         return matrix(gat_attention(a, cube(x), source, target, 0.2f, with(o, by_head)));
       }},
      {"gatv2",
       [=](const Relation& a, const Var& x, const AttentionOptions& o) {
         return matrix(gatv2_attention(a, cube(x), cube(x), source, 0.2f, with(o, by_feature)));
       }},
      {"dot", [=](const Relation& a, const Var& x, const AttentionOptions& o) {
         return matrix(dot_attention(a, cube(x), cube(x), cube(x), with(o, by_feature)));
       }}};
  if (features == 0)
    all.push_back({"cosine", [=](const Relation& a, const Var& x, const AttentionOptions& o) {
                     return cosine_attention(a, x, beta, o);
                   }});
  return all;
}

}  // namespace

TEST_CASE("attentions in bfloat16 follow those in float32") {
  on_devices(95, DType::f32, [&](Draw& draw, Device device) {
    const Relation relation = draw.graph(40, 400);
    const Tensor x = draw.normal({40, 24}).to(DType::bf16), dy = draw.normal({40, 24}).to(DType::bf16);
    const Tensor attr = draw.normal({400, 2});
    for (int64_t features : {0, 2}) {
      std::vector<Tensor> gradients[2];
      for (DType dtype : {DType::f32, DType::bf16}) {
        Draw same(96, device, DType::f32);
        std::vector<Var> parameters;
        const auto attentions = all_attentions(same, 3, 8, features, &parameters);
        for (Var& p : parameters) p.set_value(p.value().to(DType::bf16).to(dtype));
        for (const Var& p : parameters) REQUIRE(p.dtype() == dtype);
        std::vector<Tensor>& found = gradients[dtype == DType::bf16];
        for (const NamedAttention& attention : attentions) {
          const Var input = Var::parameter(x.to(dtype));
          const Var y = attention.apply(relation, input, {.edge_attr = features > 0 ? Var(attr) : Var()});
          y.backward(dy.to(dtype));
          found.insert(found.end(), {y.value(), input.grad()});
          for (Var& p : parameters)
            if (p.grad()) found.push_back(p.grad().clone()), p.zero_grad();
        }
      }
      REQUIRE(gradients[0].size() == gradients[1].size());
      for (size_t k = 0; k < gradients[0].size(); ++k) {
        CAPTURES(features, k);
        CHECK(gradients[1][k].dtype() == DType::bf16);
        // ⟨dO, O⟩ with an O that was rounded is off by O's last bit, of which small gradients are made.
        CHECK(close_to_scale(gradients[1][k], gradients[0][k], 0x1p-4));
      }
    }
  });
}

TEST_CASE("attention allocates no tensor of edges x features, and saves none of edges x heads") {
  constexpr int64_t kNodes = 150, kEdges = 60'000, kManyHeads = 4, kManyWidth = 48;
  constexpr size_t kOfNodes = kNodes * kManyHeads * kManyWidth * sizeof(float),
                   kOfEdges = kEdges * kManyHeads * sizeof(float);
  constexpr size_t kForbidden = kEdges * kManyHeads * kManyWidth * sizeof(float);
  constexpr size_t kScratch = size_t{1} << 20;
  for (int64_t features : {0, 3})
    on_devices(97, DType::f32, [&](Draw& draw, Device device) {
      CAPTURE(features);
      const Graph graph = draw.graph(kNodes, kEdges);
      (void)graph.relation().transposed_order();
      const Var x = Var::parameter(draw.normal({kNodes, kManyHeads * kManyWidth}));
      const Tensor dy = draw.normal(x.shape());
      const Var attr = features > 0 ? Var::parameter(draw.normal({kEdges, features})) : Var();
      for (const NamedAttention& attention : all_attentions(draw, kManyHeads, kManyWidth, features)) {
        CAPTURE(attention.name);
        size_t kept = 0;
        const auto step = [&] {
          const size_t before = memory_stats(device).current;
          const Var y = attention.apply(graph.relation(), x, {.dropout = 0.3f, .edge_attr = attr});
          kept = memory_stats(device).current - before;
          y.backward(dy);
        };
        const size_t peak = peak_memory(device, [&] {
          step();
          if (attr) Var(attr).zero_grad();
        });
        // A few matrices over the nodes; on the CPU two terms of edges and heads; with edge features such
        // terms, and their gradients; on a GPU what parts of rows, 32 edges or more, leave of two gradients,
        // and a few terms of edges more.
        const size_t of_edges = (device.is_cuda() ? 0 : 2) * kOfEdges +
                                (features > 0 ? (device.is_cuda() ? 6 : 3) * kOfEdges : 0);
        const size_t of_parts = device.is_cuda() ? 2 * kForbidden / 32 : 0;
        CHECK(peak < 12 * kOfNodes + of_edges + of_parts + kScratch);
        CHECK(12 * kOfNodes + of_edges + of_parts + kScratch < kForbidden / 2);
        CHECK(kept < 3 * kOfNodes);
        CHECK(3 * kOfNodes < kOfEdges);
      }
    });
}

TEST_CASE("attentions draw dropout once per call, and none outside of training") {
  on_devices(98, DType::f32, [&](Draw& draw, Device) {
    const Relation relation = draw.graph(50, 600);
    const Var x = draw.normal({50, 12});
    for (const NamedAttention& attention : all_attentions(draw, 2, 6, 0)) {
      CAPTURE(attention.name);
      Generator one(7), other(7), third(8);
      const Tensor a = attention.apply(relation, x, {.dropout = 0.5f, .generator = &one}).value();
      CHECK(same_bits(attention.apply(relation, x, {.dropout = 0.5f, .generator = &other}).value(), a));
      CHECK(one.position() == 1);
      CHECK_FALSE(same_bits(attention.apply(relation, x, {.dropout = 0.5f, .generator = &one}).value(), a));
      CHECK_FALSE(same_bits(attention.apply(relation, x, {.dropout = 0.5f, .generator = &third}).value(), a));
      const Tensor plain_value = attention.apply(relation, x, {}).value();
      CHECK(same_bits(
          attention.apply(relation, x, {.dropout = 0.5f, .training = false, .generator = &third}).value(),
          plain_value));
      CHECK(third.position() == 1);
      manual_seed(7);
      CHECK(same_bits(attention.apply(relation, x, {.dropout = 0.5f}).value(), a));
    }
  });
}

TEST_CASE("attentions learn, eager and captured, with the same bits in every run") {
  const CitationOptions options{.nodes = 500, .classes = 4, .features = 100, .val = 50, .test = 100};
  for (Device device : devices()) {
    const Dataset data = make_citation_dataset(options).to(device);
    for (size_t which = 0; which < 4; ++which) {
      const auto train = [&](bool capture) {
        Draw draw(99, device, DType::f32);
        manual_seed(3);
        std::vector<Var> parameters;
        const NamedAttention attention = all_attentions(draw, 4, 4, 0, &parameters)[which];
        INFO(attention.name);
        const auto parameter = [&](int64_t rows, int64_t cols) {
          parameters.push_back(Var::parameter(draw.uniform({rows, cols}, -0.2, 0.2)));
          return parameters.back();
        };
        const Var w1 = parameter(100, 16), w2 = parameter(16, 4);
        optim::Adam adam(parameters, {.lr = 0.02f});
        optim::CapturedStep step(
            [&] {
              const Var hidden =
                  elu(attention.apply(data.graph.relation(), linear(data.x, w1), {.dropout = 0.2f}));
              const Var loss = cross_entropy(linear(hidden, w2), data.y, data.train);
              loss.backward();
              adam.step();
              return loss;
            },
            {.capture = capture});
        Numbers losses;
        for (int epoch = 0; epoch < 25; ++epoch) losses.push_back(step().item());
        return losses;
      };
      const Numbers eager = train(false);
      CHECK(eager.back() < 0.7 * eager.front());
      CHECK(train(false) == eager);
      CHECK(train(true) == eager);
    }
  }
}

TEST_CASE("attentions reject mismatched arguments, naming the op and the shapes") {
  const Relation relation =
      Relation::from_coo(4, 3, Tensor::from<int32_t>({0, 3}), Tensor::from<int32_t>({2, 1}));
  const Var src = Tensor::zeros({4, 2, 3}), dst = Tensor::zeros({3, 2, 3}), a = Tensor::zeros({2, 3});
  const Var attr = Tensor::zeros({2, 5}), weight = Tensor::zeros({5, 6});
  CHECK_ERROR_HAS(gat_attention(relation, src, a, a, 0.2f), "expected x_dst in addition to x");
  CHECK_ERROR_HAS(gat_attention(relation, dst, a, a, 0.2f, {}, dst),
                  "gat_attention: x is [3, 2, 3], expected [4, H, D]");
  CHECK_ERROR_HAS(gat_attention(relation, src, Tensor::zeros({3, 2}), a, 0.2f, {}, dst), "source is [3, 2]");
  CHECK_ERROR_HAS(gat_attention(relation, src, a, Var(), 0.2f, {}, dst), "target is absent");
  CHECK_ERROR_HAS(gat_attention(relation, src, a, a, 0.2f, {}, src), "x_dst is [4, 2, 3]");
  CHECK_ERROR_HAS(gat_attention(relation, src, a, a, 0.2f, {.edge_attr = attr}, dst),
                  "edge_attr without edge_weight");
  CHECK_ERROR_HAS(gat_attention(relation, src, a, a, 0.2f, {.edge_attr = attr, .edge_weight = weight}, dst),
                  "edge_weight is [5, 6] float32 on cpu, expected [5, 2]");
  CHECK_ERROR_HAS(gat_attention(relation, src, a, a, 0.2f, {.dropout = 1.0f}, dst), "1");
  CHECK_ERROR_HAS(gatv2_attention(relation, src, src, a, 0.2f), "gatv2_attention: x_dst is [4, 2, 3]");
  CHECK_ERROR_HAS(gatv2_attention(relation, dst, src, Tensor::zeros({6}), 0.2f), "att is [6]");
  CHECK_ERROR_HAS(gatv2_attention(relation, dst, src, a, 0.2f,
                                  {.edge_attr = Tensor::zeros({3, 5}), .edge_weight = weight}),
                  "edge_attr is [3, 5], expected [2, E]");
  CHECK_ERROR_HAS(dot_attention(relation, dst, src, Tensor::zeros({4, 2, 2})),
                  "dot_attention: v is [4, 2, 2]");
  CHECK_ERROR_HAS(dot_attention(relation, dst, Tensor::zeros({4, 2, 3}, DType::f64), src),
                  "k is [4, 2, 3] float64 on cpu, expected [4, 2, 3] float32");
  CHECK_ERROR_HAS(dot_attention(relation, Tensor::zeros({3, 0, 3}), src, src), "at least 1");
  CHECK_ERROR_HAS(cosine_attention(relation, Tensor::zeros({4, 2}), Tensor::zeros({1})),
                  "4 sources and 3 targets");
  const Relation square = Relation::from_coo(3, 3, Tensor::from<int32_t>({0}), Tensor::from<int32_t>({2}));
  CHECK_ERROR_HAS(cosine_attention(square, Tensor::zeros({4, 2}), Tensor::zeros({1})), "x is [4, 2]");
  CHECK_ERROR_HAS(cosine_attention(square, Tensor::zeros({3, 2}), Tensor::zeros({2})), "beta is [2]");
  CHECK_ERROR_HAS(head_dot(Tensor::zeros({3, 6}), a), "head_dot: x is [3, 6]");
}
