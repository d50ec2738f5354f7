#pragma once

#include <adjoint/core/file.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <exception>

namespace adj::hdf5 {

/// A file written by HDF5 that replaces another when complete. HDF5 can neither write nor close a file on a
/// full disk, so failures are hidden from it: the first is kept, later writes are dropped, and check() throws
/// it. Use under mutex().
class Output {
 public:
  /// Throws DataError if the path is not writable.
  explicit Output(const std::string& path) : file_(path) {}

  /// The new file; close it before commit(). Negative on an HDF5 error.
  Handle create();
  /// The same with the contents of another file.
  Handle open_copy(const std::string& source);
  /// Throws the first DataError of writing, if any.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Moves the closed file into place.
  void commit() {
    check();
    file_.commit();
  }

  /// Runs f(file) for a request of HDF5, unless something failed before.
  template <class F>
  void attempt(F&& f) {
    if (failure_) return;
    try {
      f(file_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

 private:
  Handle open(int64_t size);

  FileReplacement file_;
  std::exception_ptr failure_;
};

}  // namespace adj::hdf5
