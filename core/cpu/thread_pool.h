#pragma once

#include <adjoint/core/parallel.h>

namespace adj::detail {

/// Runs `body` over the chunks of [0, n) on this thread and on pool workers, at most num_threads() in the
/// whole process; returns when all chunks are done. Must not be called from within a chunk.
void run_chunks(int64_t n, int64_t grain, ChunkBody body, void* context);

}  // namespace adj::detail
