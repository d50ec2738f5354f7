#pragma once

namespace adj {

/// Cores available to this process: its affinity mask, limited by the CPU quota of its control group (v1 or
/// v2). At least 1.
int available_cores();

/// ADJOINT_NUM_THREADS, else the first number of OMP_NUM_THREADS, else available_cores(); the latter two are
/// limited to kMaxThreads. Throws adj::Error if ADJOINT_NUM_THREADS is not a number from 1 to kMaxThreads.
int default_threads();

}  // namespace adj
