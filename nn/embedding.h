#pragma once

#include <adjoint/nn/module.h>

#include <optional>
#include <vector>

namespace adj::nn {

/// A learnt row of each of N things, Glorot-uniform. In training the gradient is of all rows, or, after
/// collect_rows(), of those that were taken alone, for Optimizer::step_rows(): rows that a batch does not
/// take cost nothing.
class Embedding : public Module {
 public:
  Embedding(int64_t rows, int64_t width);
  /// [K, width]: the rows `numbers`, int32 [K]; `distinct`: none of them twice, which is not checked.
  Var operator()(const Tensor& numbers, bool distinct = false) const;
  std::string describe() const override;

  /// Some rows of the table, which had a part in a loss.
  struct Rows {
    Tensor numbers, gradient;  ///< int32 [K], [K, width]
    bool distinct;             ///< no number is there twice
  };
  /// Those taken since the last call whose gradient backward() has set; absent: none.
  std::optional<Rows> take_rows() const;

  /// From now on gradients are of the rows taken, or of all. For the thread of the training.
  void collect_rows(bool rows) const { collects_ = rows; }

  Var weight;  ///< [N, width]

 private:
  mutable bool collects_ = false;
  /// Rows of a step whose gradients are wanted.
  struct Taken {
    Tensor numbers;  ///< of the rows
    Var rows;        ///< their copies, leaves
    bool distinct;   ///< no row is taken twice
  };
  mutable std::vector<Taken> taken_;  // by one thread, that of the training
};

}  // namespace adj::nn
