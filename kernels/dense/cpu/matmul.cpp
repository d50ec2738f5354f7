#include <adjoint/core/error.h>
#include <adjoint/kernels/dense/cpu/matmul.h>

#if ADJOINT_WITH_ONEDNN

#include <adjoint/core/parallel.h>

#include <map>
#include <tuple>

#include <dnnl.hpp>

namespace adj::kernels::cpu {

namespace {

/// All that a compiled product depends on. oneDNN settles the number of threads when it compiles.
using Key = std::tuple<int64_t, int64_t, int64_t, bool, bool, bool, Activation, int>;

/// A product compiled for its shape, with handles for its operands.
struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c;
};

/// Compiled products of one thread (a product owns scratch memory, so that two threads cannot share one).
class Products {
 public:
  Product& get(const Key& key) {
    if (const auto found = products_.find(key); found != products_.end()) return found->second;
    // Shapes recur from step to step; where they do not, as with sampled batches, oneDNN's own cache keeps
    // the code.
    if (products_.size() >= kCapacity) products_.clear();
    return products_.emplace(key, compile(key)).first->second;
  }
  dnnl::stream& stream() { return stream_; }

 private:
  static constexpr size_t kCapacity = 256;

  Product compile(const Key& key) const {
    const auto& [m, k, n, turned_a, turned_b, has_bias, activation, threads] = key;
    using dnnl::memory;
    constexpr auto kFloat = memory::data_type::f32;
    const memory::desc a({m, k}, kFloat, turned_a ? memory::dims{1, m} : memory::dims{k, 1});
    const memory::desc b({k, n}, kFloat, turned_b ? memory::dims{1, k} : memory::dims{n, 1});
    const memory::desc c({m, n}, kFloat, memory::dims{n, 1});
    const memory::desc bias({1, n}, kFloat, memory::dims{n, 1});
    dnnl::post_ops after;
    if (activation == Activation::relu) after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    const dnnl::matmul::desc description =
        has_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    return {dnnl::matmul({description, attributes, engine_}), memory(a, engine_, nullptr),
            memory(b, engine_, nullptr), memory(bias, engine_, nullptr), memory(c, engine_, nullptr)};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Key, Product> products_;
};

}  // namespace

bool has_matmul() { return true; }

void matmul(const Tensor& a, bool turned_a, const Tensor& b, bool turned_b, const Tensor& bias,
            Activation activation, Tensor& c) {
  thread_local Products products;
  try {
    const Key key{
        c.size(0),    a.size(turned_a ? 0 : 1), c.size(1), turned_a, turned_b, bool{bias}, activation,
        num_threads()};
    Product& product = products.get(key);
    product.a.set_data_handle(const_cast<float*>(a.data<float>()));
    product.b.set_data_handle(const_cast<float*>(b.data<float>()));
    product.c.set_data_handle(c.mutable_data<float>());
    if (bias) product.bias.set_data_handle(const_cast<float*>(bias.data<float>()));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.get()},
                                         {DNNL_ARG_WEIGHTS, product.b.get()},
                                         {DNNL_ARG_DST, product.c.get()},
                                         {DNNL_ARG_BIAS, product.bias.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(product.primitive.get(), products.stream().get(), bias ? 4 : 3, arguments),
        "could not execute");
  } catch (const dnnl::error& error) {
    fail("gemm: oneDNN, {} times {}: {}", a.str(), b.str(), error.what());
  }
}

}  // namespace adj::kernels::cpu

#else

namespace adj::kernels::cpu {

bool has_matmul() { return false; }

void matmul(const Tensor&, bool, const Tensor&, bool, const Tensor&, Activation, Tensor&) {
  fail("gemm: built without oneDNN");
}

}  // namespace adj::kernels::cpu

#endif
