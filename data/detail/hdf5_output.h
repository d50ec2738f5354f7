#pragma once

#include <adjoint/core/file.h>
#include <adjoint/data/detail/hdf5_handle.h>

#include <exception>

namespace adj::hdf5 {

/// A file that HDF5 writes, in the place of another when it is complete. HDF5 can neither write nor close a
/// file on a full disk; so it is not told of what fails: that is kept, what would be written behind it is
/// dropped, and check() says it. To be used under mutex().
class Output {
 public:
  /// Throws DataError where nothing can be written there.
  explicit Output(const std::string& path) : file_(path) {}

  /// The new file, to be closed before commit(). Negative where HDF5 fails.
  Handle create();
  /// Throws the first DataError of writing, if there was one.
  void check() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Puts the file, which is closed, in its place.
  void commit() {
    check();
    file_.commit();
  }

  /// What HDF5 asks of it: f(file), unless something failed.
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
  FileReplacement file_;
  std::exception_ptr failure_;
};

}  // namespace adj::hdf5
