#include <adjoint/core/parallel.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/kernels/norm/norm.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace adj {

namespace {

constexpr int64_t kMostDense = int64_t{1} << 30;    // maximum size of densified sparse features
constexpr int64_t kMostUnasked = int64_t{1} << 26;  // the same, of the default choice

/// Running mean and sum of squared deviations per column (Chan, Golub & LeVeque 1979).
class Moments {
 public:
  explicit Moments(int64_t width)
      : mean_(static_cast<size_t>(width), 0.0), squares_(static_cast<size_t>(width), 0.0) {}

  void add(const Tensor& x) {
    constexpr int64_t kColumns = 16;  // columns per thread; each column is summed in row order
    const int64_t rows = x.size(0), width = x.size(1);
    const float* values = x.data<float>();
    const auto before = static_cast<double>(rows_), more = static_cast<double>(rows);
    parallel_for(width, kColumns, [&](int64_t begin, int64_t end) {
      double sum[kColumns] = {}, squares[kColumns] = {}, mean[kColumns];
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = begin; k < end; ++k) sum[k - begin] += static_cast<double>(values[i * width + k]);
      for (int64_t k = begin; k < end; ++k) mean[k - begin] = sum[k - begin] / more;
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t k = begin; k < end; ++k) {
          const double distance = static_cast<double>(values[i * width + k]) - mean[k - begin];
          squares[k - begin] += distance * distance;
        }
      for (int64_t k = begin; k < end; ++k) {
        double &all_mean = mean_[static_cast<size_t>(k)], &all_squares = squares_[static_cast<size_t>(k)];
        const double apart = mean[k - begin] - all_mean;
        all_mean += apart * more / (before + more);
        all_squares += squares[k - begin] + apart * apart * before * more / (before + more);
      }
    });
    rows_ += rows;
  }

  FeatureScaling scaling() const {
    ADJ_CHECK(rows_ > 0, "feature scaling: no rows, expected some to fit to");
    std::vector<float> mean, deviation;
    for (size_t k = 0; k < mean_.size(); ++k) {
      mean.push_back(static_cast<float>(mean_[k]));
      const auto spread = static_cast<float>(std::sqrt(squares_[k] / static_cast<double>(rows_)));
      deviation.push_back(spread == 0.0f ? 1.0f : spread);
    }
    return FeatureScaling::standard(Tensor::from(mean), Tensor::from(deviation));
  }

 private:
  std::vector<double> mean_, squares_;
  int64_t rows_ = 0;
};

/// `rows(index)` returns dense rows.
FeatureScaling fitted(int64_t width, const Tensor& train, int64_t all,
                      const std::function<Tensor(const Tensor&)>& rows) {
  constexpr int64_t kBlock = int64_t{1} << 20;  // numbers per block
  const int64_t step = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, width));
  const int64_t count = train ? train.numel() : all;
  Moments moments(width);
  for (int64_t first = 0; first < count; first += step) {
    const int64_t block_rows = std::min(step, count - first);
    std::vector<int32_t> index(static_cast<size_t>(block_rows));
    for (int64_t k = 0; k < block_rows; ++k)
      index[static_cast<size_t>(k)] =
          train ? train.data<int32_t>()[first + k] : static_cast<int32_t>(first + k);
    moments.add(rows(Tensor::from(index)));
  }
  return moments.scaling();
}

/// (x - mean) / deviation.
Tensor standardized(const Tensor& x, const Tensor& mean, const Tensor& deviation) {
  ADJ_CHECK(x.size(1) == mean.numel(), "feature scaling: {} columns, expected {}", x.size(1), mean.numel());
  std::vector<float> inverse = deviation.to_vector<float>();
  for (float& value : inverse) value = 1.0f / value;
  const Device device = x.device();
  Tensor result = Tensor::empty_like(x);
  kernels::batch_norm_apply({.x = x,
                             .mean = mean.to(device),
                             .rstd = Tensor::from(inverse, device),
                             .gamma = Tensor::full({x.size(1)}, 1.0, x.dtype(), device),
                             .beta = Tensor::zeros({x.size(1)}, x.dtype(), device),
                             .y = result});
  return result;
}

void check_dense_size(const Features& x) {
  ADJ_CHECK(
      !x.is_sparse() || x.cols() == 0 || x.rows() <= kMostDense / x.cols(),
      "feature scaling: standardising makes sparse features [{}, {}] dense, expected {} numbers at most",
      x.rows(), x.cols(), kMostDense);
}

}  // namespace

FeatureScaling FeatureScaling::rows() {
  FeatureScaling scaling;
  scaling.kind_ = Kind::rows;
  return scaling;
}

FeatureScaling FeatureScaling::standard(const Tensor& mean, const Tensor& deviation, Kind kind) {
  ADJ_CHECK(kind == Kind::standard || kind == Kind::real, "feature scaling: {} has no mean", name_of(kind));
  for (const Tensor* of_columns : {&mean, &deviation})
    ADJ_CHECK(*of_columns && of_columns->dims() == 1 && of_columns->dtype() == DType::f32 &&
                  of_columns->numel() == mean.numel(),
              "feature scaling: mean {} and deviation {}, expected float32 [F]", mean.str(), deviation.str());
  const std::vector<float> means = mean.to_vector<float>(), deviations = deviation.to_vector<float>();
  for (size_t k = 0; k < means.size(); ++k)
    ADJ_CHECK(std::isfinite(means[k]) && std::isfinite(deviations[k]) && deviations[k] > 0.0f,
              "feature scaling: column {} has mean {} and deviation {}, expected finite numbers", k, means[k],
              deviations[k]);
  FeatureScaling scaling;
  scaling.kind_ = kind;
  scaling.mean_ = mean.to(Device::cpu());
  scaling.deviation_ = deviation.to(Device::cpu());
  return scaling;
}

FeatureScaling FeatureScaling::fit(Kind kind, const Features& x, const Tensor& train) {
  if (kind == Kind::none || kind == Kind::rows) return kind == Kind::rows ? rows() : FeatureScaling();
  check_dense_size(x);
  const Features host = x.to(Device::cpu());
  const FeatureScaling all = fitted(x.cols(), train, x.rows(), [&](const Tensor& index) {
    return host.rows(index).to_dense().to(DType::f32);
  });
  return kind == Kind::real ? all.restricted(summary_of(host).real_columns) : all;
}

FeatureScaling FeatureScaling::fit(Kind kind, const FileRows& x, const Tensor& train) {
  if (kind == Kind::none || kind == Kind::rows) return kind == Kind::rows ? rows() : FeatureScaling();
  const FeatureScaling all =
      fitted(x.cols(), train, x.rows(), [&](const Tensor& index) { return x.gather(index); });
  return kind == Kind::real ? all.restricted(summary_of(x).real_columns) : all;
}

FeatureScaling FeatureScaling::restricted(std::span<const int32_t> columns) const {
  ADJ_CHECK(kind_ == Kind::standard, "feature scaling: restricted {}, expected standard", name_of(kind_));
  const int64_t width = mean_.numel();
  Tensor mean = Tensor::zeros({width}), deviation = Tensor::full({width}, 1.0);
  for (const int32_t k : columns) {
    ADJ_CHECK(k >= 0 && k < width, "feature scaling: column {} of {}", k, width);
    mean.mutable_data<float>()[k] = mean_.data<float>()[k];
    deviation.mutable_data<float>()[k] = deviation_.data<float>()[k];
  }
  return standard(mean, deviation, Kind::real);
}

FeatureScaling::Kind FeatureScaling::automatic(const FeatureSummary& x, const FeatureEncoder& encoder) {
  if (x.is_bag_of_words()) return Kind::rows;
  const bool large = x.sparse && x.columns > 0 && x.rows > kMostUnasked / x.columns;
  return large || real_columns(x, encoder).empty() ? Kind::none : Kind::real;
}

std::vector<int32_t> real_columns(const FeatureSummary& x, const FeatureEncoder& encoder) {
  if (encoder.empty()) return x.real_columns;
  ADJ_CHECK(encoder.width() == x.columns, "feature scaling: an encoder of {} columns for {}", encoder.width(),
            x.columns);
  using enum ColumnType;
  std::vector<bool> measured;
  for (const ColumnEncoder& column : encoder.columns)
    measured.insert(
        measured.end(), static_cast<size_t>(column.width()),
        column.type == number || column.type == ordinal || column.type == date || column.type == vector);
  std::vector<int32_t> columns;
  for (const int32_t k : x.real_columns)
    if (measured[static_cast<size_t>(k)]) columns.push_back(k);
  return columns;
}

Features FeatureScaling::apply(const Features& x) const {
  if (kind_ == Kind::none) return x;
  if (kind_ == Kind::rows) return x.row_normalized();
  ADJ_CHECK(!x.is_quantized(),
            "feature scaling: {} on quantised features, expected scaling before quantisation",
            name_of(kind_));
  check_dense_size(x);
  return Features(standardized(x.to_dense(), mean_, deviation_));
}

FileRows FeatureScaling::apply(const FileRows& x) const {
  if (kind_ == Kind::none) return x;
  if (kind_ == Kind::rows) return x.row_normalized();
  return x.mapped([mean = mean_, deviation = deviation_](const Tensor& rows) {
    return standardized(rows, mean, deviation);
  });
}

}  // namespace adj
