#pragma once

#include <adjoint/core/group.h>

#include <memory>

namespace adj::detail {

/// Moves tensors between the processes that launch() counts, through MPI: those of a GPU by way of the host.
/// Started by the first call, which all of them make, and ended with the program. A process that stops, or
/// whose host does, ends all others: each listens for signs of life of the rank before it
/// (ADJOINT_RANK_TIMEOUT seconds, 8 unless set; 0: for ever). Throws Error where MPI is missing.
std::shared_ptr<Transport> mpi_transport();

/// This process has failed: it ends without waiting for the others.
void leave_mpi();

}  // namespace adj::detail
