#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/sparse/csr.h>

#include <cstdint>

namespace adj::kernels {

/// Which of a row's d entries are taken, k being the fan-out. Each entry counts, equal ones too.
enum class NeighborChoice : uint8_t {
  /// min(k, d) of them, every set as likely as any other (Floyd; Bentley & Floyd, A Sample of Brilliance,
  /// 1987): of the draws t_i in [0, d - k + i], i = 0 … k - 1, the i-th entry is t_i, or d - k + i where t_i
  /// was taken before. In the order in which they are drawn; all of them in their own order where k >= d.
  uniform,
  /// k of them, each anew, unless the row is empty. In the order in which they are drawn.
  uniform_repeated,
  /// min(k, positive weights) of them: each next one in proportion to the weights that are left. In the
  /// row's order.
  weighted,
  /// k of them, each anew in proportion to the weights, unless none is positive. In the order in which they
  /// are drawn.
  weighted_repeated,
  /// LABOR-0 (Balin & Çatalyürek, Layer-Neighbor Sampling, NeurIPS 2023): source t draws r_t in [0, 1) once,
  /// for all rows, and row s takes it where r_t < c_s, with the c_s for which the variance of the row's mean
  /// is that of k neighbours drawn apart: sum over its sources of 1 / min(1, c_s) = d^2 / k, so that
  /// c_s = k / d, and min(k, d) entries are expected. All of a row are taken with the same probability, so
  /// their plain mean estimates the row's. In the row's order.
  labor,
};
/// A fan-out that takes all entries; by weight, all of positive weight.
inline constexpr int64_t kAllNeighbors = -1;

/// Weights of a structure's entries as sampling takes them, all made on the host and so of the same bits for
/// every device.
struct EntryWeights {
  Tensor weight;    ///< float32 [M] by entry, finite and not negative
  Tensor sums;      ///< float64 [M]: of a row's weights up to and with each entry
  Tensor positive;  ///< int32 [rows]: how many of a row's are positive
};

/// What the two steps have in common. Rows may be empty; `rows` are in range.
struct NeighborSample {
  const Csr& csr;
  const Tensor& rows;  ///< int32 [T]
  int64_t fanout;      ///< 1 or more, or kAllNeighbors
  NeighborChoice choice = NeighborChoice::uniform;
  RandomKey key = {};
  const EntryWeights* weights = nullptr;  ///< where the choice is by them

  bool by_weight() const {
    return choice == NeighborChoice::weighted || choice == NeighborChoice::weighted_repeated;
  }
  void check(std::string_view op) const {
    const Device device = csr.device();
    check_csr(op, csr);
    check_index(op, "rows", rows, device);
    ADJ_CHECK(fanout == kAllNeighbors || (fanout >= 1 && fanout <= kMaxEntries),
              "{}: fan-out {}, expected 1 or more, or -1 for all neighbours", op, fanout);
    ADJ_CHECK((weights != nullptr) == by_weight(), "{}: weights are for choices by weight, and needed there",
              op);
    if (weights == nullptr) return;
    check_tensor(op, "weight", weights->weight, {csr.entries()}, DType::f32, device);
    check_tensor(op, "sums", weights->sums, {csr.entries()}, DType::f64, device);
    check_tensor(op, "positive", weights->positive, {csr.rows}, DType::i32, device);
  }
};

/// offsets[i] = how many entries the rows before `rows[i]` take, int64 [T + 1].
struct SampleCountsArgs {
  const NeighborSample& of;
  Tensor& offsets;

  Device device() const { return of.csr.device(); }
  void check() const {
    of.check("sample_counts");
    check_tensor("sample_counts", "offsets", offsets, {of.rows.numel() + 1}, DType::i64, device());
  }
};
ADJ_KERNEL(sample_counts, SampleCountsArgs)

/// entry[offsets[i]] … : the entries of the structure that row rows[i] takes, and `col`, their columns, both
/// int32 [S], S >= offsets[T]; what stands behind is not written. `offsets` as sample_counts made them.
struct SampleNeighborsArgs {
  const NeighborSample& of;
  const Tensor& offsets;
  Tensor& entry;
  Tensor& col;

  Device device() const { return of.csr.device(); }
  void check() const {
    of.check("sample_neighbors");
    check_tensor("sample_neighbors", "offsets", offsets, {of.rows.numel() + 1}, DType::i64, device());
    check_index("sample_neighbors", "entry", entry, device());
    check_like("sample_neighbors", "col", col, entry);
  }
};
ADJ_KERNEL(sample_neighbors, SampleNeighborsArgs)

}  // namespace adj::kernels
