#pragma once

#include <adjoint/core/tensor.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace adj {

/// A growing array of unknown final size, stored in pieces that are never reallocated. The conversion to a
/// Tensor takes 64 MiB extra, since each piece is freed once it is copied.
template <class T>
class GrowingRows {
 public:
  int64_t size() const { return size_; }

  /// Copies them to the end.
  void append(std::span<const T> values) {
    while (!values.empty()) {
      if (pieces_.empty() || pieces_.back().used == pieces_.back().room) add_piece(values.size());
      Piece& piece = pieces_.back();
      const size_t n = std::min(values.size(), piece.room - piece.used);
      std::memcpy(piece.values.get() + piece.used, values.data(), n * sizeof(T));
      piece.used += n;
      size_ += static_cast<int64_t>(n);
      values = values.subspan(n);
    }
  }
  void append(T value) { append(std::span(&value, 1)); }

  /// Calls f(value) for each value in order.
  template <class F>
  void for_each(F&& f) const {
    for (const Piece& piece : pieces_)
      for (size_t k = 0; k < piece.used; ++k) f(piece.values[k]);
  }

  /// Moves all values into a tensor of this shape; leaves this empty.
  Tensor take(Shape shape) {
    Tensor all = Tensor::empty(shape, dtype_of<T>());
    ADJ_CHECK(all.numel() == size_, "{} values, expected {}", size_, all.str());
    drain([target = all.mutable_data<T>()](std::span<const T> values) mutable {
      std::memcpy(target, values.data(), values.size_bytes());
      target += values.size();
    });
    return all;
  }

  /// Calls f(values) for each piece in order, and frees it.
  template <class F>
  void drain(F&& f) {
    for (Piece& piece : pieces_) {
      f(std::span<const T>(piece.values.get(), piece.used));
      piece.values.reset();
    }
    pieces_.clear();
    size_ = 0;
  }

 private:
  struct Piece {
    std::unique_ptr<T[]> values;  ///< [room]
    size_t room = 0, used = 0;    ///< numbers of values: allocated, and appended
  };
  // From 32 MiB on the system's allocator returns freed memory at once.
  static constexpr size_t kFirst = size_t{1} << 14, kLast = size_t{1} << 26;  // in bytes

  void add_piece(size_t wanted) {
    const size_t doubled = pieces_.empty() ? kFirst / sizeof(T) : 2 * pieces_.back().room;
    const size_t room = std::min(std::max(doubled, wanted), kLast / sizeof(T));
    pieces_.push_back({std::make_unique_for_overwrite<T[]>(room), room, 0});
  }

  std::vector<Piece> pieces_;
  int64_t size_ = 0;
};

}  // namespace adj
