#pragma once

#include "captures.h"
#include <adjoint/adjoint.h>

// What tests use of the standard library.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace adj::test {

/// True if AddressSanitizer checks every access, at several times the time: loops over sizes then take some
/// of them.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// A list of devices. While a loop runs over it, checks that fail name the device.
class Devices final : public doctest::detail::ContextScopeBase {
 public:
  explicit Devices(std::vector<Device> list) : list_(std::move(list)) {}
  ~Devices() override { destroy(); }

  class Iterator {
   public:
    Iterator(const Devices& parent, size_t index) : parent_(parent), index_(index) {}
    Device operator*() const { return parent_.list_[parent_.current_ = index_]; }
    Iterator& operator++() { return ++index_, *this; }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const Devices& parent_;
    size_t index_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, list_.size()}; }
  const std::vector<Device>& list() const { return list_; }
  void stringify(std::ostream* text) const override;

 private:
  std::vector<Device> list_;
  mutable size_t current_ = 0;
};

/// The CPU, and the first GPU if there is one; otherwise prints once that the test is skipped. Kernel tests
/// run on each: `for (Device device : devices())`.
Devices devices();
/// The first GPU, if there is one.
std::optional<Device> gpu();
/// f(device) on each.
template <class F>
void on_devices(F&& f) {
  for (Device device : devices()) f(device);
}

/// Normal numbers, different at every call but the same in every run.
Tensor random_tensor(Shape shape, DType dtype = DType::f32, Device device = {});
/// int32 numbers in [low, high).
Tensor random_ints(int64_t n, int32_t low, int32_t high, Device device = {});

/// An index or a size for a standard container.
constexpr size_t uz(int64_t n) { return static_cast<size_t>(n); }

using Numbers = std::vector<double>;

/// All elements as double, on the host.
Numbers values(const Tensor& tensor);
/// max |a - b| <= tolerance * max(1, max |b|), equal shapes, no NaN. Prints the worst element on failure.
bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5);
bool close(const Tensor& a, const Numbers& b, double tolerance = 1e-5);
/// max |a - b| <= tolerance * max |b|, otherwise the same: for bfloat16 results and for small gradients.
bool close_to_scale(const Tensor& a, const Tensor& b, double tolerance);
/// Bitwise equal, with equal shape and dtype.
bool same_bits(const Tensor& a, const Tensor& b);
/// Checks that all given tensors have the same bits, on any devices.
class Alike {
 public:
  void operator()(const Tensor& tensor) {
    if (!first_) first_ = tensor;
    CHECK(same_bits(tensor, first_));
  }

 private:
  Tensor first_;
};

/// The message of the E thrown by `f`; "" if nothing is thrown.
template <class E = Error, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}
/// True if `text` contains every part; prints it otherwise.
bool mentions(const std::string& text, const std::vector<std::string>& parts);
template <class Part>
bool mentions(const std::string& text, const Part& part) {
  return mentions(text, std::vector<std::string>{part});
}

/// Checks that `call` throws an Error with the message `text`, or with `part` in it.
#define CHECK_ERROR(call, text) CHECK_THROWS_WITH_AS(call, text, ::adj::Error)
#define CHECK_ERROR_HAS(call, part) CHECK_THROWS_WITH_AS(call, doctest::Contains(part), ::adj::Error)

std::string contents_of(const std::string& path);

/// Folder of real datasets (ADJOINT_TEST_DATA, else ../shared/data next to the source tree), and whether
/// `name` exists there. If not, prints the skipped part.
std::filesystem::path data_file(const std::string& name);
bool have_data(const std::string& name);

/// A new directory, removed by the destructor.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// For TEST_CASE_FIXTURE: a test with a folder.
struct InFolder {
  TemporaryDirectory folder;
};

/// f(0) to f(count - 1), each on its own thread.
template <class F>
void in_threads(int count, F&& f) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(f, t);
  for (std::thread& thread : threads) thread.join();
}

/// The exit status of a process that returns f() as its own, or -1 if a signal ended it.
int exit_status_of(const std::function<int()>& f);

/// Restores the number of threads at the end of the scope.
class Threads {
 public:
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// The most bytes that step() adds to those in use. It runs once before: structures derived once stay cached.
template <class F>
size_t peak_memory(Device device, F&& step) {
  step();
  const size_t before = memory_stats(device).current;
  reset_peak_memory(device);
  step();
  return memory_stats(device).peak - before;
}

/// f() returns a tensor or a vector of them; true if the bits are the same with 1 and with that many threads.
template <class F>
bool same_bits_on_any_threads(F f, std::initializer_list<int> counts = {2, 3, 7, 16}) {
  const auto made_with = [&](int count) {
    const Threads threads(count);
    if constexpr (std::is_convertible_v<decltype(f()), Tensor>)
      return std::vector<Tensor>{f()};
    else
      return f();
  };
  const std::vector<Tensor> expected = made_with(1);
  return std::all_of(counts.begin(), counts.end(), [&](int count) {
    const std::vector<Tensor> found = made_with(count);
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end(), same_bits);
  });
}

/// Row lengths at, just below and just above kernel switching points: powers of two and, in pieces of 32
/// entries, 48; with enough short and empty rows for a small mean.
inline std::vector<int64_t> lengths_at_boundaries() {
  std::vector<int64_t> lengths;
  for (int64_t length = 16; length <= 1024; length *= 2)
    for (int64_t off : {-1, 0, 1}) lengths.push_back(length + off);
  for (int64_t pieces : {47, 48, 49}) lengths.push_back(32 * pieces);
  for (int64_t i = 0; i < 1400; ++i) lengths.push_back(i % 3);
  return lengths;
}

}  // namespace adj::test
