#include "../says.h"
#include "../support.h"
#include "schema.h"
#include <adjoint/kernels/bits/bit_range.h>

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<int64_t> kSizes{1, 7, 8, 9, 31, 33, 127, 129, 1000};

bool same(const BitTensor& a, const BitTensor& b) {
  return a.outer == b.outer && a.inner == b.inner && a.bits == b.bits && same_bits(a.planes, b.planes) &&
         same_bits(a.scale, b.scale) && same_bits(a.zero, b.zero) && same_bits(a.sums, b.sums);
}

void write(const std::string& path, const BitTensor& q) {
  H5Writer file(path);
  write_bits(file, "layer/q", q);
  file.commit();
}

/// A bit tensor of 3 bits, [2, 11], as the group "q" of a file.
SchemaFile bits_file() {
  return {.datasets = {{"q/planes",
                        Tensor::from(std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4}, {3, 2, 2})},
                       {"q/scale", Tensor::from(std::vector<float>{0.5f, 2.0f})},
                       {"q/zero", Tensor::full({1}, -3.0)}},
          .attributes = {{"q@format", "adjoint.bits"}, {"q@version", 1}, {"q@bits", 3}, {"q@inner", 11}}};
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "bit tensors of all bits and sizes are read back from a file to the bit") {
  const std::string path = folder.file("q.h5");
  for (int bits = 1; bits <= 8; ++bits)
    for (size_t t = 0; t < kSizes.size(); ++t)
      for (Device device : devices()) {
        const int64_t rows = kSizes[t], cols = kSizes[(t * 2 + static_cast<size_t>(bits)) % kSizes.size()];
        CAPTURE(bits);
        CAPTURE(rows);
        CAPTURE(cols);
        const BitTensor q = to_bits(random_tensor({rows, cols}, DType::f32, device), bits,
                                    t % 2 == 0 ? PackedAlong::rows : PackedAlong::columns,
                                    t % 3 == 0 ? BitRange::affine : BitRange::symmetric, t % 4 < 2);
        write(path, q);
        const BitTensor back = read_bits(H5Reader::open(path), "layer/q");
        CHECK(same(back, q.to(Device::cpu())));
        CHECK(to_values(back).to_vector<float>() == to_values(q).to_vector<float>());
      }
}

TEST_CASE_FIXTURE(InFolder, "bit tensors without numbers, or of several steps, are read back from a file") {
  const std::string path = folder.file("q.h5");
  for (const auto& [rows, cols] :
       std::initializer_list<std::pair<int64_t, int64_t>>{{0, 5}, {5, 0}, {0, 0}, {3, 1024}, {9, 4099}}) {
    CAPTURE(rows);
    CAPTURE(cols);
    const BitTensor q = to_bits(random_tensor({rows, cols}), 3);
    write(path, q);
    CHECK(same(read_bits(H5Reader::open(path), "layer/q"), q));
  }
}

TEST_CASE_FIXTURE(InFolder, "a file stores the bits of each number plane by plane") {
  const std::string path = folder.file("q.h5");
  std::vector<uint8_t> numbers;
  std::vector<float> values;  // scale 0.5 and zero 3
  for (int i = 0; i < 34; ++i) {
    numbers.push_back(static_cast<uint8_t>(i % 16));
    values.push_back(0.5f * static_cast<float>(i % 16 - 3));
  }
  write(path, to_bits(Tensor::from(values, {2, 17}), 4, Tensor::full({1}, 0.5), Tensor::full({1}, 3.0)));
  const H5Reader file = H5Reader::open(path);
  const std::vector<uint8_t> planes =
      file.tensor("layer/q/planes", {DType::u8}, {4, 2, 3}).to_vector<uint8_t>();
  std::vector<uint8_t> expected(planes.size());
  for (size_t p = 0; p < 4; ++p)
    for (size_t o = 0; o < 2; ++o)
      for (size_t k = 0; k < 17; ++k)
        expected[(p * 2 + o) * 3 + k / 8] |= static_cast<uint8_t>((numbers[o * 17 + k] >> p & 1) << k % 8);
  CHECK(planes == expected);
  CHECK(file.integer("layer/q", "bits") == 4);
  CHECK(file.integer("layer/q", "inner") == 17);
}

TEST_CASE_FIXTURE(InFolder, "a damaged bit tensor is refused, naming the place") {
  const std::string path = folder.file("q.h5");
  /// The error for the changed file, without its name.
  const auto message_of = [&](const SchemaChange& change) {
    SchemaFile file = bits_file();
    change(file);
    file.write(path);
    const std::string message = error_of<DataError>([&] { (void)read_bits(H5Reader::open(path), "q"); });
    REQUIRE((message.empty() || message.starts_with(path + ": ")));
    return message.empty() ? "" : message.substr(path.size() + 2);
  };
  for (const auto& [expected, name, number] : std::vector<std::tuple<const char*, const char*, int64_t>>{
           {"q: 0 bits, expected 1 to 8", "q@bits", 0},
           {"q: 9 bits, expected 1 to 8", "q@bits", 9},
           {"q: 4294967299 bits, expected 1 to 8", "q@bits", (int64_t{1} << 32) + 3},
           {"q/planes: …", "q@bits", 2},
           {"q: inner -1, expected 0 to 2^31 - 1", "q@inner", -1},
           {"q: inner 2147483648, expected 0 to 2^31 - 1", "q@inner", int64_t{1} << 31},
           {"q: inner …", "q@inner", std::numeric_limits<int64_t>::max()},
           {"q/planes: …", "q@inner", 17},
           {"q/planes: …", "q@inner", 8},
           {"q/planes: row 1 of plane 0 ends with 0x04, expected 0 after number 9", "q@inner", 10},
           {"", "q@inner", 16},
           {"q: version 2, expected 1", "q@version", 2}})
    CHECK(says(message_of(attribute(name, number)), expected));
  CHECK(message_of(attribute("q@format", "adjoint.cuts")) ==
        "q: format 'adjoint.cuts', expected 'adjoint.bits'");
  for (const char* name : {"q@version", "q@bits", "q@inner"})
    CHECK(mentions(message_of(gone({name})), "missing"));
  for (const auto& [name, tensor] : bits_file().datasets) {
    CAPTURE(name);
    CHECK(message_of(gone({name})) == name + ": missing");
    CHECK(message_of(put(name, tensor.to(DType::f64))).starts_with(name + ": float64"));
    CHECK(message_of(put(name, tensor.to(DType::i32))).starts_with(name + ": int32"));
    CHECK(message_of(put(name, tensor.reshape({1, tensor.numel()}))).starts_with(name + ": "));
  }
  for (const std::string name : {"q/scale", "q/zero"}) {
    CHECK(message_of(put(name, Tensor::full({3}, 1.0))) == name + ": 3 numbers, expected 1 or 2");
    CHECK(message_of(put(name, Tensor::empty({0}))) == name + ": 0 numbers, expected 1 or 2");
    for (float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()})
      CHECK(message_of(put(name, Tensor::from(std::vector<float>{1.0f, number})))
                .starts_with(fmt::format("{}: {} at position 1, expected finite numbers", name, number)));
  }
  CHECK(message_of(put("q/zero", Tensor::full({1}, 3.4e38))) == "q/zero: row 1 has numbers beyond float32");
  for (float number : {0.0f, -1.0f})
    CHECK(message_of(put("q/scale", Tensor::full({1}, number))) ==
          fmt::format("q/scale: {} at position 0, expected finite numbers above 0", number));
  CHECK(message_of(poke("q/planes", uint8_t{8}, 5)) ==
        "q/planes: row 0 of plane 1 ends with 0x08, expected 0 after number 10");
  CHECK_THROWS_WITH_AS(read_bits(H5Reader::open(path), "other"), doctest::Contains("other"), DataError);
}

TEST_CASE_FIXTURE(InFolder, "a bit tensor that could not be read is not written") {
  H5Writer file(folder.file("q.h5"));
  BitTensor q = to_bits(random_tensor({3, 5}), 2);
  q.scale = Tensor::full({1}, 0.0);
  CHECK_ERROR(write_bits(file, "q", q),
              "write_bits: q/scale: 0 at position 0, expected finite numbers above 0");
  q.scale = Tensor::full({2}, 1.0);
  CHECK_THROWS_AS(write_bits(file, "q", q), Error);
  CHECK_THROWS_AS(write_bits(file, "q", BitTensor()), Error);
}
