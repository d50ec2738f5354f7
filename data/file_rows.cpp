#include <adjoint/data/file_rows.h>
#include <adjoint/kernels/norm/norm.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace adj {

FileRows FileRows::open(const std::string& file, const std::string& dataset) {
  FileRows rows;
  rows.file_ = H5Reader::open(file, {dataset});
  rows.dataset_ = dataset;
  const H5Reader& reader = *rows.file_;
  reader.expect_floats(dataset, {-1, -1});
  if (reader.dtype(dataset) != DType::f32 || !reader.has_plain_rows(dataset))
    reader.fail(dataset,
                "{}, expected float32 that is neither compressed nor chunked: only such rows can be "
                "read one by one",
                reader.dtype(dataset) != DType::f32
                    ? std::string(name_of(reader.dtype(dataset)))
                    : "compressed, chunked, or of another width or byte order");
  rows.rows_ = reader.shape(dataset)[0];
  rows.cols_ = reader.shape(dataset)[1];
  reader.for_blocks(dataset, [&](int64_t first, int64_t count) {
    std::vector<float> block(static_cast<size_t>(count * rows.cols_));
    reader.rows(dataset, first, count, block.data());
    for (size_t k = 0; k < block.size(); ++k)
      if (!std::isfinite(block[k])) [[unlikely]] {
        const auto position = static_cast<int64_t>(k);
        reader.fail(dataset, "{} at [{}, {}], expected finite numbers", block[k],
                    first + position / rows.cols_, position % rows.cols_);
      }
  });
  return rows;
}

bool FileRows::can_open(const std::string& file, const std::string& dataset) {
  try {
    const H5Reader reader = H5Reader::open(file, {dataset});
    reader.expect_floats(dataset, {-1, -1});
    return reader.dtype(dataset) == DType::f32 && reader.has_plain_rows(dataset);
  } catch (const DataError&) {
    return false;
  }
}

FileRows FileRows::row_normalized() const {
  return mapped([](const Tensor& rows) {
    Tensor normalized = rows;  // in-place
    kernels::sum_normalize_rows({.x = rows, .y = normalized});
    return normalized;
  });
}

FileRows FileRows::mapped(std::function<Tensor(const Tensor&)> change) const {
  FileRows changed = *this;
  changed.change_ =
      change_ ? [first = change_, then = std::move(change)](const Tensor& rows) { return then(first(rows)); }
              : std::move(change);
  return changed;
}

std::string FileRows::str() const {
  return file_ ? fmt::format("{}: {}", file_->file(), dataset_) : "no file";
}

Tensor FileRows::gather(const Tensor& index) const {
  ADJ_CHECK(file_, "file_rows: no file was opened");
  ADJ_CHECK(index && index.dims() == 1 && index.dtype() == DType::i32 && !index.is_cuda(),
            "file_rows: the index is {}, expected int32 [K] on the CPU", index.str());
  Tensor gathered = Tensor::empty({index.numel(), cols_});
  file_->gather(dataset_, {index.data<int32_t>(), static_cast<size_t>(index.numel())},
                gathered.mutable_data<float>());
  return change_ ? change_(gathered) : gathered;
}

void FileRows::for_blocks(const std::function<void(int64_t, const Tensor&)>& f) const {
  constexpr int64_t kBlock = int64_t{8} << 20;  // in bytes
  ADJ_CHECK(file_, "file_rows: no file was opened");
  const int64_t row = std::max<int64_t>(1, cols_) * static_cast<int64_t>(sizeof(float));
  const int64_t step = std::max<int64_t>(1, kBlock / (2 * row)) * 2;
  for (int64_t first = 0; first < rows_; first += step) {
    Tensor block = Tensor::empty({std::min(step, rows_ - first), cols_});
    file_->rows(dataset_, first, block.size(0), block.mutable_data<float>());
    f(first, change_ ? change_(block) : block);
  }
}

}  // namespace adj
