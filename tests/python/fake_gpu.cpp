// Linked into a second copy of the module, which then finds a GPU; its kernels still throw.
#include "../fake_gpu/fake_gpu.h"

extern "C" __attribute__((visibility("default"))) const char* fake_gpu_log() {
  static std::string log;
  log = adj::test::fake().take_log();
  return log.c_str();
}
