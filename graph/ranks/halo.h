#pragma once

#include <adjoint/core/group.h>
#include <adjoint/core/side_stream.h>
#include <adjoint/graph/ranks/row_cut.h>
#include <adjoint/kernels/types/csr.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace adj {

/// Columns [first, first + rows.size(1)) of gathered rows. Those of a rank itself may be in `local` [n, F]
/// alone, with all columns, as rows [local_row, local_row + n) of them: those of `rows` have no values then.
struct GatheredPart {
  Tensor rows;
  int64_t first;
  Tensor local;
  int64_t local_row = 0;
};

/// What a rank needs of the others to compute its rows of a product: the rows of x that its entries name (its
/// halo; all rows of a rank of which it needs nearly all), and the lists by which they are sent. The rows of
/// all ranks that it then has are in the order of the whole, so that every sum over a row's entries has the
/// order, and the bits, of one rank.
class Halo {
 public:
  /// `rows` has this rank's rows of a structure over all columns, which are cut as `cut` says; on the group's
  /// device. All ranks call it together. `wire`: the dtype in which float32 rows travel, float32 or, with
  /// half the bytes, bfloat16, to which they are rounded; a rank's own rows are not. Throws Error if the
  /// sizes do not match.
  Halo(Group group, const RowCut& cut, const Csr& rows, DType wire = DType::f32,
       int64_t least_part = kLeastPart);
  /// The same between two sets: rows and columns have a cut each.
  Halo(Group group, const RowCut& row_cut, const RowCut& column_cut, const Csr& rows, DType wire = DType::f32,
       int64_t least_part = kLeastPart);
  static constexpr int64_t kLeastPart = int64_t{32} << 20;  ///< bytes, whose way takes longer than messages
  /// Whether a rank that needs so many of another's rows takes all: they are then sent from where they are,
  /// without the copy that picks some.
  static bool takes_all(int64_t needed, int64_t rows) { return 16 * needed >= 15 * rows; }

  /// The rank's rows with the columns that they name: column k is row k of gather().
  const Csr& structure() const { return structure_; }
  /// [structure().cols, F] from this rank's rows of x [n, F]: one block to and from each rank that has or
  /// needs any. All ranks call it together.
  Tensor gather(const Tensor& x) const;
  /// gather(x) a few columns at a time, from left to right. On GPUs of their own (Group::capturable) the next
  /// part arrives while the device does what visit queues, and only the first, a small one, is waited for;
  /// its memory is that of two parts and of what the larger sends. All at once if the first would be less
  /// than `least_part` bytes. All ranks call it together.
  void gather_parts(const Tensor& x, const std::function<void(const GatheredPart&)>& visit) const;
  /// The adjoint of gather(): [n, F], to each of this rank's rows the sum of the rows of dy
  /// [structure().cols, F] that all ranks have in its place, in the order of ranks. All ranks call it
  /// together.
  Tensor sum_back(const Tensor& dy) const;
  /// The same exchange for other entries of the rank's rows, whose columns are rows of gather().
  Halo with_structure(Csr structure) const;

  int64_t local_rows() const { return local_; }  ///< of x, that this rank has
  int64_t first_row() const { return begins_[static_cast<size_t>(group_.rank())]; }  ///< its own in gather()
  int64_t received_rows() const { return received_; }                                ///< rows of other ranks
  int64_t sent_rows() const { return sent_; }  ///< rows to other ranks; one may go to several

 private:
  Group group_;
  Csr structure_;
  int64_t local_ = 0;            // rows of x that this rank has: of as many columns
  std::vector<Tensor> sends_;    // by rank, int32 [K]: which of this rank's rows it needs
  std::vector<int64_t> begins_;  // by rank: its first row in gather(), and their number
  Csr copies_;                   // row i: where row i of this rank and its copies come back, by rank
  int64_t received_ = 0, sent_ = 0;
  int64_t most_received_ = 0;  // by any rank: all take the same parts
  DType wire_ = DType::f32;
  int64_t least_part_ = kLeastPart;
  SideStream side_;           // for parts on their way
  bool skips_local_ = false;  // whether parts may lack the rank's own rows: all ranks send whole blocks

  /// Whether a rank needs all of this rank's rows, or some.
  bool sends_all(size_t p) const { return sends_[p].numel() > 0 && sends_[p].numel() == local_; }
  bool picks(size_t p) const { return sends_[p].numel() > 0 && !sends_all(p); }
  DType wire_for(const Tensor& x) const { return x.dtype() == DType::f32 ? wire_ : x.dtype(); }
  /// Exchanges blocks of x's dtype as the wire has them; that of this rank is copied.
  void exchange(std::span<Tensor> sends, std::span<Tensor> receives) const;

  void check_rows(const Tensor& x) const;

  struct PartBuffers;
  /// Columns [first, first + columns) of gather(x), in `memory`.
  Tensor fetch_part(const Tensor& x, int64_t first, int64_t columns, const PartBuffers& buffers,
                    const Tensor& memory) const;
  /// The same without own rows.
  Tensor fetch_others(const Tensor& x, ColumnRange columns, const Tensor& memory) const;
};

}  // namespace adj
