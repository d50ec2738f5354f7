#include <adjoint/data/detail/pairs.h>
#include <adjoint/data/interactions.h>

#include <algorithm>

namespace adj {

using detail::Pair;
using detail::pairs_of;

Graph interaction_graph(const Tensor& pairs, int64_t users, int64_t items) {
  std::vector<int32_t> src, dst;
  for (const Pair& pair : pairs_of(pairs)) {
    const int32_t user = pair[0], item = static_cast<int32_t>(users) + pair[1];
    src.insert(src.end(), {user, item});
    dst.insert(dst.end(), {item, user});
  }
  return Graph::from_coo(users + items, Tensor::from(src), Tensor::from(dst));
}

UserItems::UserItems(int64_t users, const std::vector<Tensor>& pairs) {
  std::vector<Pair> all;
  for (const Tensor& part : pairs) {
    const std::vector<Pair> more = pairs_of(part);
    all.insert(all.end(), more.begin(), more.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  offsets_.assign(static_cast<size_t>(users) + 1, 0);
  for (const Pair& pair : all) {
    ++offsets_.at(static_cast<size_t>(pair[0]) + 1);
    items_.push_back(pair[1]);
  }
  for (size_t u = 1; u < offsets_.size(); ++u) offsets_[u] += offsets_[u - 1];
}

std::span<const int32_t> UserItems::of_user(int64_t user) const {
  const auto u = static_cast<size_t>(user);
  return std::span(items_).subspan(static_cast<size_t>(offsets_.at(u)),
                                   static_cast<size_t>(offsets_.at(u + 1) - offsets_[u]));
}

std::vector<int32_t> UserItems::users() const {
  std::vector<int32_t> found;
  for (int64_t u = 0; u < num_users(); ++u)
    if (!of_user(u).empty()) found.push_back(static_cast<int32_t>(u));
  return found;
}

}  // namespace adj
