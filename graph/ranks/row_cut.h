#pragma once

#include <adjoint/core/tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace adj {

/// The rows of a structure in consecutive parts, of which the ranks take consecutive ones. The parts are the
/// same for any number of ranks: sums that go part by part do not depend on it.
class RowCut {
 public:
  static constexpr int64_t kParts = 64;   ///< unless said otherwise
  static constexpr int64_t kAligned = 8;  ///< rows; so many have whole blocks of a dropout mask

  /// Parts of about as many entries each: part k begins with the row whose first entry is nearest to entry
  /// k M / parts, rounded to a multiple of kAligned. `offsets` int64 [N + 1] of a CSR structure. Parts may be
  /// empty: of few rows, or beside rows of many entries. Throws Error unless parts >= 1.
  explicit RowCut(const Tensor& offsets, int64_t parts = kParts);
  /// Parts as they are: `begins` has their first rows, ascending from 0, and N. Throws Error otherwise.
  explicit RowCut(std::vector<int64_t> begins);

  int64_t parts() const { return std::ssize(begins_) - 1; }       ///< number of parts
  int64_t rows() const { return begins_.back(); }                 ///< of all parts
  const std::vector<int64_t>& begins() const { return begins_; }  ///< first rows of the parts, and rows()

  /// First and last (exclusive) row of a rank, which takes the parts from ⌊rank parts / ranks⌋ on. Throws
  /// Error if there are more ranks than parts.
  std::pair<int64_t, int64_t> rows_of(int64_t rank, int64_t ranks) const;

 private:
  std::vector<int64_t> begins_;
};

}  // namespace adj
