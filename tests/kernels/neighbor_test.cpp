#include "../structures.h"
#include "cases.h"
#include <adjoint/graph/relation.h>
#include <adjoint/kernels/aggregate/neighbor_backward.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>

#include <map>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<Reduce> kAll{Reduce::sum, Reduce::mean, Reduce::max, Reduce::min, Reduce::var, Reduce::std};

/// Skewed rows.
HostCsr skewed(Device device) { return random_structure(skewed_lengths(13001, 30000), 211, device); }

std::vector<HostCsr> structures(Device device) {
  const auto with_loop = [](size_t i) {
    std::vector<int32_t> columns = random_indices(7, 40);
    columns[0] = static_cast<int32_t>(i);
    return columns;
  };
  return {random_structure({3, 0, 1, 17, 0, 5, 2}, 9, device),
          skewed(device),
          structure_of(40, 40, with_loop, device),
          random_structure({0, 0, 0}, 4, device),
          random_structure({}, 3, device),
          random_structure({1, 1}, 1, device),
          random_structure(lengths_at_boundaries(), 97, device)};
}

/// For each row and feature the entry of the largest (or smallest) term(entry, feature) by definition: of
/// equal ones, or of NaNs, the first; -1 in empty rows.
template <class Term>
std::vector<int64_t> winners_of(const HostCsr& s, int64_t width, bool largest, Term&& term) {
  std::vector<int64_t> winners;
  for (size_t i = 0; i < uz(s.csr.rows); ++i)
    for (int64_t f = 0; f < width; ++f) {
      int64_t winner = -1;
      double best = 0.0;
      for (int64_t e = s.offsets[i]; e < s.offsets[i + 1]; ++e) {
        const double now = term(uz(e), f);
        const bool better = std::isnan(now) || (largest ? now > best : now < best);
        if (winner >= 0 && (std::isnan(best) || !better)) continue;
        winner = e;
        best = now;
      }
      winners.push_back(winner);
    }
  return winners;
}

struct Plain {
  std::map<Reduce, Numbers> results;
  std::vector<int32_t> max_winner, min_winner;
};

/// Every reduction by its definition, the variance from the deviations.
Plain reduce_plainly(const HostCsr& s, const Numbers& x, int64_t width) {
  Plain plain;
  const size_t W = uz(width);
  for (Reduce reduce : kAll) plain.results[reduce].resize(uz(s.csr.rows) * W);
  for (const auto& [minmax, sources] :
       {std::pair(Reduce::max, &plain.max_winner), {Reduce::min, &plain.min_winner}}) {
    const auto term = [&](size_t e, int64_t f) { return x[uz(s.indices[e] * width + f)]; };
    const std::vector<int64_t> winners = winners_of(s, width, minmax == Reduce::max, term);
    for (size_t k = 0; k < winners.size(); ++k) {
      const bool found = winners[k] >= 0;
      sources->push_back(found ? s.indices[uz(winners[k])] : -1);
      if (found) plain.results[minmax][k] = term(uz(winners[k]), static_cast<int64_t>(k % W));
    }
  }
  Numbers &sum = plain.results[Reduce::sum], &mean = plain.results[Reduce::mean],
          &var = plain.results[Reduce::var];
  s.each([&](size_t i, size_t j, size_t) {
    for (size_t f = 0; f < W; ++f) {
      sum[i * W + f] += x[j * W + f];
      mean[i * W + f] += x[j * W + f] / s.length(i);
    }
  });
  s.each([&](size_t i, size_t j, size_t) {
    for (size_t f = 0; f < W; ++f)
      var[i * W + f] += std::pow(x[j * W + f] - mean[i * W + f], 2) / s.length(i);
  });
  for (size_t k = 0; k < var.size(); ++k)
    plain.results[Reduce::std][k] = var[k] <= kSmallestVariance ? 0.0 : std::sqrt(var[k]);
  return plain;
}

struct Reduced {
  Tensor y, max_winner, min_winner, mean;
};

Reduced reduced(const HostCsr& s, const Tensor& x, const std::vector<Reduce>& reduce) {
  const kernels::ReductionSet set("test", reduce);
  const Shape of_rows{s.csr.rows, x.size(1)};
  const Device device = x.device();
  Reduced r;
  r.y = Tensor::full({s.csr.rows, set.count * x.size(1)}, 77.0, x.dtype(), device);
  if (set.has(Reduce::max)) r.max_winner = Tensor::full(of_rows, 55.0, DType::i32, device);
  if (set.has(Reduce::min)) r.min_winner = Tensor::full(of_rows, 55.0, DType::i32, device);
  if (set.has_moments()) r.mean = Tensor::full(of_rows, 77.0, accumulator_dtype(x.dtype()), device);
  kernels::neighbor_reduce({.a = s.csr,
                            .x = x,
                            .reduce = reduce,
                            .y = r.y,
                            .max_winner = r.max_winner,
                            .min_winner = r.min_winner,
                            .mean = r.mean});
  return r;
}

/// The winners of the maximum only.
Tensor max_winner(const HostCsr& s, const Tensor& x) { return reduced(s, x, {Reduce::max}).max_winner; }

/// Columns [part width, (part + 1) width) of y.
Numbers part_of(const Tensor& y, int64_t part, int64_t width) {
  const Numbers all = values(y);
  Numbers columns;
  for (int64_t i = 0; i < y.size(0); ++i)
    for (int64_t f = 0; f < width; ++f) columns.push_back(all[uz(i * y.size(1) + part * width + f)]);
  return columns;
}

void check_winners(const Reduced& r, const Plain& plain) {
  if (r.max_winner) CHECK(r.max_winner.to_vector<int32_t>() == plain.max_winner);
  if (r.min_winner) CHECK(r.min_winner.to_vector<int32_t>() == plain.min_winner);
}
/// Maxima and minima are exact.
void check_reduced(const Reduced& r, const std::vector<Reduce>& reduce, const Plain& plain, int64_t width,
                   double bound) {
  for (size_t k = 0; k < reduce.size(); ++k) {
    CAPTURE(name_of(reduce[k]));
    const bool exact = reduce[k] == Reduce::max || reduce[k] == Reduce::min;
    CHECK(close(Tensor::from(part_of(r.y, static_cast<int64_t>(k), width)), plain.results.at(reduce[k]),
                exact ? 0.0 : bound));
  }
  check_winners(r, plain);
}

/// The gradient of the winners by plain loops.
Numbers to_winners(const std::vector<int32_t>& winner, const Numbers& dy, int64_t cols, int64_t width) {
  Numbers dx(uz(cols * width), 0.0);
  for (size_t k = 0; k < winner.size(); ++k)
    if (winner[k] >= 0) dx[uz(winner[k] * width) + k % uz(width)] += dy[k];
  return dx;
}

Csr transposed(const HostCsr& s) { return Relation::from_csr(s.csr).transposed(); }

/// Calls f(transposed) for each method of the gradient on this device: with null they are
/// scattered.
template <class F>
void for_each_method(DType dtype, Device device, const Csr& back, F f) {
  for (const Csr* structure : {&back, static_cast<const Csr*>(nullptr)}) {
    if (!structure && device.is_cuda() && dtype == DType::f64) continue;  // has no fixed point
    CAPTURE(structure != nullptr);
    f(structure);
  }
}

/// dx [cols, width of dy] of a maximum or minimum.
Tensor minmax_gradient(const Tensor& winner, const Tensor& dy, const Csr* back, int64_t cols) {
  Tensor dx = Tensor::full({cols, dy.size(1)}, NAN, dy.dtype(), dy.device());
  kernels::neighbor_minmax_backward({.winner = winner, .dy = dy, .transposed = back, .dx = dx});
  return dx;
}

/// Entries with weights, in another order if `ordered`.
struct Weighted : Edges {
  Tensor weight;
  Numbers of_place;

  Weighted(const HostCsr& s, DType dtype, bool ordered)
      : Edges(s, ordered),
        weight(random_tensor({count()}, accumulator_dtype(dtype), csr.device())),  // of either sign
        of_place(values(weight)) {}
  size_t place(size_t entry) const { return uz(edge[entry]); }
  /// An entry's term for feature f, rounded as in the comparison.
  double term(const Numbers& x, size_t entry, int64_t width, int64_t f) const {
    const double product = of_place[place(entry)] * x[uz(indices[entry] * width + f)];
    return weight.dtype() == DType::f64 ? product : static_cast<double>(static_cast<float>(product));
  }
  /// The entries of the maxima (or minima).
  std::vector<int64_t> winners(const Numbers& x, int64_t width, bool largest) const {
    return winners_of(*this, width, largest, [&](size_t e, int64_t f) { return term(x, e, width, f); });
  }
  /// A maximum (or minimum), and the places of its winners.
  std::pair<Tensor, Tensor> reduced(const Tensor& x, bool largest) const {
    Tensor y = Tensor::full({rows(), x.size(1)}, 77.0, x.dtype(), x.device());
    Tensor winner = Tensor::full(y.shape(), 55.0, DType::i32, x.device());
    const std::vector<Reduce> one{largest ? Reduce::max : Reduce::min};
    kernels::neighbor_reduce({.a = csr,
                              .x = x,
                              .reduce = one,
                              .weight = weight,
                              .order = order,
                              .y = y,
                              .max_winner = largest ? winner : Tensor(),
                              .min_winner = largest ? Tensor() : winner});
    return {y, winner};
  }
  /// Its gradients for dy: dx, over the transposed structure, and dw, over the list of entries.
  std::pair<Tensor, Tensor> backward(const Tensor& x, const Tensor& dy, const Tensor& winner) const {
    Tensor dx = Tensor::full(x.shape(), NAN, x.dtype(), x.device()),
           dw = Tensor::full(weight.shape(), NAN, weight.dtype(), x.device());
    kernels::neighbor_minmax_backward({.winner = winner,
                                       .dy = dy,
                                       .transposed = &transposed,
                                       .weight = weight,
                                       .order = transposed_order,
                                       .dx = dx});
    HostCoo list{rows(), cols(), edge, edge};
    each([&](size_t i, size_t j, size_t entry) {
      list.row[entry] = static_cast<int32_t>(i);
      list.col[entry] = static_cast<int32_t>(j);
    });
    kernels::minmax_weight_gradient({.a = list.to(x.device()), .winner = winner, .dy = dy, .x = x, .dw = dw});
    return {dx, dw};
  }
};

const std::vector<int64_t> kWidths{0, 1, 3, 8, 33, 64, 128, 256, 1024};
const Numbers kRare{0.0, NAN, INFINITY, -INFINITY};

/// 60 rows of few different values, so that most are equal, and all equal in the last column.
Numbers few_values(int64_t width, double rare) {
  Numbers x = mapped(random_tensor({60, width}), [](double v) { return std::round(v); });
  for (size_t k = 0; k < x.size(); ++k)
    if (k % 17 == 3 || static_cast<int64_t>(k) % width == width - 1) x[k] = rare;
  return x;
}

}  // namespace

TEST_CASE("neighbor_reduce gives one or several reductions in one pass, in any order") {
  on_devices_and_features([](Device device, DType dtype) {
    const std::vector<std::vector<Reduce>> sets{kAll,
                                                {Reduce::mean, Reduce::min, Reduce::max, Reduce::std},
                                                {Reduce::min, Reduce::max},
                                                {Reduce::std, Reduce::sum},
                                                {Reduce::max},
                                                {Reduce::min},
                                                {Reduce::var},
                                                {Reduce::max, Reduce::mean}};
    for (const HostCsr& s : structures(device))
      for (int64_t width : kWidths) {
        if (s.csr.rows >= 300 && width > 256) continue;
        const Tensor x = random_tensor({s.csr.cols, width}, dtype, device);
        const Plain plain = reduce_plainly(s, values(x), width);
        for (const std::vector<Reduce>& reduce : sets) {
          CAPTURES(s.csr.rows, width, reduce.size());
          const Reduced r = reduced(s, x, reduce);
          const double bound = dtype == DType::f64 ? 1e-11 : dtype == DType::bf16 ? 8e-3 : 2e-4;
          check_reduced(r, reduce, plain, width, bound);
          if (r.mean)
            CHECK(close(r.mean, plain.results.at(Reduce::mean), dtype == DType::f64 ? 1e-11 : 2e-4));
        }
      }
  });
}

TEST_CASE("ties go to the first entry of the row, also for infinities; a NaN wins over all") {
  on_devices_and_features([](Device device, DType dtype) {
    const std::vector<int64_t> lengths{4, 2, 300, 20000, 0, 7};
    const HostCsr in_order = random_structure(lengths, 60, device),
                  as_drawn = random_structure(lengths, 60, device, false);
    for (int64_t width : {1, 2, 4, 33, 128})
      for (double rare : kRare) {
        const HostCsr& s = width % 4 == 0 ? as_drawn : in_order;
        CAPTURES(width, rare);
        const Numbers x = few_values(width, rare);
        const Tensor input = tensor_of(x, {60, width}, dtype, device);
        const Plain plain = reduce_plainly(s, x, width);
        const Reduced max = reduced(s, input, {Reduce::max}), min = reduced(s, input, {Reduce::min});
        const Reduced all = reduced(s, input, kAll);
        check_winners(max, plain);
        check_winners(min, plain);
        CHECK(same_bits(all.max_winner, max.max_winner));
        CHECK(same_bits(all.min_winner, min.min_winner));
        const Numbers largest = values(max.y), mean = part_of(all.y, 1, width),
                      deviation = part_of(all.y, 5, width);
        for (size_t k = 0; k < largest.size(); ++k) {
          const double expected = plain.results.at(Reduce::max)[k];
          CHECK((largest[k] == expected || (std::isnan(largest[k]) && std::isnan(expected))));
          if (std::isnan(expected)) {
            CHECK(std::isnan(mean[k]));
            CHECK(std::isnan(deviation[k]));
          }
        }
      }
  });
}

TEST_CASE("a variance far below the squared mean keeps its digits") {
  on_devices({DType::f32}, [](Device device, DType) {
    const HostCsr s = random_structure({5, 40, 3000, 20000}, 500, device);
    Numbers x = values(random_tensor({500, 8}));
    for (double& v : x) v += 3000.0;
    const Tensor input = tensor_of(x, {500, 8}, DType::f32, device);
    const Plain plain = reduce_plainly(s, values(input), 8);
    CHECK(close(reduced(s, input, {Reduce::var}).y, plain.results.at(Reduce::var), 1e-4));
  });
}

TEST_CASE("reductions and their gradients have the same bits on any number of threads and in every run") {
  on_devices({DType::f32, DType::bf16}, [](Device device, DType dtype) {
    const HostCsr s = skewed(device);
    const Tensor x = random_tensor({s.csr.cols, 72}, dtype, device);
    CHECK(same_bits_on_any_threads([&] {
      const Reduced r = reduced(s, x, kAll);
      return std::vector{r.y, r.max_winner};
    }));
    // A reduction has the same bits alone and together with others.
    const Reduced all = reduced(s, x, kAll);
    CHECK(values(reduced(s, x, {Reduce::min}).y) == part_of(all.y, 3, 72));
    CHECK(values(reduced(s, x, {Reduce::std}).y) == part_of(all.y, 5, 72));
    const Weighted w(s, dtype, false);
    const Tensor dy = random_tensor({s.csr.rows, 72}, dtype, device);
    CHECK(same_bits_on_any_threads([&] {
      const auto [y, winner] = w.reduced(x, true);
      const auto [dx, dw] = w.backward(x, dy, winner);
      return std::vector{y, dx, dw};
    }));
    const Tensor wide = random_tensor({s.csr.cols, 200}, dtype, device),
                 d_wide = random_tensor({s.csr.rows, 200}, dtype, device), winner = max_winner(s, wide);
    for_each_method(dtype, device, transposed(s), [&](const Csr* structure) {
      CHECK(same_bits_on_any_threads([&] { return minmax_gradient(winner, d_wide, structure, s.csr.cols); }));
    });
  });
}

TEST_CASE("neighbor_minmax_backward adds each gradient to its winner, by every method") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const HostCsr& s : structures(device)) {
      const Csr back = transposed(s);
      for (int64_t width : kWidths) {
        if (s.csr.rows >= 300 && width > 256) continue;
        CAPTURES(s.csr.rows, width);
        const Tensor x = random_tensor({s.csr.cols, width}, dtype, device);
        const Tensor winner = max_winner(s, x);
        const Tensor dy = random_tensor({s.csr.rows, 3 * width}, dtype, device);
        const Numbers expected =
            to_winners(winner.to_vector<int32_t>(), part_of(dy, 2, width), s.csr.cols, width);
        for_each_method(dtype, device, back, [&](const Csr* structure) {
          Tensor dx = random_tensor({s.csr.cols, width}, dtype, device);
          Numbers sum = values(dx);
          for (size_t k = 0; k < sum.size(); ++k) sum[k] += expected[k];
          for (bool accumulate : {true, false}) {
            kernels::neighbor_minmax_backward({.winner = winner,
                                               .dy = dy,
                                               .part = 2,
                                               .transposed = structure,
                                               .accumulate = accumulate,
                                               .dx = dx});
            CHECK(close(dx, accumulate ? sum : expected, tolerance(dtype)));
          }
        });
      }
    }
  });
}

TEST_CASE("a parallel edge contributes its gradient once, adjacent in the transposed structure or not") {
  on_devices_and_features([](Device device, DType dtype) {
    const auto check = [&](const HostCsr& s, const Csr& back, int64_t width, bool largest) {
      const Tensor x = random_tensor({s.csr.cols, width}, dtype, device),
                   dy = random_tensor({s.csr.rows, width}, dtype, device);
      const Reduced r = reduced(s, x, {largest ? Reduce::max : Reduce::min});
      const Tensor winner = largest ? r.max_winner : r.min_winner;
      const Numbers expected = to_winners(winner.to_vector<int32_t>(), values(dy), s.csr.cols, width);
      for_each_method(dtype, device, back, [&](const Csr* structure) {
        CHECK(close(minmax_gradient(winner, dy, structure, s.csr.cols), expected, tolerance(dtype)));
      });
    };
    const HostCsr four = random_structure({4, 1}, 1, device);  // one source four times
    check(four, transposed(four), 5, false);
    const HostCsr s = random_structure({4, 900, 3, 20}, 30, device);
    Csr back = transposed(s);
    // Every other target of each source before the rest.
    const std::vector<int64_t> offsets = back.offsets.to_vector<int64_t>();
    const std::vector<int32_t> targets = back.indices.to_vector<int32_t>();
    std::vector<int32_t> mixed;
    for (size_t j = 0; j + 1 < offsets.size(); ++j)
      for (int64_t start : {0, 1})
        for (int64_t e = offsets[j] + start; e < offsets[j + 1]; e += 2) mixed.push_back(targets[uz(e)]);
    back.indices = Tensor::from(mixed, device);
    back.ascending = false;
    check(s, back, 33, true);
  });
}

TEST_CASE("neighbor_reduce computes weighted maxima and minima, and their gradients") {
  on_devices_and_features([](Device device, DType dtype) {
    for (const HostCsr& s : structures(device))
      for (bool ordered : {false, true}) {
        const Weighted w(s, dtype, ordered);
        for (int64_t width : {0, 1, 3, 8, 33, 64, 128, 256})
          for (bool largest : {true, false}) {
            CAPTURES(s.csr.rows, ordered, width, largest);
            const Tensor x = random_tensor({s.csr.cols, width}, dtype, device);
            const Tensor dy = random_tensor({s.csr.rows, width}, dtype, device);
            const auto [y, winner] = w.reduced(x, largest);
            const Numbers X = values(x), dY = values(dy);
            const std::vector<int64_t> winners = w.winners(X, width, largest);
            Numbers expected(winners.size()), dx(X.size()), dw(w.of_place.size());
            std::vector<int32_t> places(winners.size(), -1);
            for (size_t k = 0; k < winners.size(); ++k) {
              if (winners[k] < 0) continue;
              const int64_t f = static_cast<int64_t>(k) % width;
              const size_t e = uz(winners[k]), place = w.place(e), source = uz(s.indices[e] * width + f);
              places[k] = w.edge[e];
              expected[k] = w.term(X, e, width, f);
              dx[source] += w.of_place[place] * dY[k];
              dw[place] += X[source] * dY[k];
            }
            CHECK(winner.to_vector<int32_t>() == places);
            CHECK(values(y) == values(Tensor::from(expected, y.shape()).to(dtype)));
            const auto [seen_dx, seen_dw] = w.backward(x, dy, winner);
            CHECK(close(seen_dx, dx, tolerance(dtype)));
            CHECK(close(seen_dw, dw, tolerance(accumulator_dtype(dtype))));
          }
      }
  });
}

TEST_CASE("ties of weighted terms go to the first entry, and a NaN wins over all") {
  on_devices_and_features([](Device device, DType dtype) {
    const HostCsr s = random_structure({4, 2, 300, 20000, 0, 7}, 60, device);
    for (int64_t width : {1, 4, 33, 128})
      for (double rare : kRare) {
        CAPTURES(width, rare);
        Weighted w(s, dtype, true);
        for (double& v : w.of_place) v = std::round(v);  // some are 0, and turn an infinity into NaN
        w.weight = Tensor::from(w.of_place, w.weight.shape()).to(w.weight.dtype()).to(device);
        const Numbers x = few_values(width, rare);
        const Tensor input = tensor_of(x, {60, width}, dtype, device);
        for (bool largest : {true, false}) {
          CAPTURE(largest);
          const auto [y, winner] = w.reduced(input, largest);
          std::vector<int32_t> places;
          for (int64_t e : w.winners(x, width, largest)) places.push_back(e < 0 ? -1 : w.edge[uz(e)]);
          CHECK(winner.to_vector<int32_t>() == places);
        }
      }
  });
}

TEST_CASE("neighbor_minmax_backward is precise at every scale and passes on NaN and infinities") {
  on_devices({DType::f32, DType::bf16}, [](Device device, DType dtype) {
    const HostCsr s = skewed(device);
    const Csr back = transposed(s);
    constexpr int64_t kWidth = 24;
    const Tensor x = random_tensor({s.csr.cols, kWidth}, dtype, device);
    const Tensor winner = max_winner(s, x);
    const std::vector<int32_t> winners = winner.to_vector<int32_t>();
    const Numbers plain = values(random_tensor({s.csr.rows, kWidth}));
    for (double scale : {1e-44, 1e-30, 1.0, 1e30})
      for_each_method(dtype, device, back, [&](const Csr* structure) {
        CAPTURE(scale);
        Numbers scaled = plain;
        for (double& v : scaled) v *= scale;
        scaled[10] = 0.0;
        const auto gradient = [&](const Tensor& dy) {
          return values(minmax_gradient(winner, dy, structure, s.csr.cols));
        };
        const auto upstream = [&] { return tensor_of(scaled, {s.csr.rows, kWidth}, dtype, device); };
        const Numbers expected = to_winners(winners, values(upstream()), s.csr.cols, kWidth);
        Numbers seen = gradient(upstream());
        double largest = 0.0, worst = 0.0;
        for (size_t k = 0; k < seen.size(); ++k) {
          largest = std::max(largest, std::abs(expected[k]));
          worst = std::max(worst, std::abs(seen[k] - expected[k]));
        }
        CHECK(worst <= std::max(tolerance(dtype) * largest, 1.5e-45 * (dtype == DType::bf16 ? 65536 : 2)));
        // One NaN and two infinities: at their positions only.
        scaled[5] = NAN;
        scaled[uz(2 * kWidth + 7)] = -INFINITY;
        scaled[uz(250 * kWidth + 9)] = INFINITY;
        seen = gradient(upstream());
        const Numbers marked = to_winners(winners, scaled, s.csr.cols, kWidth);
        bool right = true;
        for (size_t k = 0; k < seen.size(); ++k)
          right = right && std::isfinite(seen[k]) == std::isfinite(marked[k]);
        CHECK(right);
      });
  });
}

TEST_CASE("results larger than the caches, at any address") {
  on_devices({DType::f32, DType::bf16}, [](Device device, DType dtype) {
    std::vector<int64_t> lengths(70000);
    for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int64_t>(i % 4);
    constexpr int64_t kCols = 90000, kWidth = 68;
    const HostCsr s = random_structure(lengths, kCols, device);
    for (int64_t offset : {0, 1}) {
      CAPTURE(offset);
      const Tensor x = at_offset(offset, random_tensor({kCols, kWidth}, dtype, device)),
                   dy = at_offset(offset, random_tensor({s.csr.rows, kWidth}, dtype, device));
      Tensor y = at_offset(offset, dy), dx = at_offset(offset, x),
             winner = Tensor::empty(y.shape(), DType::i32, device);
      kernels::neighbor_reduce(
          {.a = s.csr, .x = x, .reduce = std::vector<Reduce>{Reduce::max}, .y = y, .max_winner = winner});
      const Plain plain = reduce_plainly(s, values(x), kWidth);
      CHECK(values(y) == plain.results.at(Reduce::max));
      CHECK(winner.to_vector<int32_t>() == plain.max_winner);
      const Numbers expected = to_winners(plain.max_winner, values(dy), kCols, kWidth);
      for_each_method(dtype, device, transposed(s), [&](const Csr* structure) {
        kernels::neighbor_minmax_backward({.winner = winner, .dy = dy, .transposed = structure, .dx = dx});
        CHECK(close(dx, expected, tolerance(dtype)));
      });
    }
  });
}

TEST_CASE("reductions reject mismatched arguments") {
  const HostCsr s = random_structure({2, 1}, 3);
  const Tensor x = Tensor::zeros({3, 4}), dy = Tensor::zeros({2, 4}), weight = Tensor::zeros({3}),
               winner = Tensor::zeros({2, 4}, DType::i32);
  Tensor y = Tensor::zeros({2, 8}), dx = Tensor::zeros({3, 4});
  const auto reduce = [&](const std::vector<Reduce>& list, const Tensor& weights = {}, Tensor of_max = {}) {
    kernels::neighbor_reduce(
        {.a = s.csr, .x = x, .reduce = list, .weight = weights, .y = y, .max_winner = of_max});
  };
  CHECK_ERROR(reduce({Reduce::max, Reduce::max}), "neighbor_reduce: max is requested twice");
  CHECK_ERROR(reduce({}), "neighbor_reduce: no reduction is requested");
  CHECK_ERROR(reduce({Reduce::sum, Reduce::mean}, {}, winner),
              "neighbor_reduce: argmax is requested without max");
  CHECK_ERROR(reduce({Reduce::max}),
              "neighbor_reduce: y is [2, 8] float32 on cpu, expected [2, 4] float32 on cpu");
  CHECK_ERROR(reduce({Reduce::sum, Reduce::mean}, weight),
              "neighbor_reduce: weights are allowed for max or min only, not for 2 reductions with sums");
  CHECK_ERROR(kernels::neighbor_minmax_backward({.winner = winner, .dy = dy, .weight = weight, .dx = dx}),
              "neighbor_minmax_backward: the gradient of weighted terms is gathered: expected the transposed "
              "structure");
  CHECK_ERROR(kernels::neighbor_minmax_backward({.winner = winner, .dy = y, .part = 2, .dx = dx}),
              "neighbor_minmax_backward: part 2 of dy [2, 8] float32 on cpu for dx [3, 4] float32 on cpu");
  const Csr other = random_structure({1}, 2).csr;
  CHECK_ERROR(kernels::neighbor_minmax_backward({.winner = winner, .dy = dy, .transposed = &other, .dx = dx}),
              "neighbor_minmax_backward: transposed structure [1, 2] on cpu for dx [3, 4] float32 on cpu and "
              "dy [2, 4] float32 on cpu");
}
