#pragma once

#include <adjoint/core/parallel.h>
#include <adjoint/core/tensor.h>
#include <adjoint/kernels/sparse/cpu/row_chunks.h>

#include <algorithm>
#include <span>
#include <vector>

// Passes over the rows of a structure by spans of entries: few enough for their gathered rows to stay cached
// until their second use, enough for vector code over the entries, however short the rows are. The order of
// all sums depends only on the structure and the span.
//
// Spans of 128 KB and up to 512 entries were faster than of 24 KB. Blocking sources to fit L2 was slower: a
// weighted sum of rows took 6.7 to 16 ms, depending on the block, instead of 5.0.
namespace adj::kernels::cpu {

/// Entries [begin, end) of one row: all, or a piece. `first`: the row begins here; `last`: it ends here.
struct Segment {
  int64_t row, begin, end;
  bool first, last;

  int64_t count() const { return end - begin; }
};

namespace detail {

inline constexpr size_t kMostSegments = 256;

/// Splits a chunk into spans: local.run(begin, end, segments). A span has whole rows, or a piece of one.
template <class Local>
void run_chunk(const int64_t* offsets, const RowChunks::Chunk& chunk, int64_t span, Local& local,
               std::vector<Segment>& segments) {
  int64_t begin = chunk.entry_begin;
  const auto flush = [&](int64_t end) {
    if (!segments.empty()) local.run(begin, end, std::span<const Segment>(segments));
    segments.clear();
    begin = end;
  };
  for (int64_t i = chunk.row_begin; i < chunk.row_end; ++i) {
    const int64_t entry_begin = std::max(offsets[i], chunk.entry_begin);
    const int64_t entry_end = std::min(offsets[i + 1], chunk.entry_end);
    if (entry_end - begin > span || segments.size() == kMostSegments) flush(entry_begin);
    if (entry_end - entry_begin <= span) {
      segments.push_back({i, entry_begin, entry_end, true, chunk.slot < 0});
      continue;
    }
    for (int64_t position = entry_begin; position < entry_end; position += span) {
      const int64_t end = std::min(position + span, entry_end);
      segments.push_back({i, position, end, position == entry_begin, chunk.slot < 0 && end == entry_end});
      flush(end);
    }
  }
  flush(chunk.entry_end);
}

}  // namespace detail

/// state[i] = Σ_p parts[p, i], in order.
template <class T>
void add_states(const T* parts, int64_t count, int64_t numbers, T* state) {
  std::copy_n(parts, numbers, state);
  for (int64_t p = 1; p < count; ++p)
#pragma omp simd
    for (int64_t i = 0; i < numbers; ++i) state[i] += parts[p * numbers + i];
}

/// Body, with T a float: `numbers()`, the size of a row's state; `Local{body}`, per thread, with `run(begin,
/// end, segments)`, the current row's `state()`, `merge(parts, count)`, which makes the state from the
/// contiguous states of a row's pieces (by default their sum), and `finish(row)`, called by run() at a last
/// segment. For sums over all rows too, Body::parameters() is their number and Local::parameters() the
/// partial sums, initially zero; `parameters` receives the totals, added in double.
template <class T, class Body>
void walk_spans(const Csr& csr, int64_t span, const Body& body, double* parameters = nullptr) {
  constexpr int64_t kMostGroups = 256;  // of chunks that share their sums over all rows
  const std::shared_ptr<const RowChunks> cuts = row_chunks(csr);
  const int64_t* offsets = csr.offsets.data<int64_t>();
  constexpr bool kParameters = requires { body.parameters(); };
  const int64_t numbers = body.numbers();
  int64_t wanted = 0;
  if constexpr (kParameters) wanted = body.parameters();
  const auto chunks = static_cast<int64_t>(cuts->chunks.size());
  const int64_t groups = wanted == 0 ? chunks : std::min(chunks, kMostGroups);
  Tensor of_slots, of_groups;
  T *slots = nullptr, *sums = nullptr;
  if (cuts->slots > 0) {
    of_slots = Tensor::empty({cuts->slots, numbers}, dtype_of<T>());
    slots = of_slots.mutable_data<T>();
  }
  if (wanted > 0) {
    of_groups = Tensor::empty({groups + 1, wanted}, dtype_of<T>());
    sums = of_groups.mutable_data<T>();
  }
  const auto keep = [&]([[maybe_unused]] typename Body::Local& local, [[maybe_unused]] int64_t group) {
    if constexpr (kParameters) std::copy_n(local.parameters(), wanted, sums + group * wanted);
  };
  parallel_for(groups, 1, [&](int64_t group_begin, int64_t group_end) {
    std::vector<Segment> segments;
    for (int64_t group = group_begin; group < group_end; ++group) {
      typename Body::Local local{body};
      for (int64_t c = group * chunks / groups; c < (group + 1) * chunks / groups; ++c) {
        const RowChunks::Chunk& chunk = cuts->chunks[static_cast<size_t>(c)];
        detail::run_chunk(offsets, chunk, span, local, segments);
        if (chunk.slot >= 0) std::copy_n(local.state(), numbers, slots + chunk.slot * numbers);
      }
      keep(local, group);
    }
  });
  if (wanted > 0 || cuts->slots > 0) {
    typename Body::Local local{body};
    for (const RowChunks::HeavyRow& heavy : cuts->heavy) {
      const T* parts = slots + heavy.slot_begin * numbers;
      const int64_t count = heavy.slot_end - heavy.slot_begin;
      if constexpr (requires { local.merge(parts, count); }) {
        local.merge(parts, count);
      } else {
        add_states(parts, count, numbers, local.state());
      }
      local.finish(heavy.row);
    }
    keep(local, groups);
  }
  for (int64_t p = 0; p < wanted; ++p) {
    double sum = 0.0;
    for (int64_t group = 0; group <= groups; ++group) sum += static_cast<double>(sums[group * wanted + p]);
    parameters[p] = sum;
  }
}

}  // namespace adj::kernels::cpu
