#include <adjoint/kernels/spmm_backend.h>

#include <atomic>

namespace adj::kernels {

namespace {

std::atomic<SpmmBackend> current{SpmmBackend::automatic};

}  // namespace

void set_spmm_backend(SpmmBackend backend) { current.store(backend, std::memory_order_relaxed); }
SpmmBackend spmm_backend() { return current.load(std::memory_order_relaxed); }

}  // namespace adj::kernels
