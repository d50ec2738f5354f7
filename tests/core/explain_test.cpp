#include "../reference/plain.h"
#include <adjoint/autograd/attention.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/core/explain.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("the last choice of each subject is kept, in order of subjects, only while explaining") {
  explain("a", "unheard");
  CHECK_FALSE(explaining());
  CHECK(explanations().empty());
  set_explaining(true);
  explain("b", "by {}", "rule");
  explain("a", "slow");
  explain("b", "the fastest of {}", 3);
  CHECK(explanations() == std::vector<std::string>{"b: the fastest of 3", "a: slow"});
  set_explaining(true);
  CHECK(explanations().empty());
  set_explaining(false);
  explain("a", "unheard");
  CHECK(explanations().empty());
}

TEST_CASE("a sparse product explains its choice once per structure and width") {
  for (Device device : devices()) {
    Draw draw(7, device, DType::f32);
    const Graph graph = draw.graph(50, 300);
    const Tensor x = draw.normal({50, 12});
    set_explaining(true);
    for (int call = 0; call < 4; ++call) aggregate(graph.adjacency(), Var(x));
    const std::vector<std::string> messages = explanations();
    set_explaining(false);
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].starts_with("spmm of 50 x 50 with 300 entries, width 12 float32, " + device.str() +
                                  ": "));
    CHECK(messages[0].size() > 60);
  }
}

TEST_CASE("on a GPU attention and reductions over neighbours explain their choices by name") {
  for (Device device : devices()) {
    if (device.is_cpu()) continue;  // one method each
    Draw draw(8, device, DType::f32);
    const Graph graph = draw.graph(50, 300);
    const Var x = Var::parameter(draw.normal({50, 4, 8})), a = Var::parameter(draw.normal({4, 8}));
    const Var beta = Var::parameter(draw.normal({1})), attr = draw.normal({300, 3}), w = draw.normal({3, 32});
    const auto said_of = [&](auto f) {
      set_explaining(true);
      for (int call = 0; call < 3; ++call) sum(f()).backward();
      const std::vector<std::string> messages = explanations();
      set_explaining(false);
      return messages;
    };
    const auto says = [&](const std::vector<std::string>& messages, const std::string& op,
                          const std::string& choice, const std::string& sizes = "width 32 in 4 heads") {
      const std::string subject =
          op + " of 50 x 50 with 300 entries, " + sizes + " float32, " + device.str() + ": ";
      for (const std::string& line : messages)
        if (line.starts_with(subject)) return mentions(line, choice);
      MESSAGE("nothing is said of '" << subject << "'");
      return false;
    };
    const auto gat = said_of([&] { return gat_attention(graph, x, a, a, 0.2f); });
    CHECK(gat.size() == 2);
    CHECK(says(gat, "gat", "2 lanes per head, 1 x 4 features each, 4 heads side by side"));
    CHECK(says(gat, "gat_backward", ", source pass reads the features again (by rule)"));
    const auto gatv2 = said_of([&] { return gatv2_attention(graph, x, x, a, 0.2f); });
    CHECK(gatv2.size() == 2);
    CHECK(says(gatv2, "gatv2", "4 entries at a time, blocks of 128 threads (by rule)"));
    CHECK(says(gatv2, "gatv2_backward", ", source pass reads "));
    const auto dot = said_of([&] { return dot_attention(graph, x, x, x); });
    CHECK(says(dot, "dot_attention", "2 lanes per head"));
    CHECK(says(dot, "dot_attention_backward", ", source pass reads "));
    const auto cosine = said_of([&] { return cosine_attention(graph, reshape(x, {50, 32}), beta); });
    CHECK(says(cosine, "dot_attention", "8 lanes per head", "width 32"));
    const auto featured =
        said_of([&] { return gatv2_attention(graph, x, x, a, 0.2f, {.edge_attr = attr, .edge_weight = w}); });
    CHECK(says(featured, "gatv2", "then as gat's"));
    CHECK(says(featured, "gatv2_backward", "then as gat's"));
    CHECK(says(featured, "gat", "2 lanes per head"));
    const auto largest = said_of([&] {
      return aggregate(graph, reshape(x, {50, 32}), {.reduce = Reduce::max});
    });
    CHECK(says(largest, "neighbor_reduce to the largest", "lanes per row", "width 32"));
    CHECK(says(largest, "neighbor_minmax_backward", "lanes per row", "width 32"));
  }
}
