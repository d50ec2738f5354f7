#include "../support.h"

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime_api.h>)
#include <adjoint/core/cuda/nccl.h>

#include <nccl.h>

using namespace adj::cuda::nccl;

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(int{ncclSuccess} == static_cast<int>(Result::success));
static_assert(int{ncclInProgress} == static_cast<int>(Result::in_progress));
static_assert(int{ncclUint8} == static_cast<int>(DataType::bytes));
static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Config, cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(Config, least_blocks) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(Config, most_blocks) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(Config, network) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Config, shares_on_split) == offsetof(ncclConfig_t, splitShare));

TEST_CASE("the settings of NCCL are those that its header begins with") {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const Config ours;
  CHECK(ours.magic == theirs.magic);
  CHECK(ours.blocking == theirs.blocking);
  CHECK(ours.network == theirs.netName);
  CHECK(ours.shares_on_split == theirs.splitShare);
  CHECK(ours.version <= theirs.version);
  CHECK(ours.size <= theirs.size);
}
#else
TEST_CASE("the settings of NCCL are those that its header begins with") {
  MESSAGE("skipped: nccl.h is not installed");
}
#endif
