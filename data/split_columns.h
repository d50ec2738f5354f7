#pragma once

#include <adjoint/data/item_table.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace adj {

/// Columns of several labels or targets, float32 [N, T], without a value (NaN) in the rows of a part of a
/// split, or with the same one in all. None for classes, int32 [N].
struct ColumnsOfPart {
  std::vector<size_t> empty;                       ///< without a value
  std::vector<std::pair<size_t, float>> constant;  ///< and that value
  ColumnsOfPart(const Tensor& y, const Tensor& part);
};

/// Columns that some training part of `splits` does not teach, by name, else number.
struct UntrainedColumns {
  std::vector<std::string> empty;     ///< without a value
  std::vector<std::string> constant;  ///< of labels: of one class alone, as "old (0)"
  UntrainedColumns(const Tensor& y, Task task, const std::vector<std::string>& names,
                   std::span<const Split> splits);
  /// "labels without a value in the training part: new; of one class there: old (0)"; or empty.
  std::string note(Task task) const;
};

}  // namespace adj
