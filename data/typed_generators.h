#pragma once

#include <adjoint/data/typed_dataset.h>

namespace adj {

/// A dataset for benchmarks, with nothing to learn, of the types and counts of ogbn-mag (Hu et al. 2020)
/// times `scale` in (0, 1]: 736,389 papers with 128 normal features, one of 349 classes and a year (split by
/// it), 1,134,649 authors, 8,740 institutions and 59,965 fields of study without features; 1,043,998
/// affiliated_with, 7,145,660 writes, 5,416,271 cites and 7,505,078 has_topic edges, whose ends are drawn by
/// a power law. Throws adj::Error for another scale, and one that leaves fewer than 10 papers.
TypedDataset make_mag_dataset(double scale, uint64_t seed);

/// Options of make_taste_dataset(). `seed` is that of all draws.
struct TasteOptions {
  int64_t users = 600;        ///< number of users
  int64_t items = 400;        ///< number of items
  int64_t tastes = 8;         ///< of users and items, of as many each
  int64_t interactions = 24;  ///< mean number of a user's, which are half to one and a half times as many
  double signal = 0.8;        ///< share of draws among the items of the user's taste
  uint64_t seed = 1;
};

/// Users and items with planted tastes, named user0 and item0: "user:took:item" edges without features,
/// weights, times or splits. An item is drawn by its popularity, a power law of its random rank, among those
/// of the user's taste or of all; a user has no item twice. Throws adj::Error for options out of range, and
/// for users who would have more than half of the items.
TypedDataset make_taste_dataset(const TasteOptions& options);

}  // namespace adj
