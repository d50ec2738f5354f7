#include "../reference/plain.h"
#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/dropout.h>
#include <adjoint/autograd/linear.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("activate_dropout equals the two separate ops, and has its gradients") {
  for (Activation activation :
       {Activation::none, Activation::relu, Activation::leaky_relu, Activation::elu, Activation::gelu})
    on_devices(91, DType::f64, [&](Draw& draw, Device) {
      CAPTURE(name_of(activation));
      const Tensor x = draw.normal({7, 5});
      check({x}, [&](const auto& v) {
        Generator generator(3);
        return activate_dropout(activation, v[0], 0.4f, true, generator, 0.2f);
      });
      Generator once(5), twice(5);
      for (DType dtype : {DType::f32, DType::f64}) {
        const Var input = x.to(dtype), apart = dropout(activate(activation, input, 0.2f), 0.4f, true, twice);
        CHECK(same_bits(activate_dropout(activation, input, 0.4f, true, once, 0.2f).value(), apart.value()));
      }
      CHECK(once.next().stream == twice.next().stream);
      for (const bool training : {true, false}) {  // nothing is dropped, and nothing drawn
        const Var kept = activate_dropout(activation, x, training ? 0.0f : 0.4f, training, once, 0.2f);
        CHECK(same_bits(kept.value(), activate(activation, x, 0.2f).value()));
      }
      CHECK(once.next().stream == twice.next().stream);
      CHECK_THROWS_AS(activate_dropout(activation, x, 1.0f), Error);
    });
}

TEST_CASE("dropout takes one random stream per call, and none if it does nothing") {
  Generator generator(5);
  const Var x = Tensor::full({100}, 1.0);
  const Tensor first = dropout(x, 0.5f, true, generator).value(),
               second = dropout(x, 0.5f, true, generator).value();
  CHECK(generator.position() == 2);
  CHECK_FALSE(same_bits(first, second));
  CHECK(dropout(x, 0.0f, true, generator).value().shares_storage_with(x.value()));
  CHECK(dropout(x, 0.5f, false, generator).value().shares_storage_with(x.value()));
  CHECK(generator.position() == 2);
  generator.set_state(5, 1);
  CHECK(same_bits(dropout(x, 0.5f, true, generator).value(), second));
}

TEST_CASE("dropout of sparse features drops stored values and keeps the structure") {
  for (bool has_values : {true, false})
    on_devices(91, DType::f32, [&](Draw& draw, Device) {
      CAPTURE(has_values);
      const SparseMatrix s = draw.sparse(50, 40, 1000, has_values);
      Generator generator(6);
      const Features y = dropout(Features(s), 0.25f, true, generator);
      REQUIRE(y.is_sparse());
      CHECK(y.sparse().relation() == s.relation());
      const auto before = has_values ? values(s.values()) : Numbers(1000, 1.0);
      const auto after = values(y.sparse().values());
      int kept = 0;
      for (size_t e = 0; e < 1000; ++e) {
        if (after[e] == 0.0) continue;
        CHECK(after[e] == doctest::Approx(before[e] / 0.75).epsilon(1e-5));
        ++kept;
      }
      CHECK(kept > 680);
      CHECK(kept < 820);
    });
}

TEST_CASE("the gradient after sparse dropout uses the values that were kept") {
  on_devices(92, DType::f64, [&](Draw& draw, Device) {
    const SparseMatrix drawn = draw.sparse(9, 6, 30);
    SparseMatrix s = drawn.with_values(drawn.values().to(DType::f32));
    s.keep_adjoint();
    check({draw.normal({6, 3})}, [&](const auto& v) {
      Generator generator(8);
      return linear(dropout(Features(s), 0.5f, true, generator), v[0]);
    });
  });
}

TEST_CASE("dropout refuses a probability out of range") {
  for (float p : {-0.1f, 1.0f, 1.5f}) CHECK_THROWS_AS(dropout(Tensor::zeros({2}), p), Error);
}
