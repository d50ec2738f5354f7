#include "../support.h"
#include "npz_file.h"
#include <adjoint/data/import/npz.h>

using namespace adj;
using namespace adj::test;

namespace {

using I = std::vector<int32_t>;
using L = std::vector<int64_t>;
using F = std::vector<float>;
using D = std::vector<double>;

/// The file in memory, and a reader of it.
struct Opened {
  std::string bytes;
  NpzReader reader;
  explicit Opened(const NpzFile& file) : Opened(file.bytes()) {}
  explicit Opened(std::string image)
      : bytes(std::move(image)),
        reader(NpzReader::from_image(std::as_bytes(std::span(bytes.data(), bytes.size())), "a.npz")) {}
};

/// The error of reading array "x" of a file that holds these bytes there.
std::string refused(const NpzFile& file) {
  return error_of<DataError>([&] { (void)Opened(file).reader.tensor("x"); });
}
std::string error_of_array(const std::string& bytes) { return refused(NpzFile().add("x", bytes)); }

std::string error_of_header(const std::string& text, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(text.size() & 255);
  file += static_cast<char>(text.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return error_of_array(file + text);
}

}  // namespace

TEST_CASE("an npz file: every supported type, stored and deflated") {
  for (uint16_t method : {0, 8}) {
    NpzFile file;
    file.add("b", npy_bools({2}, {1, 0}), method).add("i1", npy<int8_t>({2}, {-1, 2}), method);
    file.add("u1", npy<uint8_t>({2}, {255, 2}), method).add("i2", npy<int16_t>({2}, {-300, 2}), method);
    file.add("u2", npy<uint16_t>({2}, {65535, 2}), method).add("i4", npy<int32_t>({2}, {-70000, 2}), method);
    file.add("u4", npy<uint32_t>({2}, {4000000000u, 2}), method);
    file.add("i8", npy<int64_t>({2}, {-5000000000, 2}), method).add("u8", npy<uint64_t>({1}, {7}), method);
    file.add("f4", npy<float>({2}, {-0.5f, 2}), method).add("f8", npy<double>({2}, {0.1, 2}), method);
    const Opened opened(file);
    const NpzReader& z = opened.reader;
    CHECK(z.names().size() == 11);
    CHECK(z.is_bool("b"));
    CHECK(z.is_integer("b"));
    CHECK(!z.is_bool("u1"));
    CHECK(!z.is_integer("f4"));
    CHECK(z.tensor("b").to_vector<uint8_t>() == std::vector<uint8_t>{1, 0});
    CHECK(z.tensor("u1").to_vector<uint8_t>() == std::vector<uint8_t>{255, 2});
    CHECK(z.tensor("i1").to_vector<int32_t>() == I{-1, 2});
    CHECK(z.tensor("i2").to_vector<int32_t>() == I{-300, 2});
    CHECK(z.tensor("u2").to_vector<int32_t>() == I{65535, 2});
    CHECK(z.tensor("i4").to_vector<int32_t>() == I{-70000, 2});
    CHECK(z.tensor("u4").to_vector<int64_t>() == L{4000000000, 2});
    CHECK(z.tensor("i8").to_vector<int64_t>() == L{-5000000000, 2});
    CHECK(z.tensor("u8").to_vector<int64_t>() == L{7});
    CHECK(z.tensor("f4").to_vector<float>() == F{-0.5f, 2});
    CHECK(z.tensor("f8").to_vector<double>() == D{0.1, 2});
    CHECK(z.tensor("f8", DType::f32, {2}).to_vector<float>() == F{0.1f, 2});
    CHECK(z.tensor("i8", DType::f64, {-1}).to_vector<double>() == D{-5e9, 2});
    CHECK(z.tensor("u2", DType::i64, {2}).to_vector<int64_t>() == L{65535, 2});
  }
}

TEST_CASE("an npz file: half precision") {
  const std::vector<uint16_t> bits = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001,
                                      0x03ff, 0x0400, 0x3555, 0x7c00, 0xfc00, 0x7e00};
  const Opened opened(NpzFile().add("x", npy("<f2", {12}, raw(bits))));
  const std::vector<float> x = opened.reader.tensor("x").to_vector<float>();
  const F expected = {0.0f, -0.0f, 1.0f, -2.0f, 65504.0f, 0x1p-24f, 0x3ffp-24f, 0x1p-14f, 0.333251953125f};
  for (size_t k = 0; k < expected.size(); ++k) CHECK(x[k] == expected[k]);
  CHECK(std::signbit(x[1]));
  CHECK(x[9] == std::numeric_limits<float>::infinity());
  CHECK(x[10] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(x[11]));
}

TEST_CASE("an npz file: the other byte order, Fortran's order, no dimension, no element") {
  NpzFile file;
  file.add("big", npy(">i4", {2}, std::string("\0\0\0\1\xff\xff\xff\xfe", 8)));
  file.add("half", npy(">f2", {1}, std::string("\x3c\0", 2)));
  file.add("f", npy("<i4", {2, 3}, raw<int32_t>({1, 2, 3, 4, 5, 6}), true));
  file.add("f3", npy("<i4", {2, 3, 2}, raw<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), true));
  file.add("scalar", npy<int64_t>({}, {42})).add("one", npy<int32_t>({1}, {43}));
  file.add("none", npy<float>({0, 5}, {})).add("text", npy("|S3", {}, "csr"));
  file.add("wide", npy("<U4", {}, std::string("c\0\0\0s\0\0\0c\0\0\0\0\0\0\0", 16)));
  const Opened opened(file);
  const NpzReader& z = opened.reader;
  CHECK(z.tensor("big").to_vector<int32_t>() == I{1, -2});
  CHECK(z.tensor("half").to_vector<float>() == F{1});
  CHECK(z.tensor("f").to_vector<int32_t>() == I{1, 3, 5, 2, 4, 6});
  CHECK(z.tensor("f3").to_vector<int32_t>() == I{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  CHECK(z.integer("scalar") == 42);
  CHECK(z.integer("one") == 43);
  CHECK(z.tensor("scalar").dims() == 0);
  CHECK(z.tensor("none").shape() == Shape{0, 5});
  CHECK(z.text("text") == "csr");
  CHECK(z.text("wide") == "csc");
  CHECK(z.shape("f3") == L{2, 3, 2});
}

TEST_CASE("an npz file: arrays larger than a block, in both orders") {
  const int64_t rows = 701, columns = 503;
  std::vector<double> c(static_cast<size_t>(rows * columns)), fortran(c.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      fortran[static_cast<size_t>(k * rows + r)] = c[static_cast<size_t>(r * columns + k)] =
          static_cast<double>(r * 1000 + k);
  NpzFile file;
  file.add("c", npy({rows, columns}, c), 8).add("f", npy("<f8", {rows, columns}, raw(fortran), true), 8);
  const Opened opened(file);
  CHECK(opened.reader.tensor("c").to_vector<double>() == c);
  CHECK(opened.reader.tensor("f").to_vector<double>() == c);
  CHECK(opened.reader.tensor("f", DType::f32, {-1, columns}).data<float>()[columns] == 1000.0f);
}

TEST_CASE("an npz file: arrays that are not numbers are refused by name when they are read") {
  NpzFile file;
  file.add("objects", npy("|O", {3}, "\x80\x04]q.")).add("names", npy("<U2", {1}, std::string(8, 'a')));
  file.add("x", npy<int32_t>({1}, {5})).add("complex", npy("<c8", {1}, std::string(8, '\0')));
  file.add("quad", npy("<f16", {1}, std::string(16, '\0')));
  file.entries.push_back({.name = "README", .bytes = "not an array"});
  const Opened opened(file);
  const NpzReader& z = opened.reader;
  CHECK(z.names() == std::vector<std::string>{"complex", "names", "objects", "quad", "x"});
  CHECK(z.tensor("x").to_vector<int32_t>() == I{5});
  const auto refused = [&](const char* name) { return error_of<DataError>([&] { (void)z.tensor(name); }); };
  CHECK(
      refused("objects") ==
      "a.npz: objects: pickled Python objects, which are not read: they can run any code; expected numbers");
  CHECK(refused("names") == "a.npz: names: strings (<U2), expected numbers");
  CHECK(refused("complex") ==
        "a.npz: complex: elements of the type <c8, expected bools, integers or floats of 16, 32 or 64 bits");
  CHECK(refused("quad") != "");
  CHECK(refused("y") == "a.npz: y: missing, expected an array of this name");
  CHECK_THROWS_WITH_AS((void)z.text("x"), "a.npz: x: [1] of the type <i4, expected one string", DataError);
  CHECK_THROWS_AS((void)z.integer("objects"), DataError);
  CHECK(mentions(
      error_of_header("{'descr': [('a', '<i4'), ('b', '<f8', (2,))], 'fortran_order': False, 'shape': (1,)}"),
      "type record"));
}

TEST_CASE("an npz file: the error for an element out of range names it and its place") {
  NpzFile file;
  file.add("i", npy<int64_t>({2, 2}, {1, 2, 3, 1ll << 31})).add("u", npy<uint64_t>({1}, {~0ull}));
  file.add("f", npy<double>({2}, {std::numeric_limits<double>::infinity(), 1e300}));
  file.add("n", npy<int8_t>({3}, {0, 1, -1})).add("b", npy("|b1", {2}, "\1\7"));
  file.add("t", npy("<i8", {2, 2}, raw<int64_t>({1, 1ll << 40, 3, 4}), true));
  file.add("d", npy<int32_t>({1, 1, 1, 1, 1}, {1}));
  const Opened opened(file);
  const NpzReader& z = opened.reader;
  const auto refused = [&](const char* name, std::optional<DType> as = {},
                           std::initializer_list<int64_t> shape = {}) {
    return error_of<DataError>([&] { (void)(as ? z.tensor(name, *as, shape) : z.tensor(name)); });
  };
  CHECK(refused("i", DType::i32, {2, 2}) ==
        "a.npz: i: 2147483648 at row 1, column 1, expected integers within int32");
  CHECK(refused("u") == "a.npz: u: 18446744073709551615 at position 0, expected integers within int64");
  CHECK(refused("f", DType::f32, {2}) == "a.npz: f: 1e+300 at position 1, expected numbers within float32");
  CHECK(refused("n", DType::u8, {3}) == "a.npz: n: -1 at position 2, expected integers from 0 to 255");
  CHECK(refused("b") == "a.npz: b: 7 at position 1, expected bools, 0 or 1");
  CHECK(refused("t", DType::i32, {2, 2}) ==
        "a.npz: t: 1099511627776 at row 1, column 0, expected integers within int32");
  CHECK(refused("f", DType::i32, {2}) == "a.npz: f: elements of the type <f8, expected integers");
  CHECK(refused("i", DType::i64, {-1, 3}) == "a.npz: i: shape [2, 2], expected [*, 3]");
  CHECK(refused("d") == "a.npz: d: 5 dimensions, expected at most 4");
  CHECK_THROWS_WITH_AS((void)z.integer("i"), "a.npz: i: shape [2, 2], expected one integer", DataError);
}

TEST_CASE("an npz file: headers that are not numpy's") {
  const auto with = [](const char* text) { return error_of_header(text); };
  CHECK(with("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), }  \n") == "");
  CHECK(with("{\"shape\":(0L,),'fortran_order':True,'descr':'<i4'}") == "");
  CHECK(error_of_header("{'descr': '<i4', 'fortran_order': False, 'shape': (0,)}", 3) == "");
  CHECK(with("") == "a.npz: x: not a NumPy array (.npy)");  // shorter than any valid one
  CHECK(error_of_array(std::string("\x93NUMPY\1\0\1\0{}", 12)) == "a.npz: x: a header of 1 bytes, too short");
  CHECK(with("{   ") == "a.npz: x: the array's header ends where a string is expected");
  CHECK(with("{'descr': '<i4', 'shape': (0,)}") == "a.npz: x: no 'fortran_order' in the array's header");
  CHECK(with("{'descr': '<i4', 'descr': '<i8', 'fortran_order': False, 'shape': (0,)}") ==
        "a.npz: x: the key 'descr' twice in the array's header");
  CHECK(with("{'descr': '<i4', 'fortran_order': False, 'shape': (0,), 'more': 1}") ==
        "a.npz: x: the key 'more' in the array's header, expected descr, fortran_order and shape");
  CHECK(mentions(with("{'descr': '<i4', 'fortran_order': 0, 'shape': (0,)}"), "expected True or False"));
  for (const char* shape : {"(3)", "(-1,)", "(0,", "3", "(1.5,)", "(1,,)", "(99999999999999999999,)",
                            "(4611686018427387904, 4)", "(0, 4611686018427387904, 4)", "('a',)", "[0]"}) {
    CAPTURE(shape);
    CHECK(with(fmt::format("{{'descr': '<i4', 'fortran_order': False, 'shape': {}}}", shape).c_str()) != "");
  }
  for (const char* type : {"'<i3'", "'i4'", "'|i4'", "''", "'<'", "'<i4x'", "'<i99999999999999999999'", "3",
                           "'<i4", "'\\x3ci4'", "[('a', '<i4')", "__import__('os')", "'<V4'", "'<M8[ns]'"}) {
    CAPTURE(type);
    CHECK(with(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (0,)}}", type).c_str()) != "");
  }
  CHECK(mentions(with("{'descr': '<i4', 'fortran_order': False, 'shape': (0,)} + 1"), "expected the end"));
  std::string many;
  for (int k = 0; k < 65; ++k) many += "1,";
  CHECK(with(fmt::format("{{'descr': '|i1', 'fortran_order': False, 'shape': ({})}}", many).c_str()) ==
        "a.npz: x: more than 64 dimensions");
  CHECK(error_of_header("{'descr': '<i4', 'fortran_order': False, 'shape': (0,)}", 4) ==
        "a.npz: x: version 4 of NumPy's format, expected 1 to 3");
  CHECK(error_of_array("") == "a.npz: x: not a NumPy array (.npy)");
  CHECK(error_of_array("hello, this is text") == "a.npz: x: not a NumPy array (.npy)");
  CHECK(error_of_array(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f{", 13)) ==
        "a.npz: x: a header of 2147483647 bytes, expected at most 65536");
  CHECK(error_of_array(std::string("\x93NUMPY\1\0\x70\0{'descr'", 18)) == "a.npz: x: ends within its header");
}

TEST_CASE("an npz file: inconsistent sizes and zip bombs are refused before allocation") {
  CHECK(error_of_array(npy("<i4", {1000000000000}, "abcd")) ==
        "a.npz: x: [1000000000000] <i4 takes 4000000000000 bytes, but the archive has 4");
  CHECK(error_of_array(npy("<i4", {1}, "abcdefgh")) ==
        "a.npz: x: [1] <i4 takes 4 bytes, but the archive has 8");
  CHECK(mentions(error_of_array(npy("<i4", {0}, "abcd")), "takes 0 bytes"));
  NpzFile file;
  file.add("x", npy("<i4", {1000000000}, std::string(4, 'a')), 8);
  file["x"].claimed = static_cast<int64_t>(file["x"].bytes.size()) - 4 + 4000000000;
  CHECK(mentions(refused(file), "more than there can be: damaged, or a zip bomb"));
  file["x"].method = 0;
  CHECK(refused(file) != "");
  // A stream of this size could hold the claimed bytes, but the file's limit is lower.
  NpzFile bomb;
  bomb.add("x", npy("|i1", {900000000}, std::string(1000000, 'a')), 8);
  bomb["x"].claimed = static_cast<int64_t>(bomb["x"].bytes.size()) - 1000000 + 900000000;
  CHECK(mentions(refused(bomb), "expected at most 200 times as many: a zip bomb?"));
  // With a claim below the limit the stream is read, and ends early.
  NpzFile shorter;
  shorter.add("x", npy("|i1", {2000000}, std::string(1000000, 'a')), 8);
  shorter["x"].claimed = static_cast<int64_t>(shorter["x"].bytes.size()) + 1000000;
  CHECK(refused(shorter) != "");
  NpzFile longer;
  longer.add("x", npy("|i1", {10}, std::string(1000000, 'a')), 8);
  longer["x"].claimed = static_cast<int64_t>(longer["x"].bytes.size()) - 1000000 + 10;
  CHECK(refused(longer) != "");
}

TEST_CASE("an npz file: damage, encryption, other compression, duplicate names") {
  const std::string good = npy<int32_t>({4}, {1, 2, 3, 4});
  CHECK(refused(NpzFile().add("x", good).add("y", good)) == "");
  CHECK(refused(NpzFile().add("x", good).add("x", good)) ==
        "a.npz: x: twice in the archive, expected each name once");
  for (uint16_t method : {0, 8}) {
    NpzFile file;
    file.add("x", good, method);
    file["x"].crc_difference = 1;
    CHECK(refused(file) == "a.npz: x: damaged: CRC error");
  }
  NpzFile file;
  file.add("x", good);
  file["x"].flags = 1;
  CHECK(refused(file) == "a.npz: x: encrypted, expected plain");
  file["x"].flags = 0;
  file["x"].method = 14;
  CHECK(refused(file) == "a.npz: x: compressed by method 14, expected stored or deflated");
}

TEST_CASE_FIXTURE(InFolder, "an npz file: files that are not archives, or truncated at any byte") {
  const std::string path = folder.file("a.npz");
  const auto error = [&](const std::string& bytes) -> std::string {
    std::ofstream(path, std::ios::binary) << bytes;
    const std::string message = error_of<DataError>([&] {
      const NpzReader z = NpzReader::open(path);
      (void)z.tensor("x"), (void)z.tensor("y");
    });
    if (message.empty()) return "none";
    CHECK(message.starts_with(path));
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(path.size() + 2);
  };
  CHECK(error("") == "not an .npz file, it is empty");
  CHECK(error("hello") == "not an .npz file (a zip archive)");
  CHECK(error(npy<int32_t>({1}, {1})) == "one array (.npy), expected an archive of them (.npz)");
  NpzFile file;
  file.add("x", npy<int32_t>({4}, {1, 2, 3, 4})).add("y", npy<double>({2}, {1, 2}), 8);
  const std::string bytes = file.bytes();
  CHECK(error(bytes) == "none");
  for (size_t length = 1; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK(error(bytes.substr(0, length)) != "none");
  }
  CHECK(error(bytes.substr(0, bytes.size() - 30)) ==
        "its directory, which ends an .npz file, is missing or damaged: truncated?");
  CHECK_THROWS_WITH_AS((void)NpzReader::open(folder.file("none.npz")),
                       (folder.file("none.npz") + ": No such file or directory").c_str(), DataError);
  CHECK_THROWS_AS((void)NpzReader::open(folder.file(".")), DataError);
  CHECK_THROWS_AS((void)NpzReader::open("/dev/zero"), DataError);
}

TEST_CASE("an npz file: any byte may be wrong") {
  NpzFile file;
  file.add("x", npy<int32_t>({2, 2}, {1, 2, 3, 4})).add("y", npy<double>({2}, {1, 2}), 8);
  const std::string good = file.bytes();
  int read = 0;
  for (size_t position = 0; position < good.size(); ++position)
    for (unsigned char change : {0x01, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[position] = static_cast<char>(static_cast<unsigned char>(bytes[position]) ^ change);
      try {
        const Opened opened(bytes);
        for (const std::string& name : opened.reader.names()) (void)opened.reader.tensor(name);
        ++read;
      } catch (const DataError& error) {
        CHECK(std::string(error.what()).starts_with("a.npz: "));
      }
    }
  CHECK(read > 0);  // times, attributes
}
