#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/kernels/cpu/loops.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

#include <algorithm>
#include <vector>

// Passes over the rows of a structure that reduce per-entry values [M,H] to a few numbers per row and head,
// and optionally write back to the entries: chunks of about equal work, a heavy row in pieces whose numbers
// are merged in order. The order of all sums depends only on the structure.
namespace adj::kernels::cpu {

/// Values of entries: those of entry k of the structure begin at place(k).
struct EntryPlaces {
  const int32_t* order;
  int64_t heads;

  explicit EntryPlaces(const CsrMatrix& a, const Tensor& of_entries)
      : order(a.order ? a.order.data<int32_t>() : nullptr), heads(heads_of(of_entries)) {}
  int64_t operator()(int64_t k) const { return (order == nullptr ? k : order[k]) * heads; }
  bool in_order() const { return order == nullptr; }
};

/// f(chunk) over the chunks of a structure; by one thread if there is little work.
template <class F>
void for_chunks(const RowChunks& cuts, int64_t values, int64_t grain, F&& f) {
  cuts.for_chunks(values < grain ? std::max<int64_t>(std::ssize(cuts.chunks), 1) : 1, f);
}

/// Body, with T a float: `numbers()` per row; `collect(begin, end, T* result)` computes them from entries of
/// one row; `merge(const T* parts, count, T* result)` from the contiguous numbers of a row's pieces;
/// `finish_row(row, const T* result)` once per row; then `finish(begin, end, const T* of_piece, const T*
/// of_row)` for the entries that were collected together.
template <class T, class Body>
void reduce_rows(const Csr& csr, int64_t heads, const Body& body) {
  const std::shared_ptr<const RowChunks> cuts = row_chunks(csr);
  const int64_t* offsets = csr.offsets.data<int64_t>();
  const int64_t numbers = body.numbers();
  std::vector<T> of_piece(static_cast<size_t>(cuts->slots * numbers));
  std::vector<T> of_heavy(cuts->heavy.size() * static_cast<size_t>(numbers));
  const int64_t values = csr.entries() * heads;
  for_chunks(*cuts, values, kCostlyGrain, [&](const RowChunks::Chunk& chunk) {
    static thread_local std::vector<T> of_row;
    of_row.resize(static_cast<size_t>(numbers));
    T* result = chunk.slot >= 0 ? of_piece.data() + chunk.slot * numbers : of_row.data();
    for_rows_of(chunk, offsets, [&](int64_t i, int64_t begin, int64_t end) {
      body.collect(begin, end, result);
      if (chunk.slot >= 0) return;
      body.finish_row(i, result);
      body.finish(begin, end, result, result);
    });
  });
  if (cuts->slots == 0) return;
  std::vector<const T*> row_of_slot(static_cast<size_t>(cuts->slots));
  for (size_t h = 0; h < cuts->heavy.size(); ++h) {
    const RowChunks::HeavyRow& heavy = cuts->heavy[h];
    T* of_row = of_heavy.data() + static_cast<int64_t>(h) * numbers;
    body.merge(of_piece.data() + heavy.slot_begin * numbers, heavy.slot_end - heavy.slot_begin, of_row);
    body.finish_row(heavy.row, of_row);
    std::fill(row_of_slot.begin() + heavy.slot_begin, row_of_slot.begin() + heavy.slot_end, of_row);
  }
  for_chunks(*cuts, values, kCostlyGrain, [&](const RowChunks::Chunk& chunk) {
    if (chunk.slot >= 0)
      body.finish(chunk.entry_begin, chunk.entry_end, of_piece.data() + chunk.slot * numbers,
                  row_of_slot[static_cast<size_t>(chunk.slot)]);
  });
}

/// sums[h] = Σ over the entries of value(place(k) + h); `value` takes the flat index.
template <class T, class F>
void sum_by_head(const EntryPlaces& place, int64_t begin, int64_t end, F value, T* sums) {
  const int64_t heads = place.heads;
  if (heads == 1 && place.in_order()) {
    sums[0] = sum_of<T>(end - begin, [=](int64_t k) { return value(begin + k); });
    return;
  }
  std::fill_n(sums, heads, T{0});
  for (int64_t k = begin; k < end; ++k) {
    const int64_t base = place(k);
#pragma omp simd
    for (int64_t h = 0; h < heads; ++h) sums[h] += value(base + h);
  }
}

/// sums[h] = Σ_p parts[p, h].
template <class T>
void add_parts(const T* parts, int64_t count, int64_t heads, T* sums) {
  std::copy_n(parts, heads, sums);
  for (int64_t p = 1; p < count; ++p)
    for (int64_t h = 0; h < heads; ++h) sums[h] += parts[p * heads + h];
}

}  // namespace adj::kernels::cpu
