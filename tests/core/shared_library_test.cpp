#include "../support.h"
#include <adjoint/core/shared_library.h>

using namespace adj;

TEST_CASE("a function of a library that is loaded while the program runs") {
  const SharedLibrary maths("libm.so.6");
  CHECK(maths.function<double(double)>("fabs")(-3.5) == 3.5);
  CHECK_ERROR_HAS(maths.function<void()>("adjoint"), "libm.so.6 has no function adjoint");
  CHECK_ERROR_HAS(SharedLibrary("libadjoint_none.so.1"), "cannot load libadjoint_none.so.1");
}
