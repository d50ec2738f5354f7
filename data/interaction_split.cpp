#include <adjoint/core/random.h>
#include <adjoint/data/detail/pairs.h>
#include <adjoint/data/interactions.h>

#include <algorithm>

namespace adj {

using detail::Pair;
using detail::pairs_of;

void split_interactions(Interactions& data, InteractionSplit how, double val, double test, uint64_t seed) {
  const std::vector<Pair> all = pairs_of(data.train);
  ADJ_CHECK(how == InteractionSplit::random || data.times, "split by time: interactions without times");
  Generator generator(seed);
  const std::vector<int32_t> draws = random_permutation(std::ssize(all), generator).to_vector<int32_t>();
  const std::vector<int64_t> ranks = how == InteractionSplit::time
                                         ? data.times.to_vector<int64_t>()
                                         : std::vector<int64_t>(draws.begin(), draws.end());
  std::vector<int> part(all.size(), 0);
  for (size_t first = 0, last = 0; first < all.size(); first = last) {
    while (last < all.size() && all[last][0] == all[first][0]) ++last;
    std::vector<size_t> order;
    for (size_t k = first; k < last; ++k) order.push_back(k);
    std::ranges::stable_sort(order, {}, [&](size_t k) { return ranks[k]; });
    const auto share = [&](double part_share) {
      return static_cast<size_t>(part_share * static_cast<double>(order.size()) + 0.5);
    };
    const size_t to_test = std::min(share(test), order.size() - 1),
                 to_val = std::min(share(val), order.size() - 1 - to_test);
    for (size_t k = 0; k < to_test + to_val; ++k) part[order[order.size() - 1 - k]] = k < to_test ? 2 : 1;
  }
  std::array<std::vector<Pair>, 3> parts;
  for (size_t k = 0; k < all.size(); ++k) parts[static_cast<size_t>(part[k])].push_back(all[k]);
  if (parts[1].empty() || parts[2].empty())
    data_fail(
        "split of {} interactions of {} users: {} to validate, {} to test, expected one at least (a user's "
        "share of both is rounded)",
        all.size(), UserItems(data.num_users(), {data.train}).users().size(), parts[1].size(),
        parts[2].size());
  data.train = detail::tensor_of_pairs(parts[0]);
  data.val = detail::tensor_of_pairs(parts[1]);
  data.test = detail::tensor_of_pairs(parts[2]);
  data.times = {};
}

}  // namespace adj
