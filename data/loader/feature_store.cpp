#include <adjoint/data/loader/feature_store.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather_cached.h>

#include <algorithm>
#include <numeric>

namespace adj {

namespace {

/// The `count` rows with the largest hotness, int32, ties to the smaller row.
Tensor hottest(int64_t count, const Tensor& hotness, int64_t rows) {
  ADJ_CHECK(count >= 0 && count <= rows, "feature store: {} of {} rows cached", count, rows);
  if (count == 0) return Tensor::empty({0}, DType::i32);
  ADJ_CHECK(hotness && hotness.dims() == 1 && hotness.numel() == rows && hotness.dtype() == DType::f32,
            "feature store: hotness is {}, expected float32 [{}]", hotness.str(), rows);
  const std::vector<float> heat = hotness.to_vector<float>();
  std::vector<int32_t> row(heat.size());
  std::iota(row.begin(), row.end(), 0);
  const auto hotter = [&](int32_t a, int32_t b) {
    const float x = heat[static_cast<size_t>(a)], y = heat[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::nth_element(row.begin(), row.begin() + (count - 1), row.end(), hotter);
  row.resize(static_cast<size_t>(count));
  std::sort(row.begin(), row.end());
  return Tensor::from(row);
}

/// int32 [rows]: where `kept` has a row, or else -1 - row.
Tensor places_of(const Tensor& kept, int64_t rows) {
  Tensor places = Tensor::empty({rows}, DType::i32);
  int32_t* place = places.mutable_data<int32_t>();
  for (int64_t i = 0; i < rows; ++i) place[i] = static_cast<int32_t>(-1 - i);
  const int32_t* row = kept.data<int32_t>();
  for (int64_t k = 0; k < kept.numel(); ++k) place[row[k]] = static_cast<int32_t>(k);
  return places;
}

void check_nodes(const Tensor& nodes, Device device) {
  ADJ_CHECK(nodes && nodes.dims() == 1 && nodes.dtype() == DType::i32 && nodes.device() == device,
            "feature store: nodes are {}, expected int32 [K] on {}", nodes.str(), device.str());
}

}  // namespace

FeatureStore::FeatureStore(const Features& x, Device device, FeaturePlace place, int64_t cached,
                           const Tensor& hotness)
    : device_(device), place_(place), rows_(x.rows()), cols_(x.cols()) {
  ADJ_CHECK(place != FeaturePlace::file,
            "feature store: features in memory, expected those of a file (FileRows)");
  if (x.is_sparse()) {
    all_ = x.to(Device::cpu());
    return;
  }
  if (place == FeaturePlace::device || device.is_cpu()) {
    all_ = x.to(device);
    return;
  }
  const Tensor host = x.dense().to(Device::cpu());
  pinned_ = PinnedRows(host, device);
  const Tensor kept = hottest(cached, hotness, rows_);
  hot_ = Features(host).rows(kept).dense().to(device);
  places_ = places_of(kept, rows_).to(device);
}

FeatureStore::FeatureStore(FileRows x, Device device, int64_t cached, const Tensor& hotness)
    : device_(device), place_(FeaturePlace::file), rows_(x.rows()), cols_(x.cols()), file_(std::move(x)) {
  const Tensor kept = hottest(cached, hotness, rows_);
  hot_ = file_.gather(kept).to(device);
  places_ = places_of(kept, rows_);
}

Features FeatureStore::gather(const Tensor& nodes) const {
  check_nodes(nodes, device_);
  if (place_ == FeaturePlace::file) return from_file(nodes);
  if (all_) return all_.is_sparse() ? all_.rows(nodes.to(Device::cpu())).to(device_) : all_.rows(nodes);
  Tensor at = Tensor::empty({nodes.numel()}, DType::i32, device_);
  kernels::permute({.x = places_, .order = nodes, .y = at});
  Tensor x = Tensor::empty({nodes.numel(), cols_}, hot_.dtype(), device_);
  kernels::gather_cached({.hot = hot_, .cold = {pinned_.data(), pinned_.rows()}, .at = at, .y = x});
  return Features(x);
}

// The rows that are not kept are read one after the other, each once, in the file's order.
Features FeatureStore::from_file(const Tensor& nodes) const {
  const std::vector<int32_t> wanted = nodes.to_vector<int32_t>();
  const int32_t* place = places_.data<int32_t>();
  std::vector<int32_t> at(wanted.size()), missing;
  for (size_t k = 0; k < wanted.size(); ++k) {
    ADJ_CHECK(wanted[k] >= 0 && wanted[k] < rows_, "feature store: node {} at position {}, expected 0 to {}",
              wanted[k], k, rows_ - 1);
    at[k] = place[wanted[k]];
    if (at[k] < 0) missing.push_back(wanted[k]);
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  for (int32_t& row : at)
    if (row < 0)
      row = static_cast<int32_t>(
          -1 - (std::lower_bound(missing.begin(), missing.end(), -1 - row) - missing.begin()));
  const Tensor read = file_.gather(Tensor::from(missing)).to(device_);
  Tensor x = Tensor::empty({nodes.numel(), cols_}, DType::f32, device_);
  kernels::gather_cached(
      {.hot = hot_, .cold = {read.raw_data(), read.size(0)}, .at = Tensor::from(at, device_), .y = x});
  return Features(x);
}

}  // namespace adj
