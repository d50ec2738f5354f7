#pragma once

#include <adjoint/core/random.h>
#include <adjoint/kernels/kernel.h>
#include <adjoint/kernels/sparse/csr.h>

#include <cstdint>
#include <limits>

namespace adj::kernels {

/// How a row's d entries are sampled with fan-out k. Duplicate entries count separately.
enum class NeighborChoice : uint8_t {
  /// min(k, d) entries, all subsets equally likely (Floyd; Bentley & Floyd, A Sample of Brilliance, 1987):
  /// with draws t_i in [0, d - k + i], i = 0 … k - 1, the i-th entry is t_i, or d - k + i if t_i was already
  /// taken. In draw order; in row order if k >= d.
  uniform,
  /// k entries with replacement, unless the row is empty. In draw order.
  uniform_repeated,
  /// min(k, positive weights) entries without replacement, each in proportion to the remaining weights. In
  /// row order.
  weighted,
  /// k entries with replacement in proportion to the weights, unless none is positive. In draw order.
  weighted_repeated,
  /// LABOR-0 (Balin & Çatalyürek, Layer-Neighbor Sampling, NeurIPS 2023): source t draws r_t in [0, 1) once
  /// for all rows, and row s takes it if r_t < c_s. c_s is chosen so that the variance of the row's mean
  /// equals that of k neighbors drawn independently: the sum over its sources of 1 / min(1, c_s) is d^2 / k,
  /// so c_s = k / d, and min(k, d) entries are expected. All entries of a row have the same probability, so
  /// their plain mean estimates the row's. In row order.
  labor,
};
/// Fan-out that takes all entries; with weights, all of positive weight.
inline constexpr int64_t kAllNeighbors = -1;

/// Weights of a structure's entries for sampling, computed on the host and thus bitwise identical for every
/// device.
struct EntryWeights {
  Tensor weight;    ///< float32 [M] by entry, finite, non-negative
  Tensor sums;      ///< float64 [M]: inclusive prefix sums of each row's weights
  Tensor positive;  ///< int32 [rows]: number of positive weights per row
};

/// Arguments of both steps. Rows may be empty; `rows` are in range. by_weight(): whether the choice reads
/// `weights`. check() throws Error unless all fit together.
struct NeighborSample {
  const Csr& csr;                                   ///< the structure to sample from
  const Tensor& rows;                               ///< int32 [T]
  int64_t fanout;                                   ///< at least 1, or kAllNeighbors
  NeighborChoice choice = NeighborChoice::uniform;  ///< how a row is sampled
  RandomKey key = {};                               ///< of the draws; a row draws the same in both steps
  const EntryWeights* weights = nullptr;            ///< for weighted choices

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

/// offsets[i] = number of entries taken by the rows before `rows[i]`, int64 [T + 1].
struct SampleCountsArgs {
  const NeighborSample& request;  ///< what to sample
  Tensor& offsets;

  Device device() const { return request.csr.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    request.check(op);
    check_tensor(op, "offsets", offsets, {request.rows.numel() + 1}, DType::i64, device());
  }
};
ADJ_KERNEL(sample_counts, SampleCountsArgs)  ///< Sizes of the samples, as offsets.

/// entry[offsets[i]] …: the entries of the structure taken by row rows[i], and `col`, their columns, both
/// int32 [S], S >= offsets[T]; anything beyond is not written. `offsets` from sample_counts.
struct SampleNeighborsArgs {
  const NeighborSample& request;  ///< that of sample_counts
  const Tensor& offsets;
  Tensor& entry;
  Tensor& col;

  Device device() const { return request.csr.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    request.check(op);
    check_tensor(op, "offsets", offsets, {request.rows.numel() + 1}, DType::i64, device());
    check_index(op, "entry", entry, device());
    check_like(op, "col", col, entry);
  }
};
ADJ_KERNEL(sample_neighbors, SampleNeighborsArgs)  ///< The sampled entries and their columns.

/// Numbers nodes by first appearance. `table` int32 [N] holds base + number for known nodes and values below
/// `base` for all others, so that raising the base beyond all numbers clears the table for free. The first
/// `known` of `nodes` (int32 [known + S] at least) are known. New ones of `ids` (int32 [S], in range) get the
/// next numbers in their order and are appended to `nodes`; `count` (one int64) is the number known
/// afterwards, and number[k] (int32 [S]) the number of ids[k]. `used` (one int64, optional): only the first
/// `used` of `ids` count, if that number is unknown to the host. base + known + S must fit in int32; the
/// table may hold numbers up to that afterwards.
struct NumberNodesArgs {
  const Tensor& ids;
  const Tensor& used = kAbsent;
  int64_t base;
  int64_t known;
  Tensor& table;
  Tensor& nodes;
  Tensor& number;
  Tensor& count;

  Device device() const { return table.device(); }  ///< where the kernel runs
  void check(std::string_view op) const {
    check_index(op, {{"table", table}, {"ids", ids}}, table.device());
    check_like(op, "number", number, ids);
    check_index(op, "nodes", nodes, table.device());
    check_scalar(op, "count", count, DType::i64, table.device());
    if (used) check_scalar(op, "used", used, DType::i64, table.device());
    ADJ_CHECK(base >= 0 && known >= 0 && nodes.numel() >= known + ids.numel() &&
                  base + known + ids.numel() <= std::numeric_limits<int32_t>::max(),
              "{}: {} ids in addition to {} known ones, from {}, exceed the {} places", op, ids.numel(),
              known, base, nodes.numel());
  }
};
ADJ_KERNEL(number_nodes, NumberNodesArgs)  ///< Batch numbers of sampled nodes.

}  // namespace adj::kernels
