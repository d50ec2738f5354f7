#pragma once

#include <adjoint/data/typed_dataset.h>

namespace adj {

/// A dataset for benchmarks, with nothing to learn, of the types and counts of ogbn-mag (Hu et al. 2020)
/// times `scale` in (0, 1]: 736,389 papers with 128 normal features, one of 349 classes and a year (split by
/// it), 1,134,649 authors, 8,740 institutions and 59,965 fields of study without features; 1,043,998
/// affiliated_with, 7,145,660 writes, 5,416,271 cites and 7,505,078 has_topic edges, whose ends are drawn by
/// a power law. Throws adj::Error for another scale, and one that leaves fewer than 10 papers.
TypedDataset make_mag_dataset(double scale, uint64_t seed);

}  // namespace adj
