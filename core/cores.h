#pragma once

namespace adj {

/// Cores that this process may keep busy: those of its affinity mask, or fewer where its control group (v1 or
/// v2) is given less processor time than that. At least 1.
int available_cores();

/// ADJOINT_NUM_THREADS, else the first number of OMP_NUM_THREADS, else available_cores(); kMaxThreads where
/// the latter two are more. Throws adj::Error if ADJOINT_NUM_THREADS is set and no number from 1 to
/// kMaxThreads.
int default_threads();

}  // namespace adj
