#include "op.h"
#include <adjoint/kernels/index/gather.h>

namespace adj::ops {

namespace {

const std::vector<DType> kAnyDtype{DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8};

/// Whole numbers, which every dtype has.
auto whole(const Call& c, const Shape& shape) {
  return [&c, shape] { return c.ints(shape.numel(), 1, 200).to(c.dtype).reshape(shape); };
}

/// Half as many rows again as x has, in any order.
Op gather_rows() {
  return {"gather_rows",
          {{0, 5}, {1, 3}, {211, 0}, {211, 1}, {211, 3}, {211, 64}, {211, 129}, {2001, 130}},
          [](Call& c) {
            const int64_t rows = c.size[0], picked = rows / 2 * 3;
            kernels::gather_rows({.x = c.in("x", whole(c, c.shape())),
                                  .index = c.in("index", [&] { return c.ints(picked, 0, rows); }),
                                  .y = c.out("y", {picked, c.size[1]}).allow(0)});
          },
          [](Plain& p) {
            Numbers &x = p["x"], &y = p["y"];
            size_t k = 0;
            for (int32_t row : p.ints("index"))
              for (int64_t f = 0; f < p.size(1); ++f) y[k++] = x[uz(row * p.size(1) + f)];
          },
          {},
          kAnyDtype};
}

constexpr size_t kParts = 6;
int64_t width_of(size_t part, int64_t width) {
  const int64_t widths[kParts] = {width, 3, 0, 1, 16, width};
  return widths[part];
}
std::string name_of_part(size_t part, bool split) {
  return fmt::format("{} {}", split ? "split" : "part", part);
}

/// Parts of several widths beside each other, and their split.
Op concat_columns() {
  const auto parts = [](Call& c) {
    std::vector<Tensor> list;
    for (size_t k = 0; k < kParts; ++k) {
      const Shape shape{c.size[0], width_of(k, c.size[1])};
      const std::string name = name_of_part(k, c.backward);
      list.push_back(c.backward ? c.out(name, shape).allow(0).tensor : c.in(name, whole(c, shape)));
    }
    return list;
  };
  return {"concat_columns",
          {{0, 130}, {1, 130}, {1000, 130}, {2001, 40}},
          [=](Call& c) {
            kernels::concat_columns(
                {.parts = parts(c), .y = c.out("y", {c.size[0], 2 * c.size[1] + 20}).allow(0)});
          },
          [](Plain& p) {
            Numbers& y = p["y"];
            size_t offset = 0;
            for (size_t k = 0; k < kParts; ++k) {
              const Numbers& part = p[name_of_part(k, true)] = p[name_of_part(k, false)];
              const auto columns = uz(width_of(k, p.size(1))), all = uz(2 * p.size(1) + 20);
              for (size_t i = 0; i < part.size(); ++i) y[i / columns * all + offset + i % columns] = part[i];
              offset += columns;
            }
          },
          [=](Call& c) {
            std::vector<Tensor> list = parts(c);
            kernels::split_columns({.y = c["y"], .parts = list});
          },
          kAnyDtype};
}

/// Columns [begin, begin + length), the third and fourth size, and zeros around them.
Op slice_columns() {
  return {"slice_columns",
          {{0, 16, 4, 8},
           {1, 16, 4, 8},
           {999, 16, 4, 8},
           {999, 16, 0, 16},
           {999, 16, 16, 0},
           {999, 7, 3, 2},
           {999, 130, 1, 128},
           {999, 1, 0, 1},
           {1, 130, 1, 128},
           {2001, 130, 43, 87},
           {3, 70001, 23333, 46668}},
          [](Call& c) {
            kernels::slice_columns({.x = c.in("x", whole(c, {c.size[0], c.size[1]})),
                                    .begin = c.size[2],
                                    .y = c.out("y", {c.size[0], c.size[3]}).allow(0)});
          },
          [](Plain& p) {
            const Numbers& x = p["x"];
            Numbers &y = p["y"], &padded = p["padded"];
            size_t k = 0;
            for (size_t i = 0; i < x.size(); ++i) {
              const int64_t column = static_cast<int64_t>(i) % p.size(1) - p.size(2);
              if (column >= 0 && column < p.size(3)) padded[i] = y[k++] = x[i];
            }
          },
          [](Call& c) {
            kernels::pad_columns(
                {.x = c["y"], .begin = c.size[2], .y = c.out("padded", c["x"].shape()).allow(0)});
          },
          kAnyDtype};
}

}  // namespace

Ops gathers() { return {gather_rows(), concat_columns(), slice_columns()}; }

}  // namespace adj::ops
