#include <adjoint/core/convert.h>
#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/ranks/halo.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/index/gather.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <numeric>

namespace adj {

namespace {

constexpr int64_t kColumnsAtOnce = int64_t{1} << 16;
/// int32 lists to and from every rank, whose lengths the receivers do not know.
std::vector<Tensor> exchange_lists(const Group& group, const std::vector<std::vector<int32_t>>& lists) {
  std::vector<Tensor> sends, receives(lists.size());
  for (const std::vector<int32_t>& list : lists) sends.push_back(Tensor::from(std::vector{std::ssize(list)}));
  for (Tensor& count : receives) count = Tensor::empty({1}, DType::i64);
  group.exchange(sends, receives);
  for (size_t p = 0; p < lists.size(); ++p) {
    sends[p] = Tensor::from(lists[p]);
    receives[p] = Tensor::empty({receives[p].data<int64_t>()[0]}, DType::i32);
  }
  group.exchange(sends, receives);
  return receives;
}

/// A row for each of `rows` rows: its places in the rows that all ranks send back, one block for each list,
/// in that order.
Csr copies_of(int64_t rows, const std::vector<std::vector<int32_t>>& lists, Device device) {
  std::vector<int64_t> offsets(static_cast<size_t>(rows) + 1, 0);
  for (const auto& list : lists)
    for (const int32_t row : list) ++offsets[static_cast<size_t>(row) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int64_t> next = offsets;
  std::vector<int32_t> places(static_cast<size_t>(offsets.back()));
  int32_t place = 0;
  for (const auto& list : lists)
    for (const int32_t row : list) places[static_cast<size_t>(next[static_cast<size_t>(row)]++)] = place++;
  return {rows, std::ssize(places), Tensor::from(offsets, device), Tensor::from(places, device)};
}

}  // namespace

Halo::Halo(Group group, const RowCut& cut, const Csr& rows, DType wire, int64_t least_part)
    : Halo(std::move(group), cut, cut, rows, wire, least_part) {}

Halo::Halo(Group group, const RowCut& row_cut, const RowCut& cut, const Csr& rows, DType wire,
           int64_t least_part)
    : group_(std::move(group)), wire_(wire), least_part_(least_part) {
  ADJ_CHECK(wire == DType::f32 || wire == DType::bf16, "Halo: {} on the wire, expected float32 or bfloat16",
            name_of(wire));
  const auto count_of = [this](const RowCut& all) {
    const auto [begin, end] = all.rows_of(group_.rank(), group_.size());
    return end - begin;
  };
  local_ = count_of(cut);
  ADJ_CHECK(rows.rows == count_of(row_cut) && rows.cols == cut.rows(),
            "Halo: {} rows of {} columns, expected {} of {}, as they are cut", rows.rows, rows.cols,
            count_of(row_cut), cut.rows());
  const auto ranks = static_cast<size_t>(group_.size());
  begins_.assign(ranks + 1, 0);
  if (ranks == 1) {
    structure_ = rows;
    begins_[1] = rows.cols;
    return;
  }
  // The places of all columns that the rank's entries name, and of its rows, in ascending order; else -1.
  std::vector<int32_t> columns = rows.indices.to_vector<int32_t>();
  std::vector<int32_t> place(static_cast<size_t>(rows.cols), -1), names;
  parallel_for(std::ssize(columns), kColumnsAtOnce, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      std::atomic_ref(place[static_cast<size_t>(columns[static_cast<size_t>(k)])])
          .store(0, std::memory_order_relaxed);
  });
  for (int64_t p = 0; p < group_.size(); ++p) {
    const auto [first, last] = cut.rows_of(p, group_.size());
    const auto needed = std::count(place.begin() + first, place.begin() + last, 0);
    if (p == group_.rank() || takes_all(needed, last - first))
      std::fill(place.begin() + first, place.begin() + last, 0);
  }
  for (int64_t j = 0; j < rows.cols; ++j) {
    if (place[static_cast<size_t>(j)] < 0) continue;
    place[static_cast<size_t>(j)] = static_cast<int32_t>(names.size());
    names.push_back(static_cast<int32_t>(j));
  }
  parallel_for(std::ssize(columns), kColumnsAtOnce, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      int32_t& column = columns[static_cast<size_t>(k)];
      column = place[static_cast<size_t>(column)];
    }
  });
  const Device device = rows.device();
  structure_ = {rows.rows, std::ssize(names), rows.offsets, Tensor::from(columns, device)};
  structure_.ascending = rows.ascending;
  structure_.whole = rows.whole;
  if (!rows.whole) {
    const auto counts = group_.gather(Tensor::from(std::vector{rows.entries()})).to_vector<int64_t>();
    structure_.whole = CsrSizes{row_cut.rows(), std::accumulate(counts.begin(), counts.end(), int64_t{0})};
  }

  const auto named_before = [&](int64_t row) {
    return std::lower_bound(names.begin(), names.end(), row) - names.begin();
  };
  std::vector<std::vector<int32_t>> needs(ranks);  // by rank, in the order of its rows
  for (size_t p = 0; p < ranks; ++p) {
    const auto [first, last] = cut.rows_of(static_cast<int64_t>(p), group_.size());
    begins_[p] = named_before(first);
    begins_[p + 1] = named_before(last);
    if (static_cast<int64_t>(p) == group_.rank()) continue;
    for (int64_t k = begins_[p]; k < begins_[p + 1]; ++k)
      needs[p].push_back(names[static_cast<size_t>(k)] - static_cast<int32_t>(first));
    received_ += std::ssize(needs[p]);
  }
  const auto received = group_.gather(Tensor::from(std::vector{received_})).to_vector<int64_t>();
  most_received_ = *std::max_element(received.begin(), received.end());
  if (device.is_cuda() && group_.capturable()) side_ = SideStream(device);
  sends_ = exchange_lists(group_, needs);
  bool whole_blocks = group_.takes_columns() && wire_ == DType::f32;
  for (size_t p = 0; p < ranks; ++p) whole_blocks = whole_blocks && !picks(p);
  const std::vector<uint8_t> all =
      group_.gather(Tensor::from(std::vector{uint8_t{whole_blocks}})).to_vector<uint8_t>();
  skips_local_ = std::ranges::all_of(all, [](uint8_t whole) { return whole != 0; });
  std::vector<std::vector<int32_t>> copies;
  for (Tensor& list : sends_) {
    sent_ += list.numel();
    copies.push_back(list.to_vector<int32_t>());
    list = list.to(device);
  }
  std::vector<int32_t>& all_rows = copies[static_cast<size_t>(group_.rank())];
  all_rows.resize(static_cast<size_t>(local_));
  std::iota(all_rows.begin(), all_rows.end(), 0);
  copies_ = copies_of(local_, copies, device);
}

void Halo::exchange(std::span<Tensor> sends, std::span<Tensor> receives) const {
  const auto local = static_cast<size_t>(group_.rank());
  if (wire_for(sends[local]) == sends[local].dtype()) return group_.exchange(sends, receives);
  receives[local].copy_(sends[local]);
  std::vector<Tensor> rounded;
  for (size_t p = 0; p < sends.size(); ++p) {
    if (p == local) sends[p] = receives[p] = {};
    if (sends[p]) sends[p] = sends[p].to(wire_);
    rounded.push_back(receives[p] ? Tensor::empty(receives[p].shape(), wire_, receives[p].device())
                                  : Tensor());
  }
  group_.exchange(sends, rounded);
  for (size_t p = 0; p < sends.size(); ++p)
    if (receives[p]) convert(rounded[p], receives[p]);
}

void Halo::check_rows(const Tensor& x) const {
  ADJ_CHECK(x && x.dims() == 2 && x.size(0) == local_, "Halo: x is {}, expected the {} rows of rank {}",
            x.str(), local_, group_.rank());
}

Tensor Halo::gather(const Tensor& x) const {
  check_rows(x);
  if (group_.size() == 1) return x;
  Tensor all = Tensor::empty({structure_.cols, x.size(1)}, x.dtype(), x.device());
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size());
  for (size_t p = 0; p < sends.size(); ++p) {
    const bool local = static_cast<int64_t>(p) == group_.rank();
    if (local || sends_all(p)) sends[p] = x;
    if (!local && picks(p)) {
      sends[p] = Tensor::empty({sends_[p].numel(), x.size(1)}, x.dtype(), x.device());
      kernels::gather_rows({.x = x, .index = sends_[p], .y = sends[p]});
    }
    if (begins_[p + 1] > begins_[p] || local) receives[p] = all.rows(begins_[p], begins_[p + 1]);
  }
  exchange(sends, receives);
  return all;
}

namespace {

// Of a row: the first part, which nothing hides, and the largest. Powers of two fill the lanes of a product.
constexpr int64_t kFirstBytes = 128, kMostBytes = 512;
constexpr int64_t kAlignedBytes = 16;  // of a read in a product

/// First columns of the parts of rows of `width` elements of so many bytes, and `width`. Each is twice the
/// one before: it arrives while the product of that one, which takes more time by byte, runs. What is left is
/// a part by its size, or joins another: a product of a few columns takes nearly as long as of many. Parts of
/// odd bytes come last.
std::vector<int64_t> part_begins(int64_t width, int64_t element) {
  const int64_t row = width * element, least = row > 2 * kFirstBytes ? kFirstBytes : kFirstBytes / 2;
  std::vector<int64_t> sizes;
  int64_t left = row;
  for (int64_t bytes = least; bytes <= left; bytes = std::min(2 * bytes, kMostBytes)) {
    sizes.push_back(bytes);
    left -= bytes;
  }
  if (left >= least || sizes.empty())
    sizes.insert(std::ranges::upper_bound(sizes, left), left);
  else
    (left % kAlignedBytes == 0 ? sizes.front() : sizes.back()) += left;
  std::vector<int64_t> begins{0};
  for (const int64_t bytes : sizes) begins.push_back(begins.back() + bytes / element);
  return begins;
}

/// Joins at the end of a scope, also one that an error leaves.
class Joined {
 public:
  explicit Joined(const SideStream& stream) : stream_(stream) {}
  ~Joined() {
    try {
      stream_.join();
    } catch (const std::exception&) {  // a broken device is reported by the next call
    }
  }
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;

 private:
  const SideStream& stream_;
};

/// The first `rows` x `columns` elements of a buffer [n].
Tensor matrix_in(const Tensor& buffer, int64_t rows, int64_t columns) {
  return buffer.rows(0, rows * columns).reshape({rows, columns});
}

}  // namespace

/// Memory of the parts that a visit reads and that arrives meanwhile, of so many columns at most, and of the
/// blocks on the wire, by rank, which one part after the other uses; absent where nothing goes. Received
/// blocks have some only if the wire rounds: else they come to where they belong.
struct Halo::PartBuffers {
  std::array<Tensor, 2> parts;
  std::vector<Tensor> sends, rounded_sends, rounded_receives;

  PartBuffers(const Halo& halo, const Tensor& x, std::array<int64_t, 2> columns) {
    const int64_t widest = std::max(columns[0], columns[1]);
    const auto buffer = [&](int64_t rows, DType dtype) {
      return rows > 0 ? Tensor::empty({rows * widest}, dtype, x.device()) : Tensor();
    };
    const DType wire = halo.wire_for(x);
    const bool rounds = wire != x.dtype();
    for (size_t k = 0; k < parts.size(); ++k)
      parts[k] = Tensor::empty({halo.structure_.cols * columns[k]}, x.dtype(), x.device());
    for (size_t p = 0; p < halo.sends_.size(); ++p) {
      const int64_t sent = halo.sends_[p].numel();
      const bool local = static_cast<int64_t>(p) == halo.group_.rank();
      const int64_t received = local ? 0 : halo.begins_[p + 1] - halo.begins_[p];
      sends.push_back(buffer(halo.picks(p) ? sent : 0, x.dtype()));
      rounded_sends.push_back(buffer(rounds ? sent : 0, wire));
      rounded_receives.push_back(buffer(rounds ? received : 0, wire));
    }
  }
};

Tensor Halo::fetch_part(const Tensor& x, int64_t first, int64_t columns, const PartBuffers& buffers,
                        const Tensor& memory) const {
  Tensor part = matrix_in(memory, structure_.cols, columns);
  Tensor local_rows = part.rows(first_row(), first_row() + local_);
  kernels::slice_columns({.x = x, .begin = first, .y = local_rows});
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size()), targets(sends_.size());
  for (size_t p = 0; p < sends.size(); ++p) {
    if (sends_all(p)) sends[p] = local_rows;
    if (picks(p)) {
      sends[p] = matrix_in(buffers.sends[p], sends_[p].numel(), columns);
      kernels::gather_rows({.x = local_rows, .index = sends_[p], .y = sends[p]});
    }
    if (const Tensor& rounded = buffers.rounded_sends[p]) {
      Tensor block = matrix_in(rounded, sends_[p].numel(), columns);
      convert(sends[p], block);
      sends[p] = block;
    }
    const int64_t rows = begins_[p + 1] - begins_[p];
    if (static_cast<int64_t>(p) == group_.rank() || rows == 0) continue;
    targets[p] = part.rows(begins_[p], begins_[p + 1]);
    const Tensor& rounded = buffers.rounded_receives[p];
    receives[p] = rounded ? matrix_in(rounded, rows, columns) : targets[p];
  }
  group_.exchange(sends, receives);
  for (size_t p = 0; p < sends.size(); ++p)
    if (buffers.rounded_receives[p]) convert(receives[p], targets[p]);
  return part;
}

Tensor Halo::fetch_others(const Tensor& x, ColumnRange columns, const Tensor& memory) const {
  Tensor part = matrix_in(memory, structure_.cols, columns.count);
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size());
  for (size_t p = 0; p < sends.size(); ++p) {
    if (std::cmp_equal(p, group_.rank())) continue;
    if (sends_all(p)) sends[p] = x;
    if (begins_[p + 1] > begins_[p]) receives[p] = part.rows(begins_[p], begins_[p + 1]);
  }
  group_.exchange_columns(sends, columns, receives);
  return part;
}

void Halo::gather_parts(const Tensor& x, const std::function<void(const GatheredPart&)>& visit) const {
  check_rows(x);
  const auto element = static_cast<int64_t>(size_of(x.dtype()));
  const std::vector<int64_t> begins = part_begins(x.size(1), element);
  const size_t parts = begins.size() - 1;
  if (group_.size() == 1 || parts == 1 || most_received_ * begins[1] * element < least_part_)
    return visit({gather(x), 0, {}});
  const auto aligned = [&](int64_t column) { return column * element % kAlignedBytes == 0; };
  const bool skips_local = skips_local_ && std::ranges::all_of(begins, aligned);
  const auto columns = [&](size_t k) { return begins[k + 1] - begins[k]; };
  std::array<int64_t, 2> widest{};
  for (size_t k = 0; k < parts; ++k) widest[k % 2] = std::max(widest[k % 2], columns(k));
  const PartBuffers buffers(*this, x, widest);
  const Joined joined(side_);
  const auto fetch = [&](size_t k) {
    Tensor part;
    side_.run([&] {
      const Tensor& memory = buffers.parts[k % 2];
      part = skips_local ? fetch_others(x, {begins[k], columns(k)}, memory)
                         : fetch_part(x, begins[k], columns(k), buffers, memory);
    });
    return part;
  };
  Tensor next = fetch(0);
  for (size_t k = 0; k < parts; ++k) {
    side_.join();
    const Tensor part = next;
    if (k + 1 < parts) next = fetch(k + 1);  // behind the visit before this one, which has read its memory
    visit({part, begins[k], skips_local ? x : Tensor(), first_row()});
  }
}

Tensor Halo::sum_back(const Tensor& dy) const {
  ADJ_CHECK(dy && dy.dims() == 2 && dy.size(0) == structure_.cols,
            "Halo: dy is {}, expected the {} rows that rank {} gathered", dy.str(), structure_.cols,
            group_.rank());
  if (group_.size() == 1) return dy;
  Tensor all = Tensor::empty({copies_.cols, dy.size(1)}, dy.dtype(), dy.device());
  std::vector<Tensor> sends(sends_.size()), receives(sends_.size());
  int64_t place = 0;
  for (size_t p = 0; p < sends.size(); ++p) {
    const bool local = static_cast<int64_t>(p) == group_.rank();
    const int64_t copies = local ? local_ : sends_[p].numel();
    if (begins_[p + 1] > begins_[p] || local) sends[p] = dy.rows(begins_[p], begins_[p + 1]);
    if (copies > 0 || local) receives[p] = all.rows(place, place + copies);
    place += copies;
  }
  exchange(sends, receives);
  Tensor sums = Tensor::empty({local_, dy.size(1)}, dy.dtype(), dy.device());
  kernels::spmm({.a = {copies_, {}, {}}, .x = all, .y = sums});
  return sums;
}

Halo Halo::with_structure(Csr structure) const {
  ADJ_CHECK(structure.rows == structure_.rows && structure.cols == structure_.cols,
            "Halo: {} rows of {} columns, expected {} of {}", structure.rows, structure.cols, structure_.rows,
            structure_.cols);
  Halo other = *this;
  other.structure_ = std::move(structure);
  return other;
}

}  // namespace adj
