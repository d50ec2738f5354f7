#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/random.h>
#include <adjoint/core/tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace adj::test {

/// The CPU, and the first GPU if there is one; otherwise prints once what is skipped. Kernel tests run on
/// each: `for (Device device : devices()) { CAPTURE(device.str()); … }`.
const std::vector<Device>& devices();

/// Normal numbers, different at every call but the same in every run.
Tensor random_tensor(Shape shape, DType dtype = DType::f32, Device device = {});
/// int32 numbers in [low, high).
Tensor random_ints(int64_t n, int32_t low, int32_t high, Device device = {});

/// All elements as double, on the host.
std::vector<double> values(const Tensor& tensor);
/// max |a - b| <= tolerance * max(1, max |b|), equal shapes, no NaN. Prints the worst element on failure.
bool close(const Tensor& a, const Tensor& b, double tolerance = 1e-5);
bool close(const Tensor& a, const std::vector<double>& b, double tolerance = 1e-5);
/// max |a - b| <= tolerance * max |b|, otherwise the same: for bfloat16 results and for small gradients.
bool close_to_scale(const Tensor& a, const Tensor& b, double tolerance);
/// Bitwise equal, with equal shape and dtype.
bool same_bits(const Tensor& a, const Tensor& b);

/// The message of the E that `f` throws; "" if nothing is thrown.
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

std::string contents_of(const std::string& path);

/// Folder of real datasets (ADJOINT_TEST_DATA, else ../shared/data next to the source tree), and whether
/// `name` exists there. Prints what is skipped if not.
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
