#pragma once

#include <adjoint/core/shared_library.h>

#include <climits>
#include <cstddef>

#include <cuda_runtime_api.h>

/// What nccl.h declares alike from 2.22 on, so that a build needs no header and a program runs with any of
/// these versions. tests/core/nccl_test.cpp compares it with the header where that is installed.
namespace adj::cuda::nccl {

struct UniqueId {
  char bytes[128];
};

using Communicator = struct ncclComm*;

enum class Result : int { success = 0, in_progress = 7 };
enum class DataType : int { bytes = 1 };

/// The members of 2.22: NCCL reads as many as `size` says.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 22200;
  int blocking = INT_MIN, cluster_size = INT_MIN, least_blocks = INT_MIN, most_blocks = INT_MIN;
  const char* network = nullptr;
  int shares_on_split = INT_MIN;
};

/// NCCL's functions by the names that the library has.
struct Library {
  SharedLibrary library;
#define ADJ_FUNCTION(name, ...) Result (*name)(__VA_ARGS__) = library.function<Result(__VA_ARGS__)>(#name)
  ADJ_FUNCTION(ncclGetVersion, int*);
  ADJ_FUNCTION(ncclGetUniqueId, UniqueId*);
  ADJ_FUNCTION(ncclCommInitRankConfig, Communicator*, int ranks, UniqueId, int rank, Config*);
  ADJ_FUNCTION(ncclCommSplit, Communicator, int color, int key, Communicator*, Config*);
  ADJ_FUNCTION(ncclCommGetAsyncError, Communicator, Result*);
  ADJ_FUNCTION(ncclCommFinalize, Communicator);
  ADJ_FUNCTION(ncclCommDestroy, Communicator);
  ADJ_FUNCTION(ncclCommAbort, Communicator);
  ADJ_FUNCTION(ncclGroupStart);
  ADJ_FUNCTION(ncclGroupEnd);
  ADJ_FUNCTION(ncclSend, const void*, size_t count, DataType, int peer, Communicator, cudaStream_t);
  ADJ_FUNCTION(ncclRecv, void*, size_t count, DataType, int peer, Communicator, cudaStream_t);
#undef ADJ_FUNCTION
  const char* (*ncclGetErrorString)(Result) = library.function<const char*(Result)>("ncclGetErrorString");
  const char* (*ncclGetLastError)(Communicator) =
      library.function<const char*(Communicator)>("ncclGetLastError");
};

/// Loads libnccl.so.2 on the first call. Throws Error if it cannot be loaded or is older than 2.22.
const Library& library();

}  // namespace adj::cuda::nccl
