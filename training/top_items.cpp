#include <adjoint/autograd/choose.h>
#include <adjoint/autograd/sort.h>
#include <adjoint/autograd/triple.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/sparse_matrix.h>
#include <adjoint/kernels/index/gather.h>
#include <adjoint/training/detail/most_scores.h>
#include <adjoint/training/top_items.h>

#include <algorithm>
#include <limits>

namespace adj::training {

namespace {

constexpr double kLeftOut = -std::numeric_limits<double>::infinity();

/// uint8 [Q, items]: 1 where a user has the item.
Tensor mask_of(std::span<const int32_t> users, const UserItems& known, int64_t items, Device device) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> columns;
  for (const int32_t user : users) {
    const std::span<const int32_t> row = known.of_user(user);
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(std::ssize(columns));
  }
  return greater(SparseMatrix::from_csr(std::ssize(users), items, offsets, columns, {}).to(device).to_dense(),
                 0.0);
}

}  // namespace

void top_items(const Tensor& vectors, std::span<const int32_t> users, const UserItems& known, int64_t k,
               const std::function<void(int64_t, const TopItems&)>& visit) {
  const NoGrad no_grad;
  const int64_t items = vectors.size(0) - known.num_users(), count = std::ssize(users);
  const int64_t step = std::clamp<int64_t>(most_scores(vectors.device()) / std::max<int64_t>(1, items), 1,
                                           std::max<int64_t>(1, count));
  const Var of_items(vectors.rows(known.num_users(), vectors.size(0)));
  for (int64_t begin = 0; begin < count; begin += step) {
    const auto part =
        users.subspan(static_cast<size_t>(begin), static_cast<size_t>(std::min(step, count - begin)));
    Tensor x = Tensor::empty({std::ssize(part), vectors.size(1)}, vectors.dtype(), vectors.device());
    const Tensor rows = Tensor::from(std::vector<int32_t>(part.begin(), part.end()), vectors.device());
    kernels::gather_rows({.x = vectors, .index = rows, .y = x});
    const Var scores = where(mask_of(part, known, items, vectors.device()), kLeftOut,
                             entity_scores(TripleScore::dot, Var(x), of_items));
    const Sorted best = topk(scores, std::min(k, items));
    TopItems lists{best.indices.to(Device::cpu()), best.values.value().to(Device::cpu())};
    int32_t* item = lists.items.mutable_data<int32_t>();
    const float* score = lists.scores.data<float>();
    for (int64_t i = 0; i < lists.items.numel(); ++i)
      if (score[i] == static_cast<float>(kLeftOut)) item[i] = -1;
    visit(begin, lists);
  }
}

nn::TopKMetrics top_k_metrics(const Tensor& vectors, const UserItems& wanted, const UserItems& known,
                              int64_t k, const std::vector<int32_t>& popularity) {
  nn::TopKSums sums(k, vectors.size(0) - known.num_users(), popularity);
  const std::vector<int32_t> users = wanted.users();
  top_items(vectors, users, known, k, [&](int64_t first, const TopItems& lists) {
    const int64_t width = lists.items.size(1);
    const std::span all(lists.items.data<int32_t>(), static_cast<size_t>(lists.items.numel()));
    for (int64_t q = 0; q < lists.items.size(0); ++q)
      sums.add(all.subspan(static_cast<size_t>(q * width), static_cast<size_t>(width)),
               wanted.of_user(users[static_cast<size_t>(first + q)]));
  });
  return sums.result();
}

}  // namespace adj::training
