#include <adjoint/core/cuda/check.h>
#include <adjoint/core/error.h>

#include <string_view>

namespace adj::cuda {

namespace {

// The last two folders and the file name, independent of the location of the source tree.
std::string_view place(std::string_view file) {
  size_t position = file.size();
  for (int parts = 0; parts < 3 && position != std::string_view::npos; ++parts)
    position = position == 0 ? position : file.rfind('/', position - 1);
  return position == std::string_view::npos ? file : file.substr(position + 1);
}

}  // namespace

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  // Clears non-sticky errors, which the next cudaGetLastError would report.
  (void)cudaGetLastError();
  fail("CUDA error {} ({}) from {} at {}:{}", cudaGetErrorName(status), cudaGetErrorString(status), call,
       place(file), line);
}

void throw_launch_error(cudaError_t status, const char* kernel) {
  (void)cudaGetLastError();
  fail("CUDA error {} ({}) launching the kernel {}", cudaGetErrorName(status), cudaGetErrorString(status),
       kernel);
}

}  // namespace adj::cuda
