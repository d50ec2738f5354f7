#pragma once

#include <adjoint/data/hdf5_file.h>

#include <functional>
#include <optional>

namespace adj {

/// A float32 matrix [N, F] that stays in its HDF5 file: features larger than memory. Rows are read on demand;
/// the system's page cache keeps recent ones. A cheap handle; threads may read concurrently. If the file is
/// removed or replaced, the open one stays valid; one that is modified or truncated gives a DataError at the
/// next read.
class FileRows {
 public:
  FileRows() = default;
  /// Opens and reads everything once, in blocks, to check that all values are finite. Throws DataError if the
  /// dataset is missing, of another shape or type, not finite (naming the place), or does not allow reading
  /// single rows (compressed, chunked).
  static FileRows open(const std::string& file, const std::string& dataset = "nodes/x");
  /// Whether the dataset is stored so that open() can read single rows. False for what cannot be opened.
  static bool can_open(const std::string& file, const std::string& dataset = "nodes/x");

  /// The same rows, each divided by its sum as it is read, bitwise equal to Features::row_normalized(): rows
  /// with sum 0 are unchanged. A row whose quotients overflow is not finite; this is not checked.
  FileRows row_normalized() const;
  /// The same rows with change() applied to each batch [K, F] as it is read; change() must be thread-safe.
  FileRows mapped(std::function<Tensor(const Tensor& rows)> change) const;

  explicit operator bool() const { return file_.has_value(); }  ///< whether a file is open
  int64_t rows() const { return rows_; }                        ///< N; 0 without a file
  int64_t cols() const { return cols_; }                        ///< F; 0 without a file
  /// "features.h5: nodes/x".
  std::string str() const;
  /// Gather: float32 [K, F] on the CPU, row k is row index[k]; `index` int32 [K] on the CPU, repeats allowed.
  /// Throws for an index out of range, naming its position; DataError if the file cannot be read.
  Tensor gather(const Tensor& index) const;
  /// Calls f(first, rows) over all rows in order, `rows` float32 [k, F] on the CPU, some megabytes at a time;
  /// k is even except for the last block. Throws DataError if the file cannot be read.
  void for_blocks(const std::function<void(int64_t first, const Tensor& rows)>& f) const;

 private:
  std::optional<H5Reader> file_;
  std::string dataset_;
  int64_t rows_ = 0, cols_ = 0;
  std::function<Tensor(const Tensor&)> change_;  // optional
};

}  // namespace adj
