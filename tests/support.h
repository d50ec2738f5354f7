#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/random.h>
#include <adjoint/core/tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace adj::test {

/// The CPU, and the first GPU where there is one. Says once what is skipped where there is none. A test of a
/// kernel runs on each: `for (Device device : devices()) { CAPTURE(device.str()); … }`.
const std::vector<Device>& devices();

/// Normal numbers, other ones at every call but the same in every run.
Tensor random_tensor(Shape shape, DType dtype = DType::f32, Device device = {});
/// int32 numbers in [low, high).
Tensor random_ints(int64_t n, int32_t low, int32_t high, Device device = {});

/// All elements as double, on the host.
std::vector<double> values(const Tensor& tensor);
/// max |a - b| <= tolerance * max(1, max |b|), shapes equal, nothing NaN. Prints the worst element otherwise.
bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5);
bool close(const Tensor& a, const std::vector<double>& b, double tolerance = 1e-5);
/// max |a - b| <= tolerance * max |b|, likewise: for what bfloat16 rounded, and for small gradients.
bool close_to_scale(const Tensor& a, const Tensor& b, double tolerance);
/// Equal to the bit (shape, dtype and contents).
bool same_bits(const Tensor& a, const Tensor& b);

/// The message of what `f` throws, of one kind; "" where it throws nothing.
template <class E = Error, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}
/// True if every part occurs in `text`; prints it otherwise.
bool mentions(const std::string& text, const std::vector<std::string>& parts);
template <class Part>
bool mentions(const std::string& text, const Part& part) {
  return mentions(text, std::vector<std::string>{part});
}

std::string contents_of(const std::string& path);

/// A folder of real datasets (ADJOINT_TEST_DATA, else ../shared/data beside the source tree), and whether
/// `name` is in it. Says what is skipped where it is not.
std::filesystem::path data_file(const std::string& name);
bool have_data(const std::string& name);

/// A fresh directory that goes with the object.
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

/// Lengths of rows, one below, at and one above where a kernel may begin to take them another way: powers of
/// two and, of pieces of 32 entries, 48; with so many short and empty rows that the mean is small.
inline std::vector<int64_t> lengths_at_boundaries() {
  std::vector<int64_t> lengths;
  for (int64_t length = 16; length <= 1024; length *= 2)
    for (int64_t off : {-1, 0, 1}) lengths.push_back(length + off);
  for (int64_t pieces : {47, 48, 49}) lengths.push_back(32 * pieces);
  for (int64_t i = 0; i < 1400; ++i) lengths.push_back(i % 3);
  return lengths;
}

}  // namespace adj::test
