#include "../support.h"
#include <adjoint/core/tensor.h>

#include <cmath>
#include <numeric>

using namespace adj;
using namespace adj::test;

namespace {

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::i32, DType::i64, DType::u8};

std::vector<float> count_to(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

}  // namespace

TEST_CASE("tensors are created empty, filled, and from values") {
  for (Device device : devices()) {
    const Tensor t = Tensor::from(count_to(6), {2, 3}, device);
    CHECK(t.shape() == Shape{2, 3});
    CHECK(t.numel() == 6);
    CHECK(t.bytes() == 24);
    CHECK(t.device() == device);
    CHECK(t.to_vector<float>() == count_to(6));
    CHECK(t.str() == "[2, 3] float32 on " + device.str());
    for (DType dtype : kAll) {
      CAPTURE(name_of(dtype));
      CHECK(values(Tensor::zeros({3}, dtype, device)) == Numbers{0, 0, 0});
      CHECK(values(Tensor::full({2}, 7, dtype, device)) == Numbers{7, 7});
    }
    CHECK(Tensor::empty({0, 5}, DType::f32, device).to_vector<float>().empty());
    const Tensor scalar = Tensor::full({}, 2.5, DType::f32, device);
    CHECK(scalar.dims() == 0);
    CHECK(scalar.item() == 2.5);
    CHECK_THROWS_AS(t.item(), Error);
  }
  CHECK_THROWS_AS(Tensor::from(count_to(5), {2, 3}), Error);
}

TEST_CASE("using an absent tensor is a clear error") {
  const Tensor absent;
  CHECK(!absent);
  CHECK(absent.str() == "(no tensor)");
  CHECK(absent.numel() == 0);
  CHECK_THROWS_AS(absent.data<float>(), Error);
}

TEST_CASE("rows and reshapes are views") {
  for (Device device : devices()) {
    Tensor t = Tensor::from(count_to(12), {4, 3}, device);
    Tensor middle = t.rows(1, 3);
    CHECK(middle.shares_storage_with(t));
    CHECK(!t.is_unique());
    CHECK(middle.to_vector<float>() == std::vector<float>{3, 4, 5, 6, 7, 8});
    CHECK(middle.rows(1, 2).to_vector<float>() == std::vector<float>{6, 7, 8});
    middle.fill_(-1);
    CHECK(t.to_vector<float>() == std::vector<float>{0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10, 11});
    CHECK(t.rows(2, 2).numel() == 0);
    CHECK(t.rows(4, 4).numel() == 0);

    CHECK(t.reshape({2, -1}).shape() == Shape{2, 6});
    CHECK(t.reshape({-1}).shape() == Shape{12});
    CHECK(t.reshape({3, 2, 2}).rows(1, 2).shape() == Shape{1, 2, 2});
    CHECK(t.reshape({1, 3, 2, 2}).shares_storage_with(t));
    CHECK_THROWS_AS(t.reshape({5, -1}), Error);
    CHECK_THROWS_AS(t.reshape({3, 3}), Error);
    CHECK_THROWS_AS(t.reshape({-1, -1}), Error);
    // Any extent would fit, so none can be found.
    const Tensor nothing = Tensor::zeros({0, 3}, DType::f32, device);
    CHECK_ERROR(nothing.reshape({0, -1}), "reshape: 0 elements do not divide by 0");
    CHECK_THROWS_AS(t.reshape({0, -1}), Error);
    CHECK(nothing.reshape({3, -1}).shape() == Shape{3, 0});
    CHECK(nothing.reshape({-1}).shape() == Shape{0});
    CHECK_ERROR_HAS(t.rows(3, 5), "no rows [3, 5)");
    CHECK_THROWS_AS(t.rows(-1, 2), Error);
    CHECK_THROWS_AS(t.rows(2, 1), Error);
    CHECK_THROWS_AS(Tensor::full({}, 1).rows(0, 0), Error);
  }
}

TEST_CASE("a carved tensor shares the memory, and has its own version") {
  for (Device device : devices()) {
    const Tensor whole = Tensor::zeros({64}, DType::u8, device);
    Tensor first = whole.carve(0, {2, 2}, DType::f32), second = whole.rows(16, 64).carve(8, {3}, DType::i64);
    CHECK(second.raw_data() == static_cast<const char*>(whole.raw_data()) + 24);
    const uint64_t version = whole.version(), of_first = first.version();
    second.copy_(Tensor::from<int64_t>({1, -1, 2}));
    CHECK(first.version() == of_first);
    CHECK(whole.version() == version);
    CHECK(first.storage_id() != whole.storage_id());
    CHECK(!whole.is_unique());
    CHECK(whole.to_vector<uint8_t>()[24] == 1);
    CHECK(whole.to_vector<uint8_t>()[32] == 255);
    CHECK(values(first) == Numbers{0, 0, 0, 0});
    CHECK(whole.carve(64, {0, 3}, DType::f64).numel() == 0);
    CHECK_ERROR_HAS(whole.carve(56, {3}, DType::f32), "carve: [3] float32 from byte 56 of [64] uint8");
    CHECK_THROWS_AS(whole.carve(-4, {1}, DType::f32), Error);
    CHECK_THROWS_AS(whole.carve(65, {0}, DType::u8), Error);
    CHECK_ERROR(whole.carve(2, {1}, DType::f32), "carve: float32 from byte 2, expected a multiple of 4");
    CHECK_THROWS_AS(whole.rows(1, 64).carve(4, {1}, DType::f32), Error);
    CHECK_THROWS_AS(Tensor().carve(0, {1}, DType::f32), Error);
    // The memory outlives the tensor it was carved from.
    Tensor left;
    {
      const Tensor gone = Tensor::full({1000}, 7, DType::f32, device);
      left = gone.carve(400, {100}, DType::f32);
    }
    (void)Tensor::zeros({1000}, DType::f32, device);
    CHECK(values(left) == Numbers(100, 7));
  }
}

TEST_CASE("borrowed memory is read in place, and its owner is freed with the last tensor over it") {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  Tensor matrix = Tensor::borrow(memory->data(), {3, 2}, DType::f32, {}, memory);
  CHECK(matrix.raw_data() == memory->data());
  CHECK(!matrix.is_unique());
  CHECK(memory.use_count() == 2);
  Tensor row = matrix.rows(1, 2), part = matrix.carve(16, {2}, DType::f32);
  matrix = {};
  CHECK(memory.use_count() == 2);
  CHECK(values(row) == Numbers{3, 4});
  row = {};
  (*memory)[5] = 7;
  CHECK(values(part) == Numbers{5, 7});
  part = {};
  CHECK(memory.use_count() == 1);
  CHECK(Tensor::borrow(nullptr, {0, 4}, DType::i32, {}, memory).clone().numel() == 0);
  CHECK_ERROR(Tensor::borrow(memory->data(), {2}, DType::f32, {}, nullptr),
              "borrow: [2] float32 without an owner");
  CHECK_ERROR(Tensor::borrow(reinterpret_cast<char*>(memory->data()) + 2, {2}, DType::f32, {}, memory),
              "borrow: [2] float32 at an address that is not aligned for it");
}

TEST_CASE("clone copies and copy_ overwrites, also across devices") {
  for (Device source : devices())
    for (Device target : devices()) {
      const Tensor t = random_tensor({5, 7}, DType::f32, source);
      const Tensor copy = t.clone();
      CHECK(!copy.shares_storage_with(t));
      CHECK(same_bits(copy, t));
      Tensor output = Tensor::zeros({5, 7}, DType::f32, target);
      output.copy_(t);
      CHECK(same_bits(output, t));
      output.rows(0, 2).copy_(t.rows(3, 5));
      CHECK(same_bits(output.rows(0, 2), t.rows(3, 5)));
      CHECK(t.to(source).shares_storage_with(t));
      CHECK(same_bits(t.to(target), t));
      CHECK_THROWS_AS(output.copy_(t.reshape({7, 5})), Error);
      CHECK_THROWS_AS(output.copy_(t.to(DType::f64)), Error);
    }
}

TEST_CASE("every write raises the version shared by all views; reading does not") {
  Tensor t = Tensor::zeros({4, 2});
  const Tensor view = t.rows(1, 2).reshape({1, 2});
  const uint64_t before = t.version();
  CHECK(view.version() == before);
  (void)t.data<float>();
  (void)t.clone();
  (void)t.to_vector<float>();
  CHECK(t.version() == before);
  t.mutable_data<float>()[0] = 1.0f;
  CHECK(view.version() > before);
  for (int method = 0; method < 3; ++method) {
    const uint64_t last = view.version();
    if (method == 0) t.fill_(3);
    if (method == 1) t.zero_();
    if (method == 2) t.rows(0, 1).copy_(Tensor::zeros({1, 2}));
    CHECK(view.version() > last);
  }
}

TEST_CASE("elements are accessed by their dtype only") {
  Tensor t = Tensor::zeros({2}, DType::i32);
  CHECK_ERROR_HAS(t.data<float>(), "requested as float32");
  CHECK_THROWS_AS(t.mutable_data<int64_t>(), Error);
  CHECK_THROWS_AS(t.to_vector<double>(), Error);
}

TEST_CASE("conversions between all dtypes") {
  for (Device device : devices())
    for (DType input_dtype : kAll)
      for (DType output_dtype : kAll) {
        CAPTURES(name_of(input_dtype), name_of(output_dtype));
        const Numbers numbers{0, 1, 2, 100, 127, 96};
        const Tensor t = Tensor::from(numbers).to(input_dtype).to(device).to(output_dtype);
        CHECK(t.dtype() == output_dtype);
        CHECK(values(t) == numbers);
      }
  const Tensor t = Tensor::from<float>({1.9f, -1.9f, 0.5f});
  CHECK(t.to(DType::i32).to_vector<int32_t>() == std::vector<int32_t>{1, -1, 0});
  CHECK(t.to(DType::f32).shares_storage_with(t));
  CHECK(random_tensor({70001}).to(DType::f64).to(DType::f32).numel() == 70001);
}

TEST_CASE("bfloat16 rounds to nearest, ties to even") {
  const auto through = [](float v) { return static_cast<float>(bfloat16(v)); };
  CHECK(through(1.0f) == 1.0f);
  CHECK(through(1.0f + 0x1p-8f) == 1.0f);                // a tie: down to even
  CHECK(through(1.0f + 3 * 0x1p-8f) == 1.0f + 0x1p-6f);  // a tie: up to even
  CHECK(through(1.0f + 0x1p-8f + 0x1p-20f) == 1.0f + 0x1p-7f);
  CHECK(through(-1.0f - 0x1p-8f) == -1.0f);
  CHECK(through(3.4e38f) == INFINITY);
  CHECK(through(INFINITY) == INFINITY);
  CHECK(std::isnan(through(NAN)));
  CHECK(std::isnan(through(std::bit_cast<float>(0x7f800001u))));  // would round to infinity
  for (Device device : devices()) {
    const Tensor x = random_tensor({3001}, DType::f32, device);
    const Numbers in = values(x), out = values(x.to(DType::bf16));
    for (size_t i = 0; i < in.size(); ++i)
      REQUIRE(out[i] == static_cast<double>(through(static_cast<float>(in[i]))));
  }
}

TEST_CASE("shapes") {
  const Shape shape{2, 3, 4};
  CHECK(shape[0] == 2);
  CHECK(shape[-1] == 4);
  CHECK(shape.numel() == 24);
  CHECK(shape.str() == "[2, 3, 4]");
  CHECK(Shape{}.str() == "[]");
  CHECK(Shape{}.numel() == 1);
  CHECK(!(Shape{2, 3} == Shape{3, 2}));
  CHECK_THROWS_AS(shape[3], Error);
  CHECK_THROWS_AS(shape[-4], Error);
  CHECK_THROWS_AS((Shape{1, -1}), Error);
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1}), Error);
  // Their product is 2^64, which is 0 in 64 bits.
  const int64_t large = int64_t{1} << 32;
  CHECK_ERROR_HAS(Tensor::empty({large, large}), "[4294967296, 4294967296]: more than 2^59 elements");
  CHECK_ERROR_HAS((void)(Shape{large, large, 2}.numel()), "more than 2^59 elements");
  CHECK(Shape{large, 0}.numel() == 0);
}

TEST_CASE("bit tensors: rows padded to 128 bits, copied as bytes, never read as numbers") {
  for (const auto& [shape, bytes] : std::vector<std::pair<Shape, size_t>>{{{}, 16},
                                                                          {{1}, 16},
                                                                          {{128}, 16},
                                                                          {{129}, 32},
                                                                          {{3, 130}, 96},
                                                                          {{2, 3, 100}, 96},
                                                                          {{0, 130}, 0},
                                                                          {{5, 0}, 0}})
    CHECK(bytes_of(shape, DType::bits) == bytes);
  CHECK(bytes_of({3, 130}, DType::f32) == 1560);
  for (Device device : devices()) {
    Tensor on_host = Tensor::empty({4, 130}, DType::bits);
    CHECK(on_host.numel() == 520);
    CHECK(on_host.bytes() == 128);
    auto* bytes = static_cast<uint8_t*>(on_host.raw_mutable_data());
    for (size_t i = 0; i < on_host.bytes(); ++i) bytes[i] = static_cast<uint8_t>(3 * i + 1);
    const Tensor bits = on_host.to(device);
    CHECK(bits.str() == "[4, 130] bits on " + device.str());
    CHECK(same_bits(bits, on_host));
    CHECK(same_bits(bits.clone(), on_host));

    const Tensor middle = bits.rows(1, 3).to(Device::cpu());
    CHECK(middle.bytes() == 64);
    CHECK(static_cast<const uint8_t*>(middle.raw_data())[0] == bytes[32]);
    CHECK(static_cast<const uint8_t*>(middle.raw_data())[63] == bytes[95]);
    CHECK(bits.reshape({2, 2, 130}).rows(1, 2).shape() == Shape{1, 2, 130});
    CHECK(same_bits(bits.reshape({2, 2, 130}).rows(1, 2).reshape({2, 130}), on_host.rows(2, 4)));
    CHECK_ERROR(bits.reshape({2, 260}), "reshape: rows of bits keep their width, not [4, 130] to [2, 260]");
    const Tensor row = Tensor::zeros({300}, DType::bits, device);
    CHECK(row.rows(128, 300).bytes() == 32);
    CHECK_THROWS_AS(row.rows(64, 128), Error);
    CHECK_THROWS_AS(row.rows(0, 100), Error);

    Tensor copy = Tensor::zeros({4, 130}, DType::bits, device);
    copy.copy_(bits);
    CHECK(same_bits(copy, on_host));
    copy.zero_();
    CHECK(same_bits(copy, Tensor::zeros({4, 130}, DType::bits)));

    CHECK_ERROR_HAS(bits.data<uint8_t>(), "its elements were requested as uint8");
    CHECK_THROWS_AS(bits.to_vector<float>(), Error);
    const char* refusal = "bits: packed bits cannot be read or written as numbers";
    CHECK_ERROR(bits.to(DType::f32), refusal);
    CHECK_ERROR(Tensor::zeros({3}, DType::f32, device).to(DType::bits), refusal);
    CHECK_ERROR(copy.fill_(1.0), refusal);
    CHECK_ERROR(Tensor::full({2}, 1.0, DType::bits, device), refusal);
    CHECK_ERROR(Tensor::zeros({1}, DType::bits, device).item(), refusal);
  }
  CHECK_THROWS_AS(size_of(DType::bits), Error);
}
