#pragma once

#include "../support.h"

#include <vector>

namespace adj::test {

template <class Loader>
auto batches(const Loader& loader, int64_t epoch) {
  std::vector<decltype(loader.batch(0, 0))> all;
  for (const auto& batch : loader.epoch(epoch)) all.push_back(batch);
  return all;
}

/// Epoch 3 of the loaders that make(workers) makes, which `same` holds against each other: for all workers
/// and threads, and whatever came before.
template <class Make, class Same>
auto epoch_of_any_workers(Make&& make, Same&& same) {
  const auto loader = make(0);
  auto expected = batches(loader, 3);
  for (int threads : {1, 3}) {
    const Threads scope(threads);
    for (int workers : {0, 1, 3}) {
      const auto other = make(workers);
      CHECK(same(batches(other, 3), expected));
      CHECK_FALSE(same(batches(other, 2), expected));
      CHECK(same(batches(other, 3), expected));
    }
  }
  using Batches = decltype(expected);
  CHECK(same(Batches{loader.batch(3, 2)}, Batches{expected[2]}));
  return expected;
}

}  // namespace adj::test
