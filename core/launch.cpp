#include <adjoint/core/error.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/text.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace adj {

namespace {

/// The environment's names of a launcher for the members of Launch.
struct Names {
  const char *rank, *ranks, *local_rank, *local_ranks;
};

// An own launcher before the scheduler in whose allocation it runs.
constexpr Names kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
};

/// Absent where the variable is. Slurm writes "4(x2),3" for tasks of hosts: those of the first.
std::optional<int64_t> number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view first = std::string_view(text).substr(0, std::string_view(text).find_first_of("(,"));
  const std::optional<int64_t> number = number_in<int64_t>(first);
  ADJ_CHECK(number && *number >= 0, "{}: expected a number, got '{}'", variable, excerpt(text));
  return number;
}

Launch read_launch() {
  for (const Names& names : kLaunchers) {
    const std::optional<int64_t> rank = number_of(names.rank), ranks = number_of(names.ranks);
    if (!rank || !ranks) continue;
    ADJ_CHECK(*rank < *ranks, "{}={}, expected less than {}={}", names.rank, *rank, names.ranks, *ranks);
    return {*rank, *ranks, number_of(names.local_rank).value_or(0),
            std::max<int64_t>(1, number_of(names.local_ranks).value_or(1))};
  }
  return {};
}

}  // namespace

const Launch& launch() {
  static const Launch known = read_launch();
  return known;
}

}  // namespace adj
