#include "../reference/plain.h"
#include <adjoint/autograd/spmm.h>
#include <adjoint/core/explain.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("choices are kept in the order of their subjects, the last one of each, and only while asked for") {
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

TEST_CASE("a sparse product says for which structure and width it chose what, once") {
  for (Device device : devices()) {
    CAPTURE(device.str());
    Draw draw(7, device, DType::f32);
    const Graph graph = draw.graph(50, 300);
    const Tensor x = draw.normal({50, 12});
    set_explaining(true);
    for (int call = 0; call < 4; ++call) spmm(graph.adjacency(), Var(x));
    const std::vector<std::string> said = explanations();
    set_explaining(false);
    REQUIRE(said.size() == 1);
    CHECK(said[0].starts_with("spmm of 50 x 50 with 300 entries, width 12 float32, " + device.str() + ": "));
    CHECK(said[0].size() > 60);
  }
}
