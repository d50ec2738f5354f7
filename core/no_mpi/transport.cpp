#include <adjoint/core/detail/mpi_transport.h>
#include <adjoint/core/launch.h>

namespace adj::detail {

std::shared_ptr<Transport> mpi_transport() {
  fail(
      "{} processes were started together, but Adjoint was built without MPI: expected libopenmpi-dev, or "
      "another MPI, where it is built",
      launch().ranks);
}
void leave_mpi() {}

}  // namespace adj::detail
