#include <adjoint/core/error.h>
#include <adjoint/core/shared_library.h>

#include <utility>

#include <dlfcn.h>

namespace adj {

SharedLibrary::SharedLibrary(std::string name)
    : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* reason = dlerror();
  fail("cannot load {}, expected it where LD_LIBRARY_PATH or the system's loader finds it: {}", name_,
       reason == nullptr ? "no reason is known" : reason);
}

void* SharedLibrary::address(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  ADJ_CHECK(found != nullptr, "{} has no function {}: expected another version of it", name_, symbol);
  return found;
}

}  // namespace adj
