#include <adjoint/core/group.h>
#include <adjoint/core/pinned.h>
#include <adjoint/core/runtime.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Nodes are sorted by type on the CPU, then each type's rows gathered by its store.
class TypedStore : public FeatureStore {
 public:
  using Stores = std::vector<std::shared_ptr<const FeatureStore>>;

  TypedStore(const TypedFeatures& rows, Stores stores) : rows_(Features(rows)), stores_(std::move(stores)) {
    ADJ_CHECK(stores_.size() == rows.counts.size(), "feature store: {} stores for {} types of nodes",
              stores_.size(), rows.counts.size());
    for (size_t t = 0; t < stores_.size(); ++t)
      ADJ_CHECK(
          !stores_[t] || (stores_[t]->rows() == rows.counts[t] && !stores_[t]->is_sparse() && !rows.x[t]),
          "feature store: {}{} rows for type {} of nodes, expected {} dense ones, here alone",
          stores_[t]->rows(), stores_[t]->is_sparse() ? " sparse" : "", t, rows.counts[t]);
    if (rows_.cols() == 0) rows_ = rows_.to(Device::cpu());  // where the types are sorted
  }
  int64_t rows() const override { return rows_.rows(); }
  int64_t cols() const override {
    int64_t sum = rows_.cols();
    for (const auto& store : stores_) sum += store ? store->cols() : 0;
    return sum;
  }
  bool is_sparse() const override { return false; }
  Features gather(const Tensor& nodes, Device device) const override {
    TypedFeatures batch = rows_.rows(nodes.to(Device::cpu())).typed();
    for (size_t t = 0; t < stores_.size(); ++t) {
      if (!stores_[t]) continue;
      const int64_t first = batch.first_row(t);
      const Tensor numbers = batch.numbers.rows(first, first + batch.counts[t]);
      batch.x[t] = stores_[t]->gather(numbers.to(stores_[t]->reads_nodes_on()), device).dense();
    }
    return Features(std::move(batch)).to(device);
  }

 private:
  Features rows_;
  Stores stores_;
};

}  // namespace

std::shared_ptr<const FeatureStore> make_feature_store(const Features& x) {
  ADJ_CHECK(x, "feature store: no features");
  if (x.is_typed())
    return std::make_shared<TypedStore>(x.typed(), TypedStore::Stores(x.typed().counts.size()));
  return std::make_shared<RowsInMemory>(x);
}

std::shared_ptr<const FeatureStore> make_typed_store(
    const TypedFeatures& rows, std::vector<std::shared_ptr<const FeatureStore>> stores) {
  return std::make_shared<TypedStore>(rows, std::move(stores));
}

namespace {

/// The cached rows, int32, ascending.
Tensor rows_kept(const CachedRows& cached, int64_t rows) {
  ADJ_CHECK(cached.count >= 0 && cached.count <= rows, "feature store: {} of {} rows cached", cached.count,
            rows);
  if (cached.count == 0) return Tensor::empty({0}, DType::i32);
  const Tensor& hotness = cached.hotness;
  ADJ_CHECK(hotness && hotness.dims() == 1 && hotness.numel() == rows && hotness.dtype() == DType::f32,
            "feature store: hotness is {}, expected float32 [{}]", hotness.str(), rows);
  const std::vector<float> heat = hotness.to_vector<float>();
  const auto unordered = std::find_if(heat.begin(), heat.end(), [](float h) { return std::isnan(h); });
  ADJ_CHECK(unordered == heat.end(), "feature store: hotness[{}] is nan, expected a number",
            unordered - heat.begin());
  std::vector<int32_t> row(heat.size());
  std::iota(row.begin(), row.end(), 0);
  const auto hotter = [&](int32_t a, int32_t b) {
    const float x = heat[static_cast<size_t>(a)], y = heat[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::nth_element(row.begin(), row.begin() + (cached.count - 1), row.end(), hotter);
  row.resize(static_cast<size_t>(cached.count));
  std::sort(row.begin(), row.end());
  return Tensor::from(row);
}

/// int32 [rows]: position of a row in the cache, or -1 - row.
Tensor places_of(const Tensor& kept, int64_t rows) {
  Tensor places = Tensor::empty({rows}, DType::i32);
  int32_t* place = places.mutable_data<int32_t>();
  for (int64_t i = 0; i < rows; ++i) place[i] = static_cast<int32_t>(-1 - i);
  const int32_t* row = kept.data<int32_t>();
  for (int64_t k = 0; k < kept.numel(); ++k) place[row[k]] = static_cast<int32_t>(k);
  return places;
}

/// The matrix of rows: numbers, or packed bytes.
const Tensor& matrix_of(const Features& x) { return x.is_quantized() ? x.quantized().bytes : x.dense(); }

/// Features of the kind of x with another matrix.
Features with_matrix(const Features& x, const Tensor& matrix) {
  if (!x.is_quantized()) return Features(matrix);
  PackedRows packed = x.quantized();
  packed.bytes = matrix;
  return Features(packed);
}

class StoreOfDevice : public FeatureStore {
 public:
  explicit StoreOfDevice(Device device) : device_(device) {}
  bool is_sparse() const override { return false; }
  Features gather(const Tensor& nodes, Device device) const override {
    ADJ_CHECK(device == device_, "feature store: rows for {} are requested on {}", device_.str(),
              device.str());
    ADJ_CHECK(nodes && nodes.dims() == 1 && nodes.dtype() == DType::i32,
              "feature store: nodes are {}, expected int32 [K]", nodes.str());
    if (nodes.device().is_cpu()) {
      const int32_t* node = nodes.data<int32_t>();
      for (int64_t k = 0; k < nodes.numel(); ++k)
        ADJ_CHECK(node[k] >= 0 && node[k] < rows(), "feature store: node {} at position {}, expected 0 to {}",
                  node[k], k, rows() - 1);
    }
    return gathered(nodes);
  }

 protected:
  virtual Features gathered(const Tensor& nodes) const = 0;

  Device device_;
};

class CachedStore : public StoreOfDevice {
 public:
  using StoreOfDevice::StoreOfDevice;

 protected:
  Tensor joined(kernels::RowsInPlace others, const Tensor& places) const {
    Tensor x = Tensor::empty({places.numel(), hot_.size(1)}, hot_.dtype(), device_);
    kernels::gather_cached({.hot = hot_, .cold = others, .at = places, .y = x});
    return x;
  }

  Tensor hot_;     // [C, F] on the device
  Tensor places_;  // int32 [N], on the device that looks them up
};

class PinnedStore : public CachedStore {
 public:
  PinnedStore(const Features& x, Device device, const CachedRows& cached)
      : CachedStore(device),
        kept_(x.rows(rows_kept(cached, x.rows())).to(device)),
        all_(matrix_of(x), device) {
    hot_ = matrix_of(kept_);
    places_ = places_of(rows_kept(cached, x.rows()), x.rows()).to(device);
  }
  int64_t rows() const override { return all_.rows(); }
  int64_t cols() const override { return kept_.cols(); }
  Device reads_nodes_on() const override { return device_; }

 private:
  Features gathered(const Tensor& nodes) const override {
    Tensor places = Tensor::empty({nodes.numel()}, DType::i32, device_);
    kernels::permute({.x = places_, .order = nodes.to(device_), .y = places});
    return with_matrix(kept_, joined({all_.data(), all_.rows(), /*on_host=*/true}, places));
  }

  Features kept_;
  PinnedRows all_;
};

class FileStore : public CachedStore {
 public:
  FileStore(FileRows x, Device device, const CachedRows& cached) : CachedStore(device), file_(std::move(x)) {
    const Tensor kept = rows_kept(cached, file_.rows());
    hot_ = file_.gather(kept).to(device);
    places_ = places_of(kept, file_.rows());
  }
  int64_t rows() const override { return file_.rows(); }
  int64_t cols() const override { return file_.cols(); }

 private:
  // Each uncached row is read once, in file order.
  Features gathered(const Tensor& nodes) const override {
    const std::vector<int32_t> wanted = nodes.to_vector<int32_t>();
    const int32_t* place = places_.data<int32_t>();
    std::vector<int32_t> places(wanted.size()), missing;
    for (size_t k = 0; k < wanted.size(); ++k) {
      places[k] = place[wanted[k]];
      if (places[k] < 0) missing.push_back(wanted[k]);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    for (int32_t& row : places)
      if (row < 0)
        row = static_cast<int32_t>(
            -1 - (std::lower_bound(missing.begin(), missing.end(), -1 - row) - missing.begin()));
    const Tensor read = file_.gather(Tensor::from(missing)).to(device_);
    return Features(joined({read.raw_data(), read.size(0)}, Tensor::from(places, device_)));
  }

  FileRows file_;
};

class SplitStore : public StoreOfDevice {
 public:
  SplitStore(const Features& rows, const Group& group)
      : StoreOfDevice(group.device()), local_(rows.to(device_)), parts_(group.share(matrix_of(local_))) {
    for (const Tensor& part : parts_) {
      ADJ_CHECK(part.device() == device_ || runtime(device_).open_peer(part.device()),
                "split features: {} cannot read the memory of {} in place, expected GPUs with peer access "
                "(NVLink, for one), or features in the host's memory (--features host)",
                device_.str(), part.device().str());
      rows_ += part.size(0);
    }
  }
  /// The ranks' memory may be written again when nobody has a store: then all have read it.
  ~SplitStore() override {
    try {
      synchronize(device_);
    } catch (const std::exception&) {  // a broken device reads no more, and the next call says so
    }
  }
  int64_t rows() const override { return rows_; }
  int64_t cols() const override { return local_.cols(); }
  Device reads_nodes_on() const override { return device_; }

 private:
  Features gathered(const Tensor& nodes) const override {
    Tensor rows = Tensor::empty({nodes.numel(), parts_[0].size(1)}, parts_[0].dtype(), device_);
    kernels::gather_parts({.parts = parts_, .index = nodes.to(device_), .y = rows});
    return with_matrix(local_, rows);
  }

  Features local_;
  std::vector<Tensor> parts_;  // by rank
  int64_t rows_ = 0;
};

}  // namespace

std::shared_ptr<const FeatureStore> make_pinned_store(const Features& x, Device device,
                                                      const CachedRows& cached) {
  return std::make_shared<PinnedStore>(x.to(Device::cpu()), device, cached);
}

std::shared_ptr<const FeatureStore> make_pinned_store(const Tensor& x, Device device,
                                                      const CachedRows& cached) {
  return make_pinned_store(Features(x), device, cached);
}

std::shared_ptr<const FeatureStore> make_file_store(FileRows x, Device device, const CachedRows& cached) {
  return std::make_shared<FileStore>(std::move(x), device, cached);
}

std::shared_ptr<const FeatureStore> make_split_store(const Features& rows, const Group& group) {
  ADJ_CHECK(rows && !rows.is_sparse(), "split features: they are {}, expected dense or quantised ones",
            rows ? "sparse" : "absent");
  return std::make_shared<SplitStore>(rows, group);
}

}  // namespace adj
