#include <adjoint/autograd/detail/ranks.h>
#include <adjoint/autograd/tape.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/kernels/reduce/reduce.h>

#include <algorithm>
#include <array>

namespace adj::detail {

RandomKey key_of_rows(Generator& generator, Shape x) {
  RandomKey key = generator.next();
  const RankRows* ranks = RankScope::current();
  if (ranks == nullptr) return key;
  constexpr int64_t kDraws = 8;  // in a block
  const int64_t width = x.dims() == 0 || x[0] == 0 ? 0 : x.numel() / x[0];
  const bool own_rows = !ranks->of_batches && x.dims() > 0 && x[0] == ranks->end() - ranks->begin();
  if (own_rows && ranks->begin() * width % kDraws == 0)
    key.first_block = static_cast<uint64_t>(ranks->begin() * width / kDraws);
  else
    key.first_block = static_cast<uint64_t>(ranks->group.rank() + 1) << 40;  // behind all others
  return key;
}

std::vector<int64_t> counts_of_ranks(const RankRows& ranks, int64_t count) {
  // Those of a cut are known, and a captured step cannot ask.
  if (!ranks.of_batches && count == ranks.end() - ranks.begin()) return ranks.counts();
  return ranks.group.gather(Tensor::from(std::vector{count})).to_vector<int64_t>();
}

Tensor stacked_over_ranks(const Group& group, const Tensor& x) {
  std::vector<int64_t> extents{1};
  for (int d = 0; d < x.dims(); ++d) extents.push_back(x.size(d));
  const std::vector<int64_t> one_each(static_cast<size_t>(group.size()), 1);
  return group.gather(x.reshape(Shape{std::span<const int64_t>(extents)}), one_each);
}

void sum_over_ranks(const Group& group, Tensor& x) {
  const Tensor all = stacked_over_ranks(group, x.reshape({x.numel()}));
  Tensor sums = Tensor::empty({x.numel()}, x.dtype(), x.device());
  kernels::sum_rows({.x = all, .y = sums});
  x.copy_(sums.reshape(x.shape()));
}

Var mean_over_ranks(const char* name, const Var& loss, const Tensor& total) {
  const RankRows* ranks = RankScope::current();
  if (ranks == nullptr) return loss;
  Tensor mean = Tensor::empty({}, loss.dtype(), loss.device()), share = Tensor::empty_like(mean);
  // Both in one message, which takes longer than their bytes.
  const std::array<Tensor, 2> parts{loss.value().reshape({1, 1}), total.reshape({1, 1})};
  Tensor both = Tensor::empty({1, 2}, loss.dtype(), loss.device());
  kernels::concat_columns({.parts = parts, .y = both});
  const Tensor all = stacked_over_ranks(ranks->group, both.reshape({2}));
  std::array<Tensor, 2> columns;
  for (Tensor& column : columns) column = Tensor::empty({all.size(0), 1}, loss.dtype(), loss.device());
  kernels::split_columns({.y = all, .parts = columns});
  const Tensor means = columns[0].reshape({all.size(0)}), totals = columns[1].reshape({all.size(0)});
  kernels::merge_means(
      {.means = means, .weights = totals, .set = ranks->group.rank(), .mean = mean, .share = share});
  const auto counts = [](double all) { return all != 0.0; };
  ADJ_CHECK(!loss.device().is_cpu() || std::ranges::any_of(totals.to(DType::f64).to_vector<double>(), counts),
            "{}: no selected row of any rank has a label and a weight above 0", name);
  return record(name, mean, {loss}, [share](Tensor dy, Gradients& out) {
    Tensor scaled = Tensor::empty_like(dy);
    kernels::binary({.op = Binary::multiply, .a = dy, .b = share, .y = scaled});
    out.add(scaled);
  });
}

}  // namespace adj::detail
