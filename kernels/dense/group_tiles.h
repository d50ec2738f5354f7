#pragma once

#include <cstdint>

namespace adj::kernels {

/// Rows [begin, end) of one group; none if begin >= end.
struct GroupTile {
  int64_t group, begin, end;
};

/// Tiles of at most 2^shift rows that cover all groups: their numbers come from the offsets alone, so that a
/// launch needs neither the groups' sizes on the host nor a scan of them. Group g has the tiles from
/// offsets[g] / 2^shift + g on: at least as many as it needs, the last of which may be empty.
struct GroupTiles {
  const int64_t* offsets;  ///< [groups + 1], where the kernel runs
  int64_t groups;
  int shift;

  /// Rows of a whole tile.
  constexpr int64_t size() const { return int64_t{1} << shift; }
  /// Number of tiles, `rows` in all groups together.
  constexpr int64_t count(int64_t rows) const { return (rows >> shift) + groups; }
  /// Number of a group's first tile.
  constexpr int64_t first(int64_t group) const { return (offsets[group] >> shift) + group; }
  /// Rows of this tile.
  constexpr GroupTile tile(int64_t number) const {
    int64_t low = 0, high = groups;  // the last group whose first tile is not beyond `number`
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (first(middle) <= number ? low : high) = middle;
    }
    const int64_t begin = offsets[low] + ((number - first(low)) << shift), end = offsets[low + 1];
    return {low, begin, end - begin < size() ? end : begin + size()};
  }
};

/// The shift of the least power of two that is `least` or more, and at most `most` times in `rows`.
constexpr int shift_of(int64_t least, int64_t rows, int64_t most) {
  int shift = 0;
  while (int64_t{1} << shift < least || rows >> shift > most) ++shift;
  return shift;
}

}  // namespace adj::kernels
