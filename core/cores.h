#pragma once

#include <string>

namespace adj {

/// Cores available to this process: its affinity mask, limited by the CPU quota of its control group (v1 or
/// v2). At least 1.
int available_cores();

/// Of processes that were started together (core/launch.h) the share of each in their host's cores, of which
/// fewer are available where the launcher binds it to some; else available_cores().
int shared_cores();

/// ADJOINT_NUM_THREADS, else the first number of OMP_NUM_THREADS, else available_cores(), but no more than
/// shared_cores(); the latter two are limited to kMaxThreads. Throws adj::Error if ADJOINT_NUM_THREADS is not
/// a number from 1 to kMaxThreads.
int default_threads();

namespace detail {

/// Cores that the CPU quotas of this process's control groups and of their ancestors grant; infinite without
/// a quota. `groups`: the list of its groups; `root`: folder of all groups.
double granted_cores(const std::string& groups = "/proc/self/cgroup",
                     const std::string& root = "/sys/fs/cgroup");

}  // namespace detail

}  // namespace adj
