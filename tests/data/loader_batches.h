#pragma once

#include "../support.h"
#include <adjoint/adjoint.h>

#include <functional>
#include <numeric>
#include <vector>

namespace adj::test {

template <class Loader>
auto batches(const Loader& loader, int64_t epoch) {
  std::vector<decltype(loader.batch(0, 0))> all;
  for (const auto& batch : loader.epoch(epoch)) all.push_back(batch);
  return all;
}

/// Epoch 3 of the loaders that make(workers) makes. Checks that it is the same (by `same`) for all workers
/// and threads, also after other epochs.
template <class Make, class Same>
auto epoch_of_any_workers(Make&& make, Same&& same) {
  const auto loader = make(0);
  auto expected = batches(loader, 3);
  for (int threads : {1, 3}) {
    const Threads scope(threads);
    for (int workers : {0, 1, 3}) {
      const auto other = make(workers);
      CHECK(same(batches(other, 3), expected));
      CHECK_FALSE(same(batches(other, 2), expected));
      CHECK(same(batches(other, 3), expected));
    }
  }
  using Batches = decltype(expected);
  CHECK(same(Batches{loader.batch(3, 2)}, Batches{expected[2]}));
  return expected;
}

/// int64 numbers of nodes, graphs or others.
inline Tensor ids(const std::vector<int64_t>& numbers) { return Tensor::from(numbers); }
/// int32 0 to n - 1.
inline Tensor every(int64_t n, Device device = {}) {
  std::vector<int32_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return Tensor::from(all, device);
}
/// The numbers of all batches' tensor `part`, in order.
template <class Batch>
std::vector<int32_t> numbers_of(const std::vector<Batch>& all, Tensor Batch::*part) {
  std::vector<int32_t> numbers;
  for (const Batch& batch : all)
    for (const int32_t i : (batch.*part).template to_vector<int32_t>()) numbers.push_back(i);
  return numbers;
}

inline bool same_blocks(const std::vector<Block>& a, const std::vector<Block>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Block& p, const Block& q) {
    const Csr &s = p.relation().csr(), &t = q.relation().csr();
    return same_bits(s.offsets, t.offsets) && same_bits(s.indices, t.indices) &&
           same_bits(p.src_nodes(), q.src_nodes()) && same_bits(p.edge_ids(), q.edge_ids());
  });
}

/// A source of `columns` zeros for each node that fails for the node `bad`, or gives a row too few for -1.
struct BadStore : FeatureStore {
  BadStore(int64_t nodes, int64_t columns, int32_t bad) : nodes_(nodes), columns_(columns), bad_(bad) {}
  int64_t rows() const override { return nodes_; }
  int64_t cols() const override { return columns_; }
  bool is_sparse() const override { return false; }
  Features gather(const Tensor& nodes, Device device) const override {
    for (const int32_t i : nodes.to_vector<int32_t>())
      if (i == bad_) fail("no features of node {}", bad_);
    return Features(Tensor::zeros({nodes.numel() - (bad_ < 0), columns_}, DType::f32, device));
  }

 private:
  int64_t nodes_, columns_;
  int32_t bad_;
};

/// The gradients of a model's parameters, which become 0.
template <class Model>
std::vector<Tensor> take_gradients(Model& model) {
  std::vector<Tensor> taken;
  for (const Var& parameter : model.parameters()) taken.push_back(parameter.grad().clone());
  model.zero_grad();
  return taken;
}
template <class Model>
void check_gradients_are(Model& model, const std::vector<Tensor>& expected, double tolerance) {
  const std::vector<Var> parameters = model.parameters();
  for (size_t p = 0; p < parameters.size(); ++p)
    CHECK(close_to_scale(parameters[p].grad(), expected[p], tolerance));
}

inline bool refused(const std::function<void()>& what, const std::string& part) {
  return mentions(error_of(what), part);
}
/// Checks what every loader refuses: make(change) makes one with changed LoaderOptions, valid ones otherwise.
template <class Make>
void check_options_refused(Make&& make, const std::string& batch_size = "batch size of -1") {
  const auto bad = [&](const std::function<void(LoaderOptions&)>& change) {
    return error_of([&] { (void)make(change); });
  };
  CHECK(mentions(bad([](LoaderOptions& o) { o.batch_size = -1; }), batch_size));
  CHECK(mentions(bad([](LoaderOptions& o) { o.workers = -1; }), "-1 workers"));
  CHECK(mentions(bad([](LoaderOptions& o) { o.depth = -1; }), "depth of -1"));
  const auto loader = make([](LoaderOptions&) {});
  CHECK(mentions(error_of([&] { (void)loader.epoch(-1); }), "epoch -1"));
  CHECK(mentions(error_of([&] { (void)loader.batch(-1, 0); }), "epoch -1"));
  CHECK(mentions(error_of([&] { (void)loader.batch(0, loader.size()); }),
                 fmt::format("batch {}", loader.size())));
}

}  // namespace adj::test
