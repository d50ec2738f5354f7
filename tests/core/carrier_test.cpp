#include "../support.h"
#include <adjoint/core/detail/carrier.h>
#include <adjoint/core/dtype.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("carried tensors have the same bits on the device, of any size and dtype") {
  for (Device device : devices()) {
    std::vector<Tensor> sources;
    for (DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8})
      for (int64_t n : {0, 1, 3, 100, 1000, 33333, 200000})
        sources.push_back(is_floating(dtype) ? random_tensor({n}, dtype) : random_ints(n, 0, 200).to(dtype));
    sources.push_back(random_tensor({17, 5}));
    sources.push_back(sources.back().rows(3, 11));
    detail::Carrier carrier(device);
    std::vector<Tensor> carried;
    for (const Tensor& source : sources) carried.push_back(carrier.carry(source));
    carrier.finish();
    for (size_t i = 0; i < sources.size(); ++i) {
      CAPTURE(sources[i].str());
      CHECK(carried[i].device() == device);
      CHECK(same_bits(carried[i].to(Device::cpu()), sources[i]));
      if (device.is_cpu()) CHECK(carried[i].shares_storage_with(sources[i]));
    }
    // And later copies.
    const Tensor late = carrier.carry(Tensor::full({10}, 4.0));
    carrier.finish();
    CHECK(values(late) == Numbers(10, 4.0));
  }
}

TEST_CASE("one object is copied once") {
  detail::Carrier carrier(Device::cpu());
  const int a = 0, b = 0;
  int count = 0;
  const auto make = [&] { return std::make_shared<int>(++count); };
  CHECK(*carrier.once<int>(&a, make) == 1);
  CHECK(*carrier.once<int>(&b, make) == 2);
  CHECK(*carrier.once<const int>(&a, make) == 1);
}
