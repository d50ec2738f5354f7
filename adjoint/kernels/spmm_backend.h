#pragma once

#include <cstdint>

namespace adj::kernels {

/// Which code computes spmm on a GPU. `own`: kernels that sum every row in entry order, cut where the
/// structure says. `cusparse`: the vendor's, by the algorithm that its documentation calls deterministic; it
/// sums in another order, so that the two differ in the last bits, and nothing switches between them by
/// measuring. `automatic` is `own`.
enum class SpmmBackend : uint8_t { automatic, own, cusparse };

/// For the whole process, from the next call on.
void set_spmm_backend(SpmmBackend backend);
SpmmBackend spmm_backend();

}  // namespace adj::kernels
