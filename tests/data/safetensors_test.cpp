#include "../support.h"
#include <adjoint/core/file.h>
#include <adjoint/data/safetensors.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/norm.h>

#include <cstring>

#include <fcntl.h>

using namespace adj;
using namespace adj::test;

namespace {

std::string file_of(const std::string& header, const std::string& data = "") {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

struct Network : nn::Module {
  nn::Child<nn::MLP> mlp{this, "mlp", {4, 6, 2}};
  nn::Child<nn::BatchNorm> norm{this, "norm", 2};
};

}  // namespace

TEST_CASE("tensors are read back from a safetensors file to the bit, from every device") {
  for (Device device : devices()) {
    const TemporaryDirectory folder;
    const std::string path = folder.file("a.safetensors");
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (DType dtype : {DType::u8, DType::bf16, DType::i32, DType::f32, DType::f64, DType::i64})
      for (const Shape& shape : {Shape{3, 5}, Shape{1, 2, 3, 2}, Shape{0, 4}, Shape{}})
        tensors.emplace_back(fmt::format("{} \"{}\"", name_of(dtype), shape.str()),
                             random_tensor(shape, DType::f32, device).to(dtype));
    save_safetensors(path, tensors, {{"format", "pt"}});
    const auto loaded = load_safetensors(path);
    CHECK(loaded.size() == tensors.size());
    for (const auto& [name, tensor] : tensors) CHECK(same_bits(loaded.at(name), tensor.to(Device::cpu())));
    CHECK(SafetensorsReader::open(path).metadata() == std::map<std::string, std::string>{{"format", "pt"}});
    const std::string first = contents_of(path);
    std::swap(tensors.front(), tensors.back());
    save_safetensors(path, tensors, {{"format", "pt"}});
    CHECK(contents_of(path) == first);  // in any order
  }
}

TEST_CASE_FIXTURE(InFolder, "an open safetensors file is not inherited by other programs") {
  const std::string path = std::filesystem::canonical(folder.file("")) / "a.safetensors";
  save_safetensors(path, {{"a", Tensor::from<float>({1.0f})}});
  const SafetensorsReader reader = SafetensorsReader::open(path);
  int open_files = 0;
  for (int file = 3; file < 1024; ++file) {
    std::error_code error;
    if (std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), error) != path) continue;
    ++open_files;
    CHECK((fcntl(file, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK(open_files == 1);
}

TEST_CASE_FIXTURE(InFolder, "a module's state is saved to a safetensors file and loaded") {
  const std::string path = folder.file("model.safetensors");
  nn::Model<Network> model, other;
  save_safetensors(path, model.state());
  const auto before = other.state();
  CHECK_FALSE(same_bits(before[0].second, model.state()[0].second));
  other.load_state(load_safetensors(path));
  for (const auto& [name, tensor] : model.state()) {
    CAPTURE(name);
    CHECK(same_bits(load_safetensors(path).at(name), tensor));
  }
  for (size_t i = 0; i < before.size(); ++i)
    CHECK(same_bits(other.state()[i].second, model.state()[i].second));
}

TEST_CASE_FIXTURE(InFolder, "16-bit numbers are widened and bools are bytes") {
  const std::string path = folder.file("a.safetensors");
  const std::vector<uint16_t> halves{0x3c00, 0xc100, 0x0001, 0x7bff};
  replace_file(
      path, file_of(R"({"h":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[8,10]}}  )",
                    std::string(reinterpret_cast<const char*>(halves.data()), 8) + std::string("\0\1", 2)));
  const auto found = load_safetensors(path);
  CHECK(found.at("h").to_vector<float>() == std::vector<float>{1.0f, -2.5f, 0x1p-24f, 65504.0f});
  CHECK(found.at("b").to_vector<uint8_t>() == std::vector<uint8_t>{0, 1});
}

TEST_CASE_FIXTURE(InFolder, "unknown members of a tensor's entry are skipped") {
  const std::string path = folder.file("a.safetensors");
  replace_file(path,
               file_of(R"({"a":{"shape":[2],"x":{"y":1,"y":null},"data_offsets":[0,8],"z":[true,-1,"t"],)"
                       R"("dtype":"F32"}, "__metadata__":{"shape":"s","dtype":"d"}})",
                       std::string(8, '\0')));
  CHECK(same_bits(load_safetensors(path).at("a"), Tensor::zeros({2})));
  CHECK(SafetensorsReader::open(path).metadata() ==
        std::map<std::string, std::string>{{"shape", "s"}, {"dtype", "d"}});
}

// Of the limit of 100 MB a sixth; minutes where time is quadratic in the number of tensors.
TEST_CASE_FIXTURE(InFolder, "a header of 200,000 tensors is written and read") {
  const std::string path = folder.file("many.safetensors");
  std::vector<std::pair<std::string, Tensor>> tensors;
  const Tensor numbers = Tensor::from(std::vector<uint8_t>(200'000, 7));
  for (int64_t k = 0; k < numbers.numel(); ++k)
    tensors.emplace_back(fmt::format("layers.{}.weight", k), numbers.rows(k, k + 1));
  save_safetensors(path, tensors);
  const SafetensorsReader file = SafetensorsReader::open(path);
  CHECK(file.names().size() == tensors.size());
  CHECK(file.tensor("layers.199999.weight").to_vector<uint8_t>() == std::vector<uint8_t>{7});
}

TEST_CASE("an invalid safetensors file gives a one-line error with the file and the tensor") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("a.safetensors");
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    replace_file(path, bytes);
    const std::string message = error_of<DataError>([&] { (void)load_safetensors(path); });
    CHECK(mentions(message, path));
    CHECK(mentions(message, parts));
    CHECK(message.find('\n') == std::string::npos);
  };
  const auto item = [](const std::string& name, const std::string& place, const std::string& dtype = "F32",
                       const std::string& shape = "[2]") {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, place);
  };
  const auto both = [&](const std::string& a, const std::string& b) { return "{" + a + "," + b + "}"; };
  const std::string data(16, '\0'), one = "{" + item("a", "[0,8]") + "}";
  replace_file(path, file_of(both(item("a", "[0,8]"), item("b", "[8,16]")), data));
  CHECK(load_safetensors(path).size() == 2);

  refused("", {"header", "0 bytes"});
  refused(file_of(one).substr(0, 30), {"header", "the file has 30"});
  refused(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + data, {"header", "100000001", "100000000"});
  refused(std::string(16, '\xff'), {"header"});
  refused(file_of(""), {"header", "no object"});
  refused(file_of("[]"), {"header", "no object"});
  refused(file_of(R"({"a":)"), {"header", "no JSON at byte"});
  refused(file_of("{\"a\xff\":1}"), {"header", "no JSON at byte"});
  refused(file_of(R"({"a":1e999})"), {"header", "out of range"});
  refused(file_of("{\"a\":" + std::string(100000, '[')), {": a: ", "no object"});
  refused(file_of("{\"a\":{\"b\":" + std::string(100000, '[')), {"header", "nested too deep"});
  refused(file_of(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", data),
          {"header", "too deep"});
  refused(file_of(R"({"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}})", data),
          {": a: ", "no dtype"});
  refused(file_of(R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", data), {": a: ", "no shape"});
  refused(file_of(R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", data), {": a: ", "no shape"});
  refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), {"__metadata__", "twice"});
  refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})"), {": k: ", "twice"});
  refused(file_of(one + "}"), {"header", "no JSON at byte"});
  refused(file_of("{" + item("a", "[0,8]", "F32", "[" + std::string(200, '1') + "]") + "}"), {"a", "shape"});
  std::string extents = "[1";
  for (int i = 0; i < 64; ++i) extents += ",1";
  refused(file_of("{" + item("a", "[0,8]", "F32", extents + "]") + "}"), {"more than 64"});
  refused(file_of(both(item("a", "[0,8]"), item("a", "[8,16]")), data), {": a: ", "twice"});
  refused(file_of(R"({"a":{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}})", data),
          {"dtype", "twice"});
  refused(file_of(R"({"a\nb":7})"), {": a\\nb: ", "no object"});
  refused(file_of(R"({"a":{}})"), {": a: ", "no dtype"});
  refused(file_of(R"({"a":{"dtype":"F32"}})"), {": a: ", "no shape"});
  refused(file_of(R"({"a":{"dtype":"F32","shape":[2]}})"), {": a: ", "no data_offsets"});
  refused(file_of("{" + item("a", "[0,8]", "F33") + "}", data), {": a: ", "F33"});
  refused(file_of("{" + item("a", "[0,8]", "F32", "[-2]") + "}", data), {": a: ", "shape"});
  refused(file_of("{" + item("a", "[0,8]", "F32", "[2.0]") + "}", data), {": a: ", "shape"});
  refused(file_of("{" + item("a", "[0,8]", "F32", "[3]") + "}", data), {": a: ", "[3]", "8 bytes"});
  refused(file_of("{" + item("a", "[0,0]", "F32", "[2147483648,2147483648,4]") + "}"), {": a: ", "0 bytes"});
  refused(file_of("{" + item("a", "[8,0]") + "}", data), {": a: ", "data_offsets"});
  refused(file_of("{" + item("a", "[0,4,8]") + "}", data), {": a: ", "data_offsets"});
  refused(file_of(both(item("a", "[0,8]"), item("b", "[4,12]")), data), {": b: ", "overlaps", "expected 8"});
  refused(file_of(both(item("a", "[0,8]"), item("b", "[0,8]")), data), {": b: ", "overlaps", "expected 8"});
  refused(file_of(both(item("a", "[0,4]", "F32", "[1]"), item("b", "[8,16]")), data), {": b: ", "gap"});
  refused(file_of("{" + item("a", "[8,16]") + "}", data), {": a: ", "gap"});
  refused(file_of(one, data.substr(0, 7)), {": a: ", "ends at 8", "7 bytes"});
  refused(file_of(one, data), {"8 bytes left over"});
  refused(file_of("{" + item("a", "[0,8]", "U64", "[1]") + "}", data.substr(8)),
          {": a: ", "U64 is not read"});
  refused(file_of("{" + item("a", "[0,8]", "F32", "[1,1,1,1,2]") + "}", data.substr(8)),
          {": a: ", "5 dimensions"});
  refused(file_of(R"({"__metadata__":[]})"), {"__metadata__", "no object"});
  refused(file_of(R"({"__metadata__":{"k":1}})"), {"__metadata__", "k is not a string"});

  CHECK(mentions(error_of<DataError>([&] { (void)SafetensorsReader::open(folder.file("none")); }), "none"));
  CHECK(mentions(error_of<DataError>([&] { (void)SafetensorsReader::open("/dev/null"); }), "regular"));
  replace_file(path, file_of(one, data.substr(8)));
  const SafetensorsReader cut = SafetensorsReader::open(path);
  CHECK(mentions(error_of<DataError>([&] { (void)cut.tensor("b"); }), ": b: missing"));
  std::filesystem::resize_file(path, 30);
  CHECK(mentions(error_of<DataError>([&] { (void)cut.tensor("a"); }), ": a: the file ends"));
}

TEST_CASE_FIXTURE(InFolder,
                  "tensors that a safetensors file cannot hold are refused, and an older file is kept") {
  const std::string path = folder.file("a.safetensors");
  const Tensor x = Tensor::zeros({2});
  save_safetensors(path, {{"x", x}});
  const std::string before = contents_of(path);
  const auto refused = [&](const std::vector<std::pair<std::string, Tensor>>& tensors,
                           const std::string& part) {
    CHECK(mentions(error_of([&] { save_safetensors(path, tensors); }), part));
    CHECK(contents_of(path) == before);
  };
  refused({{"x", x}, {"x", x}}, "x occurs twice");
  refused({{"__metadata__", x}}, "__metadata__ occurs twice");
  refused({{"a\xff", x}}, "UTF-8");
  refused({{"gone", Tensor()}}, "gone");
  refused({{"packed", Tensor::empty({4}, DType::bits)}}, "packed");
  CHECK(mentions(error_of([&] { save_safetensors(path, {{"x", x}}, {{"k", "\xff"}}); }), "metadata k"));
}
