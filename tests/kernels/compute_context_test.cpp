#include <adjoint/data/loader/prefetch.h>
#include <adjoint/kernels/compute_context.h>

#include <thread>

#include <doctest/doctest.h>

using namespace adj;

TEST_CASE("each thread has its own compute context, and a scope restores the previous one") {
  CHECK(compute_context().matmul_precision == MatmulPrecision::exact);
  {
    const ComputeScope outer({.matmul_precision = MatmulPrecision::tf32});
    {
      const ComputeScope inner({.sparse_kernels = SparseKernels::csr});
      CHECK(compute_context().matmul_precision == MatmulPrecision::exact);
      CHECK(compute_context().sparse_kernels == SparseKernels::csr);
      compute_context().aggregation = Aggregation::scatter;
    }
    CHECK(compute_context().matmul_precision == MatmulPrecision::tf32);
    CHECK(compute_context().sparse_kernels == SparseKernels::automatic);
    CHECK(compute_context().aggregation == Aggregation::automatic);
    MatmulPrecision elsewhere = MatmulPrecision::bf16;
    std::thread([&] { elsewhere = compute_context().matmul_precision; }).join();
    CHECK(elsewhere == MatmulPrecision::exact);
  }
  CHECK(compute_context().matmul_precision == MatmulPrecision::exact);
}

TEST_CASE("workers of a prefetcher have the compute context of the thread that made it") {
  for (int workers : {0, 1, 2}) {
    CAPTURE(workers);
    const ComputeScope scope({.aggregation = Aggregation::scatter});
    Prefetcher<int> items(4, [](int64_t) { return static_cast<int>(compute_context().aggregation); },
                          {.workers = workers});
    for (int item : items) CHECK(item == static_cast<int>(Aggregation::scatter));
  }
}
