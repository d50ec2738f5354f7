#include "op.h"
#include <adjoint/kernels/reduce/reduce.h>

#include <cmath>

namespace adj::ops {

namespace {

/// Few distinct values: many ties, also for the largest of a long row, whose first place may be anywhere.
auto with_ties(const Call& c) {
  return [&c] { return c.ints(c.shape().numel(), -3, 3 + c.size[1] / 4).to(c.dtype).reshape(c.shape()); };
}

Op softmax(bool log) {
  return {
      log ? "log_softmax" : "softmax",
      {{0, 3}, {3, 0}, {1, 1}, {2708, 7}, {513, 16}, {65, 63}, {100, 129}, {7, 2001}, {19, 1024}, {401, 257}},
      [log](Call& c) { kernels::softmax({.log = log, .x = c.in("x"), .y = c.out("y").over("x")}); },
      [log](Plain& p) {
        const Numbers &x = p["x"], &dy = p["dy"], stored = p.stored("y");
        Numbers &y = p["y"], &dx = p["dx"];
        const size_t width = uz(p.size(1));
        for (size_t begin = 0; begin < x.size(); begin += width) {
          double total = 0.0, along = 0.0;
          for (size_t i = begin; i < begin + width; ++i) {
            total += std::exp(x[i]);
            along += log ? dy[i] : dy[i] * stored[i];
          }
          for (size_t i = begin; i < begin + width; ++i) {
            y[i] = log ? x[i] - std::log(total) : std::exp(x[i]) / total;
            dx[i] = log ? dy[i] - std::exp(stored[i]) * along : stored[i] * (dy[i] - along);
          }
        }
      },
      [log](Call& c) {
        kernels::softmax_backward({.log = log,
                                   .y = c["y"],
                                   .dy = c.in("dy"),
                                   .dx = c.out("dx").over("dy").allow(4 * c.tolerance())});
      }};
}

}  // namespace

Ops softmaxes() { return {softmax(false), softmax(true)}; }

Ops reductions() {
  const Sizes matrices{{0, 3},   {3, 0},    {1, 1},    {1, 100},   {2708, 7},  {513, 16},
                       {65, 63}, {300, 64}, {100, 65}, {700, 257}, {9000, 40}, {70001, 7}};
  return {
      {"sum_rows", matrices,
       [](Call& c) { kernels::sum_rows({.x = c.in("x"), .y = c.out("y", {c.size[1]})}); },
       [](Plain& p) {
         for (size_t k = 0; k < p["x"].size(); ++k) p["y"][k % uz(p.size(1))] += p["x"][k];
       }},
      {"sum_columns", matrices,
       [](Call& c) { kernels::sum_columns({.x = c.in("x"), .y = c.out("y", {c.size[0]})}); },
       [](Plain& p) {
         for (size_t k = 0; k < p["x"].size(); ++k) p["y"][k / uz(p.size(1))] += p["x"][k];
       }},
      {"sum_all", matrices,
       [](Call& c) {
         kernels::sum_all({.x = c.in("x"), .scale = 0.5, .y = c.out("y", {}, c.accumulator())});
       },
       [](Plain& p) {
         for (double x : p["x"]) p["y"][0] += 0.5 * x;
       }},
      {"argmax_columns",
       {{0, 4}, {3000, 1}, {3000, 2}, {3000, 7}, {3000, 16}, {3000, 40}, {3000, 257}},
       [](Call& c) {
         kernels::argmax_columns({.x = c.in("x", with_ties(c)), .y = c.out("y", {c.size[0]}, DType::i32)});
       },
       [](Plain& p) {
         auto row = p["x"].begin();
         for (double& y : p["y"]) {
           y = static_cast<double>(std::max_element(row, row + p.size(1)) - row);
           row += p.size(1);
         }
       }},
      {"count_equal",
       {{150000, 70003}, {150000, 0}, {9, 20}, {1000003, 70001}},
       [](Call& c) {
         const auto labels = [&] { return c.ints(c.size[0], 0, 3); };
         const Tensor &a = c.in("a", labels), &b = c.in("b", labels);
         kernels::count_equal({.a = a, .b = b, .y = c.out("all", {1}, DType::i64)});
         kernels::count_equal({.a = a,
                               .b = b,
                               .index = c.in("index", [&] { return c.ints(c.size[1], 0, c.size[0]); }),
                               .y = c.out("some", {1}, DType::i64)});
       },
       [](Plain& p) {
         const Numbers &a = p["a"], &b = p["b"];
         for (size_t i = 0; i < a.size(); ++i) p["all"][0] += a[i] == b[i];
         for (int32_t i : p.ints("index")) p["some"][0] += a[uz(i)] == b[uz(i)];
       },
       {},
       {DType::i32}},
  };
}

Ops reductions_over_dimension() {
  // Wide, tall, many, few, one and no elements in each dimension.
  Sizes sizes{{1, 1, 1},       {3, 5, 7},      {1, 70001, 3}, {2, 9000, 16}, {2000, 3, 5},
              {1, 300, 257},   {400, 129, 1},  {300, 64, 1},  {5, 1, 9},     {3, 20011, 5},
              {1, 1501, 1433}, {9001, 130, 1}, {0, 4, 3},     {4, 3, 0}};
  Ops ops{{"max_dim", sizes,
           [](Call& c) {
             const Shape shape{c.size[0], c.size[2]};
             kernels::max_dim({.x = c.in("x", with_ties(c)),
                               .y = c.out("y", shape).allow(0),
                               .winner = c.out("winner", shape, DType::i32)});
           },
           [](Plain& p) {
             const Numbers &x = p["x"], &dy = p["dy"];
             const size_t n = uz(p.size(1)), inner = uz(p.size(2));
             for (size_t i = 0; i < dy.size(); ++i) {
               const auto place = [&](size_t k) { return (i / inner * n + k) * inner + i % inner; };
               size_t best = 0;
               for (size_t k = 1; k < n; ++k)
                 if (x[place(k)] > x[place(best)]) best = k;
               p["winner"][i] = static_cast<double>(best);
               p["y"][i] = x[place(best)];
               p["dx"][place(best)] = dy[i];
             }
           },
           [](Call& c) {
             kernels::max_dim_backward(
                 {.winner = c["winner"], .dy = c.in("dy", c["y"].shape()), .dx = c.out("dx").allow(0)});
           }}};
  sizes.push_back({2, 0, 3});
  ops.push_back({"sum_dim", sizes,
                 [](Call& c) {
                   kernels::sum_dim({.x = c.in("x"), .y = c.out("y", {c.size[0], c.size[2]})});
                 },
                 [](Plain& p) {
                   const size_t n = uz(p.size(1)), inner = uz(p.size(2));
                   for (size_t i = 0; i < p["x"].size(); ++i)
                     p["y"][i / (n * inner) * inner + i % inner] += p["x"][i];
                 }});
  return ops;
}

}  // namespace adj::ops
