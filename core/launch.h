#pragma once

#include <cstdint>

namespace adj {

/// The place of this process among those that mpirun or srun started together.
struct Launch {
  int64_t rank = 0;         ///< of this process
  int64_t ranks = 1;        ///< processes
  int64_t local_rank = 0;   ///< among those of this host
  int64_t local_ranks = 1;  ///< of this host
};

/// What the launcher says in the environment (Open MPI, MPICH, Intel MPI, Slurm); one process without one.
/// Throws Error if it is no such numbers.
const Launch& launch();

}  // namespace adj
