#pragma once

#include <cstdint>

namespace adj::kernels {

/// Which code computes spmm on a GPU. `own`: kernels that sum every row in entry order, cut where the
/// structure says. `cusparse`: the vendor's, to compare with; it sums in another order and not in the same
/// one in every run, so that nothing chooses it by itself. `automatic` is `own`.
enum class SpmmBackend : uint8_t { automatic, own, cusparse };

/// For the whole process, from the next call on.
void set_spmm_backend(SpmmBackend backend);
SpmmBackend spmm_backend();

}  // namespace adj::kernels
