#include "loader_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

using Batch = std::vector<int64_t>;

/// Batches of the numbers 0 to 22: the items of a batch, then its draw.
Loader<Batch> numbers(const LoaderOptions& options, bool even = false, int64_t count = 23) {
  return {{.loader = "own loader",
           .things = "numbers",
           .items = every(count),
           .device = Device::cpu(),
           .batch_size = 4,
           .even = even},
          options,
          [](const BatchIndex& index) {
            const std::vector<int32_t> items = index.items.to_vector<int32_t>();
            Batch batch(items.begin(), items.end());
            batch.push_back(static_cast<int64_t>(index.draws.seed()));
            return batch;
          }};
}

Batch items_of(const std::vector<Batch>& all) {
  Batch items;
  for (const Batch& batch : all) items.insert(items.end(), batch.begin(), batch.end() - 1);
  return items;
}

}  // namespace

TEST_CASE("a user's loader has the same batches for any workers and threads") {
  for (const LoaderOptions& options : {LoaderOptions{.shuffle = true}, {.steps = 6}, {.batch_size = 3}}) {
    (void)epoch_of_any_workers([&](int workers, uint64_t seed) {
      LoaderOptions with = options;
      with.workers = workers;
      with.seed = seed;
      return numbers(with);
    });
  }
}

TEST_CASE("batches equal those of earlier versions") {
  const Batch shuffled = numbers({.shuffle = true, .seed = 7}).batch(2, 1);
  CHECK(Batch(shuffled.begin(), shuffled.end() - 1) == Batch{13, 12, 5, 17});
  CHECK(static_cast<uint64_t>(shuffled.back()) == 9944573069087165545u);
  const Batch dealt = numbers({.shuffle = true, .seed = 7}, true).batch(2, 1);
  CHECK(Batch(dealt.begin(), dealt.end() - 1) == Batch{5, 6, 3, 11});
  const Batch drawn = numbers({.steps = 2, .seed = 7}).batch(2, 1);
  CHECK(Batch(drawn.begin(), drawn.end() - 1) == Batch{9, 14, 0, 17});
}

TEST_CASE("an epoch visits every item once, in order or shuffled, or draws items at random") {
  Batch all(23);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<Batch> in_order = batches(numbers({}), 0);
  CHECK(numbers({}).size() == 6);
  CHECK(numbers({}).options().batch_size == 4);
  CHECK(numbers({}).num_items() == 23);
  CHECK(items_of(in_order) == all);
  CHECK(in_order.back().size() == 4);
  Batch shuffled = items_of(batches(numbers({.shuffle = true}), 0));
  CHECK(shuffled != all);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == all);
  CHECK(items_of(batches(numbers({.shuffle = true, .drop_last = true}), 0)).size() == 20);
  for (const Batch& drawn : batches(numbers({.batch_size = 9, .steps = 5}), 0))
    CHECK(std::set<int64_t>(drawn.begin(), drawn.end() - 1).size() == 9);
  CHECK(batches(numbers({.batch_size = 50, .steps = 5}), 0).front().size() == 24);
  for (const bool even : {false, true})
    for (const int64_t size : {int64_t{23}, std::numeric_limits<int64_t>::max()}) {
      CHECK(numbers({.batch_size = size}, even).size() == 1);
      CHECK(batches(numbers({.batch_size = size}, even), 0).front().size() == 24);
    }
  CHECK(numbers({.batch_size = 23, .drop_last = true}).size() == 1);
  for (const LoaderOptions& options : {LoaderOptions{}, {.shuffle = true}, {.batch_size = 24}, {.steps = 4}})
    CHECK(batches(numbers(options, false, 0), 0).empty());
  // Dealt evenly: 23 in batches of 6 at most.
  for (const Batch& dealt : batches(numbers({.batch_size = 6}, true), 0))
    CHECK((dealt.size() == 6 || dealt.size() == 7));
}

TEST_CASE("errors of all loaders") {
  check_options_refused("own", [](const LoaderOptions& options) { return numbers(options); });
  const auto refused = [](const LoaderOptions& options, const std::string& part, bool even = false) {
    return mentions(error_of([&] { (void)numbers(options, even); }), part);
  };
  CHECK(
      refused({.batch_size = -1}, "own loader: a batch size of -1 and 0 steps, expected 0 or more of each"));
  CHECK(refused({.derive = [](const Graph&) {}}, "derived from a graph"));
  CHECK(refused({.drop_last = true}, "numbers are spread evenly", true));
  for (const int64_t size : {int64_t{24}, std::numeric_limits<int64_t>::max()})
    CHECK(refused({.batch_size = size, .drop_last = true},
                  fmt::format("nothing is left of 23 numbers in batches of {}", size)));
  CHECK_ERROR((void)numbers({}).epoch(-1), "own loader: epoch -1, expected 0 or more");
  CHECK_ERROR((void)numbers({}).batch(0, 6), "own loader: batch 6, expected 0 to 5");
}
