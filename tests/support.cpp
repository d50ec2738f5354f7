#include "support.h"

#include <adjoint/core/parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

namespace adj::test {

void Devices::stringify(std::ostream* text) const {
  if (!list_.empty()) *text << "device := " << list_[current_].str();
}

Devices devices() {
  static const std::vector<Device> list = [] {
    std::vector<Device> found{Device::cpu()};
    if (Device::best().is_cuda()) {
      found.push_back(Device::best());
    } else {
      MESSAGE("skipped: no GPU (every device test ran on the CPU alone)");
    }
    return found;
  }();
  return Devices(list);
}

std::optional<Device> gpu() {
  const std::vector<Device> all = devices().list();
  return all.size() > 1 ? std::optional(all[1]) : std::nullopt;
}

namespace {

constexpr uint64_t kSeed = 20170414;

Generator& test_generator() {
  static Generator generator(kSeed);
  return generator;
}

/// Every test case draws the same numbers regardless of earlier ones.
struct Reseed : doctest::IReporter {
  explicit Reseed(const doctest::ContextOptions&) {}
  void test_case_start(const doctest::TestCaseData&) override {
    test_generator().set_state(kSeed, 0);
    manual_seed(kSeed);
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
DOCTEST_REGISTER_LISTENER("reseed", 1, Reseed);

}  // namespace

Tensor random_tensor(Shape shape, DType dtype, Device device) {
  // Drawing is slower than most kernels: many numbers repeat, with a prime period, so that rows differ.
  constexpr int64_t kPeriod = 65521;
  const DType drawn = dtype == DType::bf16 ? DType::f32 : dtype;
  const int64_t n = shape.numel();
  Tensor x = random_normal({std::min(n, kPeriod)}, 0.0, 1.0, test_generator(), drawn);
  if (n > kPeriod) {
    Tensor all = Tensor::empty({n}, drawn);
    for (int64_t i = 0; i < n; i += kPeriod) {
      const int64_t count = std::min(kPeriod, n - i);
      all.rows(i, i + count).copy_(x.rows(0, count));
    }
    x = all;
  }
  return x.reshape(shape).to(dtype).to(device);
}

Tensor random_ints(int64_t n, int32_t low, int32_t high, Device device) {
  const std::vector<double> uniform = values(random_uniform({n}, low, high, test_generator(), DType::f64));
  std::vector<int32_t> ints(uniform.size());
  for (size_t i = 0; i < ints.size(); ++i)
    ints[i] = std::min(static_cast<int32_t>(std::floor(uniform[i])), high - 1);
  return Tensor::from(ints, device);
}

std::vector<double> values(const Tensor& tensor) {
  return tensor.to(Device::cpu()).to(DType::f64).to_vector<double>();
}

bool close(const Tensor& a, const std::vector<double>& b, double tolerance) {
  const std::vector<double> x = values(a);
  if (x.size() != b.size()) {
    MESSAGE("sizes differ: " << x.size() << " and " << b.size());
    return false;
  }
  double scale = 1.0, worst = -1.0;
  size_t where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    scale = std::max(scale, std::abs(b[i]));
    const double difference = std::abs(x[i] - b[i]);
    if (!(difference <= worst)) {  // true for NaN too
      worst = difference;
      where = i;
    }
  }
  if (x.empty() || worst <= tolerance * scale) return true;
  MESSAGE("element " << where << " of " << x.size() << ": " << x[where] << " and " << b[where]);
  return false;
}

bool close(const Tensor& a, const Tensor& b, double tolerance) {
  if (!(a.shape() == b.shape())) {
    MESSAGE("shapes differ: " << a.shape().str() << " and " << b.shape().str());
    return false;
  }
  return close(a, values(b), tolerance);
}

bool close_to_scale(const Tensor& a, const Tensor& b, double tolerance) {
  double largest = 0.0;
  for (double v : values(b)) largest = std::max(largest, std::abs(v));
  return close(a, b, tolerance * std::min(largest, 1.0));
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const Tensor x = a.to(Device::cpu()), y = b.to(Device::cpu());
  return x.bytes() == 0 || std::memcmp(x.raw_data(), y.raw_data(), x.bytes()) == 0;
}

bool mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) != std::string::npos) continue;
    MESSAGE("no '" << part << "' in: " << text);
    return false;
  }
  return true;
}

std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::filesystem::path data_file(const std::string& name) {
  const char* folder = std::getenv("ADJOINT_TEST_DATA");
  return std::filesystem::path(folder != nullptr ? folder : ADJOINT_SOURCE_DIR "/../shared/data") / name;
}

bool have_data(const std::string& name) {
  if (std::filesystem::exists(data_file(name))) return true;
  static std::set<std::string> told;
  if (told.insert(name).second)
    MESSAGE("skipped: no " << data_file(name).string() << " (set ADJOINT_TEST_DATA)");
  return false;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "adjoint-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

int exit_status_of(const std::function<int()>& f) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      _exit(f());
    } catch (...) {
      _exit(125);
    }
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Threads::Threads(int count) : before_(num_threads()) { set_num_threads(count); }
Threads::~Threads() { set_num_threads(before_); }

}  // namespace adj::test
