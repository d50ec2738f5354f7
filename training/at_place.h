#pragma once

#include <adjoint/core/error.h>

#include <string>

namespace adj::training {

/// f(), whose errors become a DataError of that place in a file: "FILE: nodes/x: …".
template <class F>
auto at_place(const std::string& file, const char* place, F&& f) {
  try {
    return f();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const DataError&) {
    throw;
  } catch (const Error& error) {
    data_fail("{}: {}: {}", file, place, error.what());
  }
}

}  // namespace adj::training
