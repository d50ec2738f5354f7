#include <adjoint/data/loader/feature_store.h>

namespace adj {

namespace {

class RowsInMemory : public FeatureStore {
 public:
  explicit RowsInMemory(const Features& x) : x_(x.is_sparse() ? x.to(Device::cpu()) : x) {
    // Built here once, before workers use it.
    if (x_.is_sparse()) (void)x_.sparse().relation().csr();
  }
  int64_t rows() const override { return x_.rows(); }
  int64_t cols() const override { return x_.cols(); }
  bool is_sparse() const override { return x_.is_sparse(); }
  Device reads_nodes_on() const override { return x_.device(); }
  Features gather(const Tensor& nodes, Device device) const override {
    return x_.rows(nodes.to(x_.device())).to(device);
  }

 private:
  Features x_;
};

}  // namespace

std::shared_ptr<const FeatureStore> make_feature_store(const Features& x) {
  ADJ_CHECK(x, "feature store: no features");
  return std::make_shared<RowsInMemory>(x);
}

}  // namespace adj
