#include "../support.h"
#include <adjoint/core/device.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("Device::parse") {
  CHECK(Device::parse("cpu") == Device::cpu());
  for (const char* text : {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cudax",
                           "cuda1", "cuda:99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Device::parse(text), UsageError);
  }
  CHECK_THROWS_WITH_AS(Device::parse("tpu"), "unknown device 'tpu': expected cpu, cuda or cuda:INDEX",
                       UsageError);
}

TEST_CASE("an existing GPU is found, and a missing one gives a one-line error") {
  const int count = cuda_device_count();
  if (count > 0) {
    CHECK(Device::best().is_cuda());
    CHECK(Device::parse("cuda") == Device::best());
  } else {
    CHECK(Device::best() == Device::cpu());
    CHECK_THROWS_AS(Device::parse("cuda"), Error);
  }
  const std::string missing = "cuda:" + std::to_string(count);
  const std::string message = error_of([&] { Device::parse(missing); });
  CAPTURE(message);
  CHECK(message.starts_with("device " + missing + " is not available: "));
  CHECK(message.find('\n') == std::string::npos);
  for (const int index : {-1, 64, 1000})
    CHECK_ERROR_HAS(Tensor::empty({1}, DType::f32, Device::cuda(index)), Device::cuda(index).str().c_str());
  CHECK_ERROR_HAS(require_available(Device::cuda(-1)), "device cuda:-1: expected an index of 0 or more");
}

TEST_CASE("devices print in the form that is parsed") {
  CHECK(Device::cpu().str() == "cpu");
  CHECK(Device::cuda(1).str() == "cuda:1");
  CHECK(Device::cuda(1) != Device::cuda(0));
}

TEST_CASE("the version has three numbers") {
  const std::string_view version = adj::version();
  CHECK(std::count(version.begin(), version.end(), '.') == 2);
  CHECK(version.find_first_not_of("0123456789.") == std::string_view::npos);
}
