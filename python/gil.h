#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <utility>

#include <nanobind/nanobind.h>
#include <unistd.h>

// The interpreter's lock. At its exit CPython ends the threads that ask for the lock by unwinding their
// stacks, which destructors and noexcept functions turn into std::terminate: they sleep instead, until the
// process ends.

namespace adj::python {

namespace nb = nanobind;

/// Calls f, which takes the lock.
template <class F>
auto take_gil(F&& f) {
  try {
    return f();
  } catch (...) {
    while (true) pause();
  }
}

/// Number of scopes below. Daemon threads may be in one when the interpreter ends: the process waits for them
/// before it destroys what they use, such as oneDNN's generated code.
inline std::atomic<int> running_calls{0};

/// This thread's lock is released in the scope.
class GilRelease {
 public:
  GilRelease() {
    ++running_calls;
    state_ = PyEval_SaveThread();
  }
  ~GilRelease() {
    --running_calls;
    take_gil([this] { PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

/// Returns f(), computed without the GIL.
template <class F>
auto without_gil(F&& f) {
  const GilRelease release;
  return f();
}

/// Calls f with the GIL from any thread, also one of the library; not at all once the interpreter has ended.
template <class F>
void with_gil(F&& f) {
  if (!nb::is_alive()) return;
  const PyGILState_STATE state = take_gil([] { return PyGILState_Ensure(); });
  f();
  PyGILState_Release(state);
}

/// Returns f(), which another thread computes, so that this one can handle signals. After an exception by one
/// of them (KeyboardInterrupt), f ends by itself and its result is dropped: what it uses must be its own.
template <class F>
auto interruptible(F f) {
  std::packaged_task<decltype(f())()> task(std::move(f));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  while (without_gil([&] { return result.wait_for(std::chrono::milliseconds(100)); }) !=
         std::future_status::ready)
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return without_gil([&] { return result.get(); });
}

}  // namespace adj::python
