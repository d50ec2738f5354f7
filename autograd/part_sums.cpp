#include <adjoint/autograd/detail/part_sums.h>
#include <adjoint/core/error.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <map>
#include <utility>
#include <vector>

namespace adj::detail {

namespace {

/// Sum of the parts [number 2^level, (number + 1) 2^level).
using Block = std::pair<int, int64_t>;

/// The largest blocks that parts [first, last) are made of. `take(block, place)`: of row `place` of those of
/// the level; `halve(begin, count)`: rows [begin, begin + count) are added in pairs for the next level.
template <class Take, class Halve>
void each_block(int64_t first, int64_t last, Take&& take, Halve&& halve) {
  for (int level = 0; first < last; ++level) {
    const int64_t base = first;
    if (first % 2 != 0) {
      take(Block{level, first}, int64_t{0});
      ++first;
    }
    if (last % 2 != 0 && first < last) {
      --last;
      take(Block{level, last}, last - base);
    }
    if (first < last) halve(first - base, last - first);
    first /= 2, last /= 2;
  }
}

std::vector<Block> blocks_of(const RowParts& parts, int64_t rank) {
  std::vector<Block> blocks;
  const auto [first, last] = parts.range(rank);
  each_block(
      first, last, [&](Block block, int64_t) { blocks.push_back(block); }, [](int64_t, int64_t) {});
  return blocks;
}

/// This rank's blocks as rows.
Tensor local_blocks(const RowParts& parts, Tensor rows) {
  const auto [first, last] = parts.range(parts.group.rank());
  const int64_t width = rows.size(1), count = std::ssize(blocks_of(parts, parts.group.rank()));
  Tensor blocks = Tensor::empty({count, width}, rows.dtype(), rows.device());
  int64_t next = 0;
  each_block(
      first, last,
      [&](Block, int64_t place) {
        blocks.rows(next, next + 1).copy_(rows.rows(place, place + 1));
        ++next;
      },
      [&](int64_t begin, int64_t length) {
        Tensor halves = Tensor::empty({length / 2, width}, rows.dtype(), rows.device());
        const Tensor pairs = rows.rows(begin, begin + length).reshape({length / 2, 2, width});
        kernels::sum_dim({.x = pairs, .y = halves});
        rows = halves;
      });
  return blocks;
}

/// int32: the rows of groups by part, each part's by group; made once, as a captured step cannot.
const Tensor& order_by_part(const RowParts& parts, int64_t groups, Device device) {
  return *parts.cache.get<Tensor>(groups, [&] {
    std::vector<int32_t> rows;
    for (int64_t p = 0; p < parts.local_parts(); ++p)
      for (int64_t g = 0; g < groups; ++g) rows.push_back(static_cast<int32_t>(g * parts.local_parts() + p));
    return new Tensor(Tensor::from(rows, device));
  });
}

/// The sum of all parts, of the blocks of all ranks.
Tensor merged(std::map<Block, Tensor> blocks) {
  for (int level = 0; blocks.size() > 1; ++level) {
    std::map<Block, Tensor> next;
    for (auto block = blocks.begin(); block != blocks.end(); ++block) {
      const auto [height, number] = block->first;
      const auto right = std::next(block);
      if (height > level) {
        next.insert(*block);
      } else if (number % 2 == 0 && right != blocks.end() && right->first == Block{height, number + 1}) {
        Tensor sum = Tensor::empty_like(block->second);
        kernels::linear_combination(
            {.alpha = 1.0, .a = block->second, .beta = 1.0, .b = right->second, .y = sum});
        next.emplace(Block{height + 1, number / 2}, sum);
        block = right;
      } else {
        next.emplace(Block{height + 1, number / 2}, block->second);
      }
    }
    blocks = std::move(next);
  }
  return blocks.begin()->second;
}

}  // namespace

Tensor sum_parts(const RowParts& parts, const Tensor& sums) {
  const int64_t local = parts.local_parts(), groups = sums.size(0) / local, width = sums.size(1);
  ADJ_CHECK(groups * local == sums.size(0), "sum_parts: {} rows of {} parts", sums.size(0), local);
  Tensor rows = sums;
  if (groups > 1) {
    rows = Tensor::empty_like(sums);
    kernels::gather_rows({.x = sums, .index = order_by_part(parts, groups, sums.device()), .y = rows});
  }
  const Tensor blocks = local_blocks(parts, rows.reshape({local, groups * width}));
  std::vector<int64_t> counts;
  for (int64_t rank = 0; rank < parts.group.size(); ++rank)
    counts.push_back(std::ssize(blocks_of(parts, rank)));
  const Tensor all = parts.group.size() == 1 ? blocks : parts.group.gather(blocks, counts);
  std::map<Block, Tensor> named;
  int64_t next = 0;
  for (int64_t rank = 0; rank < parts.group.size(); ++rank)
    for (const Block& block : blocks_of(parts, rank)) {
      named.emplace(block, all.rows(next, next + 1));
      ++next;
    }
  return merged(std::move(named)).reshape({groups, width});
}

Tensor share_of_sum(const Group& group, const Tensor& sum) {
  return group.rank() == 0 ? sum : Tensor::zeros_like(sum);
}

}  // namespace adj::detail
