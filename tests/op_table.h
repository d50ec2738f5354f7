#pragma once

#include "../bench/ops/op.h"

namespace adj::test {

/// Checks every op with each of its sizes and dtypes on all devices: outputs equal the plain loops and are
/// overwritten wholly, inputs do not change, and the bits are the same on any number of threads, at every
/// call, at addresses that are aligned to one element only, and in place where that is allowed. On a GPU also
/// at large sizes.
void hold(const ops::Ops& table);
/// The same with each of these structures, which are on the CPU.
void hold(const ops::Ops& table, const std::vector<ops::Links>& graphs);
/// Short, empty, heavy and no rows, and row lengths at which methods may change; each also transposed, and
/// with edges in another order, and then transposed.
std::vector<ops::Links> graphs_of_rows();

}  // namespace adj::test
