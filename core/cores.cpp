#include <adjoint/core/cores.h>
#include <adjoint/core/error.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace adj {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

int cores_of_affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());  // more cores than cpu_set_t can hold
}

/// Quota / period of one control group's folder; "max" and -1 mean no limit.
double cores_of_group(const std::string& folder) {
  double quota = 0.0, period = 0.0;
  if (std::ifstream file(folder + "/cpu.max"); file) {
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0.0 && period > 0.0 ? quota / period : kUnlimited;
}

/// The minimum over the group and its ancestors.
double cores_of_groups(const std::string& root, std::string group) {
  double least = cores_of_group(root);
  while (!group.empty() && group != "/") {
    least = std::min(least, cores_of_group(root + group));
    group.resize(group.rfind('/'));
  }
  return least;
}

/// The leading number of `text`, up to a comma (OpenMP allows a list, one number per level); 0 if none or not
/// an int.
int parse_threads(std::string_view text) {
  return std::max(0, number_in<int>(text.substr(0, text.find(','))).value_or(0));
}

}  // namespace

double detail::granted_cores(const std::string& groups, const std::string& root) {
  std::ifstream file(groups);
  double least = kUnlimited;
  // HIERARCHY:CONTROLLERS:/GROUP; version 2 lists no controllers.
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.compare(second + 1, 1, "/") != 0) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, cores_of_groups(root, group));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, cores_of_groups(root + "/cpu", group));
    }
  }
  return least;
}

int available_cores() {
  const int cores = std::max(1, cores_of_affinity());
  const double granted = std::ceil(detail::granted_cores());
  return granted < cores ? std::max(1, static_cast<int>(granted)) : cores;
}

int shared_cores() {
  const int64_t sharers = launch().local_ranks;
  if (sharers == 1) return available_cores();
  const double host =
      std::min(static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)), std::ceil(detail::granted_cores()));
  return std::max(1, static_cast<int>(host / static_cast<double>(sharers)));
}

int default_threads() {
  if (const char* value = std::getenv("ADJOINT_NUM_THREADS"); value != nullptr && *value != '\0') {
    const int threads = parse_threads(value);
    ADJ_CHECK(threads >= 1 && threads <= kMaxThreads,
              "ADJOINT_NUM_THREADS: expected a number from 1 to {}, got '{}'", kMaxThreads, value);
    return threads;
  }
  if (const char* openmp = std::getenv("OMP_NUM_THREADS"); openmp != nullptr)
    if (const int threads = parse_threads(openmp); threads >= 1) return std::min(threads, kMaxThreads);
  return std::min({shared_cores(), available_cores(), kMaxThreads});
}

}  // namespace adj
