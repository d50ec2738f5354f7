#pragma once

#include <string>

namespace adj {

/// A library that is loaded when it is first needed, and never unloaded: programs that do not need it start
/// without it (cuBLASLt takes 0.1 s and 200 MB), and run where it is missing.
class SharedLibrary {
 public:
  /// `name` as the loader knows it ("libcublasLt.so.13"): already loaded, in the folders of the program that
  /// was linked, in LD_LIBRARY_PATH or among the system's. Throws Error with the loader's reason.
  explicit SharedLibrary(std::string name);

  /// Throws Error if the library has no such function.
  template <class Function>
  Function* function(const char* symbol) const {
    return reinterpret_cast<Function*>(address(symbol));
  }

 private:
  void* address(const char* symbol) const;

  std::string name_;
  void* handle_;
};

}  // namespace adj
