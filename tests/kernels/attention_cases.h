#pragma once

#include "../../bench/ops/attention.h"
#include "../structures.h"
#include "cases.h"

// Structures, plain reference loops in double precision and comparisons for the attention tests.
namespace adj::test {

/// x [rows, columns] + bias [columns]; bias is optional.
inline Numbers with_bias(Numbers x, const Tensor& bias) {
  if (!bias) return x;
  const Numbers b = values(bias);
  for (size_t f = 0; f < x.size(); ++f) x[f] += b[f % b.size()];
  return x;
}

using ops::AttentionCase;
using Rows = std::vector<std::vector<int32_t>>;

/// Rows of these lengths with random columns, half of them the same column: both sides are skewed.
inline Rows random_rows(const std::vector<int64_t>& lengths, int64_t cols, uint32_t seed) {
  std::mt19937 random(seed);
  Rows rows;
  for (int64_t length : lengths) {
    rows.emplace_back();
    for (int64_t k = 0; k < length; ++k) {
      const auto draw = static_cast<int32_t>(random() % static_cast<uint32_t>(2 * cols));
      rows.back().push_back(draw < cols ? draw : 5);
    }
  }
  return rows;
}

/// Rectangular, with empty rows and columns.
inline Rows small_rows() { return random_rows({3, 0, 1, 17, 0, 5, 2, 40}, 61, 1); }
/// Rows and a column that are split into parts, one row and the column into enough that they are merged by
/// runs first; also medium, short and empty rows.
inline Rows skewed_rows() { return random_rows(skewed_lengths(30000), 61, 2); }
/// Undirected, over 61 nodes, each with a self-loop.
inline Rows symmetric_rows() {
  Rows rows(61);
  std::mt19937 random(3);
  for (int32_t i = 0; i < 61; ++i) {
    rows[uz(i)].push_back(i);
    for (int32_t j = 0; j < i; ++j)
      if (random() % 9 == 0) {
        rows[uz(i)].push_back(j);
        rows[uz(j)].push_back(i);
      }
  }
  return rows;
}

/// Narrow heads, several rows per vector.
inline const std::vector<AttentionCase> kNarrow{
    {1, 2, 0, true}, {4, 2, 1, false}, {2, 4, 0, true}, {8, 2, 1, true}, {1, 8, 0, false}};
inline const std::vector<AttentionCase> kFewNarrow{{1, 2, 0, true}, {4, 2, 1, false}};
/// Calls f(edges, case, dtype, device): small structures with every width, others with a few; on a GPU with
/// both methods for gradients of sources.
template <class F>
void for_attention_cases(const std::vector<AttentionCase>& wide, const std::vector<AttentionCase>& few,
                         F&& f) {
  const std::vector<std::pair<Rows, bool>> structures = {{small_rows(), false},
                                                         {symmetric_rows(), true},
                                                         {skewed_rows(), false},
                                                         {skewed_rows(), true},
                                                         {random_rows(lengths_at_boundaries(), 61, 4), false},
                                                         {Rows(3), false},
                                                         {Rows(), true}};
  on_devices_and_features([&](Device device, DType dtype) {
    for (size_t s = 0; s < structures.size(); ++s) {
      const Edges edges(structures[s].first, 61, structures[s].second, device);
      CAPTURE(s);
      for (const AttentionCase& c : s < 2 ? wide : few) {
        CAPTURES(c.heads, c.width, c.features, c.dropout);
        for (const auto method : {kernels::AttentionGradient::kept, kernels::AttentionGradient::recomputed}) {
          if (device.is_cpu() && method == kernels::AttentionGradient::kept) continue;
          const bool kept = method == kernels::AttentionGradient::kept;
          CAPTURE(kept);
          AttentionCase one = c;
          one.gradient = method;
          f(edges, one, dtype, device);
        }
      }
    }
  });
}

/// f(edges, shape, dtype, device) for narrow heads. Not in bfloat16 on a GPU, whose kernels have no path for
/// such rows: Δ uses the rounded O (attention.h), and with heads of width 2 the rounding errors do not
/// average out within the tolerance.
template <class F>
void for_narrow_cases(F&& f) {
  for_attention_cases(kNarrow, kFewNarrow,
                      [&](const Edges& edges, const AttentionCase& shape, DType dtype, Device device) {
                        if (dtype != DType::bf16 || device.is_cpu()) f(edges, shape, dtype, device);
                      });
}

/// Reference attention from logits e [M,H] and value(source, edge, head, c), c < width.
struct PlainAttention {
  const Edges& edges;
  size_t heads, width;
  Numbers mask, alpha, lse, o;

  template <class Value>
  PlainAttention(const Edges& structure, size_t head_count, size_t head_width, const Numbers& e, Numbers m,
                 Value&& value)
      : edges(structure),
        heads(head_count),
        width(head_width),
        mask(std::move(m)),
        alpha(e.size()),
        lse(uz(structure.rows()) * heads),
        o(lse.size() * width) {
    Numbers largest(lse.size(), -INFINITY), sum(lse.size());
    edges.each([&](size_t i, size_t, size_t k) {
      for (size_t h = 0; h < heads; ++h)
        largest[i * heads + h] = std::max(largest[i * heads + h], e[k * heads + h]);
    });
    edges.each([&](size_t i, size_t, size_t k) {
      for (size_t h = 0; h < heads; ++h)
        sum[i * heads + h] += std::exp(e[k * heads + h] - largest[i * heads + h]);
    });
    for (size_t t = 0; t < lse.size(); ++t)
      if (sum[t] > 0.0) lse[t] = largest[t] + std::log(sum[t]);
    edges.each([&](size_t i, size_t j, size_t k) {
      for (size_t h = 0; h < heads; ++h) {
        const size_t t = i * heads + h;
        alpha[k * heads + h] = std::exp(e[k * heads + h] - largest[t]) / sum[t];
        for (size_t c = 0; c < width; ++c)
          o[t * width + c] += mask[k * heads + h] * alpha[k * heads + h] * value(j, k, h, c);
      }
    });
  }

  /// de [M,H], for dO as o.
  template <class Value>
  Numbers backward(const Numbers& d_o, Value&& value) const {
    Numbers de(alpha.size());
    edges.each([&](size_t i, size_t j, size_t k) {
      for (size_t h = 0; h < heads; ++h) {
        const size_t t = i * heads + h;
        double gain = 0.0, delta = 0.0;
        for (size_t c = 0; c < width; ++c) {
          gain += d_o[t * width + c] * value(j, k, h, c);
          delta += d_o[t * width + c] * o[t * width + c];
        }
        de[k * heads + h] = alpha[k * heads + h] * (mask[k * heads + h] * gain - delta);
      }
    });
    return de;
  }
  struct LogitErrors {
    double of_target = 0.0, of_source = 0.0;
  };
  /// Error bounds for the sums of de over a target's edges and over a source's: in bfloat16 each term of Δ =
  /// ⟨dO, O⟩ with the stored O is off by up to 2^-8 relative. A source's logits inherit the errors of all its
  /// targets, weighted by their attention.
  LogitErrors logit_errors(const Numbers& d_o, DType dtype) const {
    LogitErrors errors;
    if (dtype != DType::bf16) return errors;
    for (size_t t = 0; t < lse.size(); ++t) {
      double terms = 0.0;
      for (size_t f = t * width; f < (t + 1) * width; ++f) terms += std::abs(d_o[f] * o[f]);
      errors.of_target = std::max(errors.of_target, terms / 256.0);
    }
    Numbers looks(uz(edges.cols()) * heads);
    edges.each([&](size_t, size_t j, size_t k) {
      for (size_t h = 0; h < heads; ++h) looks[j * heads + h] += alpha[k * heads + h];
    });
    errors.of_source = errors.of_target;
    for (double look : looks) errors.of_source = std::max(errors.of_source, look * errors.of_target);
    return errors;
  }
  /// dv [cols, H D] for values that belong to sources; only the `first` columns of a head count.
  Numbers value_gradients(const Numbers& d_o, size_t first) const {
    Numbers dv(uz(edges.cols()) * heads * first);
    edges.each([&](size_t i, size_t j, size_t k) {
      for (size_t h = 0; h < heads; ++h)
        for (size_t c = 0; c < first; ++c)
          dv[(j * heads + h) * first + c] +=
              mask[k * heads + h] * alpha[k * heads + h] * d_o[(i * heads + h) * width + c];
    });
    return dv;
  }
};

/// Tolerance. In bfloat16 Δ uses a rounded O, whose errors add up over the head width.
inline double attention_tolerance(DType dtype, int64_t width = 1) {
  if (dtype != DType::bf16) return dtype == DType::f64 ? 1e-11 : 2e-5;
  return 2e-2 * std::max(1.0, std::sqrt(static_cast<double>(width) / 16.0));
}

}  // namespace adj::test
