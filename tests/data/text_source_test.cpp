#include "../support.h"
#include "gzip_file.h"
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/number_rows.h>

#include <sys/stat.h>

using namespace adj;
using namespace adj::test;

namespace {

using NumberedLine = std::pair<std::string, int64_t>;

std::vector<NumberedLine> lines_of(const std::string& path, size_t longest = TextSource::kLongestLine) {
  TextSource source(path, nullptr, longest);
  std::vector<NumberedLine> lines;
  for (std::string_view line; source.next(line);) lines.push_back({std::string(line), source.line_number()});
  return lines;
}

std::vector<NumberedLine> lines_by_blocks(const std::string& path) {
  TextSource source(path);
  std::vector<NumberedLine> all;
  source.for_blocks(
      [](const TextBlock& block) {
        std::vector<NumberedLine> lines;
        for (LineCursor cursor(block); cursor.next();)
          lines.push_back({std::string(cursor.line()), cursor.number()});
        return lines;
      },
      [&](std::vector<NumberedLine> lines) { all.insert(all.end(), lines.begin(), lines.end()); });
  return all;
}

template <class T>
Tensor rows_of(const std::string& path, const RowFormat& format = {}) {
  TextSource source(path);
  return read_rows<T>(source, format);
}

template <class T>
std::string rows_message(const TemporaryDirectory& folder, const std::string& text,
                         const RowFormat& format = {}) {
  const std::string path = write_file(folder.file("rows"), text);
  const std::string message = error_of<DataError>([&] { (void)rows_of<T>(path, format); });
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

}  // namespace

TEST_CASE("a text has the same lines plain, gzipped, in gzip members, by line and by block") {
  const TemporaryDirectory folder;
  std::string text = "\xef\xbb\xbf";
  std::vector<NumberedLine> expected;
  for (int64_t i = 1; i <= 200000; ++i) {
    const std::string line = i % 1000 == 0 ? "" : std::to_string(i * 7919) + "," + std::string(i % 40, 'x');
    text += line + (i % 3 == 0 ? "\r\n" : "\n");
    expected.push_back({line, i});
  }
  text += "no end";
  expected.push_back({"no end", 200001});
  const std::string_view all = text;
  const size_t half = text.size() / 2;
  for (const std::string& bytes : {text, gzipped(text), gzipped(text, 0),
                                   gzipped(all.substr(0, half)) + gzipped("") + gzipped(all.substr(half)),
                                   gzipped(text) + std::string(600, '\0')}) {
    const std::string path = write_file(folder.file("text"), bytes);
    CHECK(lines_of(path) == expected);
    for (int threads : {1, 3}) {
      const Threads scope(threads);
      CHECK(lines_by_blocks(path) == expected);
    }
  }
}

TEST_CASE_FIXTURE(InFolder, "empty texts have no lines, and empty lines are lines") {
  CHECK(lines_of(write_file(folder.file("a"), "")).empty());
  CHECK(lines_of(write_file(folder.file("a"), gzipped(""))).empty());
  CHECK(lines_of(write_file(folder.file("a"), "\n\r\n")) == std::vector<NumberedLine>{{"", 1}, {"", 2}});
  CHECK(lines_of(write_file(folder.file("a"), "\x1f")) == std::vector<NumberedLine>{{"\x1f", 1}});
}

TEST_CASE_FIXTURE(InFolder, "files that are not text or not complete gzip are refused by name") {
  const std::string path = folder.file("text");
  const auto refused = [&](const std::string& bytes) {
    return error_of<DataError>([&] { lines_of(write_file(path, bytes)); });
  };
  CHECK(mentions(error_of<DataError>([&] { lines_of(folder.file("none")); }), "none: cannot be opened"));
  CHECK(error_of<DataError>([&] { lines_of("/tmp"); }) == "/tmp: a folder, expected a file");
  CHECK(error_of<DataError>([&] { lines_of("/dev/zero"); }) == "/dev/zero: not a regular file");
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_of<DataError>([&] { lines_of(pipe); }) == pipe + ": not a regular file");

  std::string text;
  for (int64_t i = 0; i < 1000; ++i) text += std::to_string(i * i) + "\n";
  const std::string whole = gzipped(text);
  for (size_t length : {size_t{2}, size_t{9}, whole.size() / 2, whole.size() - 1})
    CHECK(mentions(refused(whole.substr(0, length)), "truncated gzip"));
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  CHECK(mentions(refused(damaged), "damaged gzip: incorrect data check"));
  CHECK(mentions(refused(whole + "more"), "other bytes after its end"));
  CHECK(mentions(refused(whole + std::string(3, '\0') + whole), "other bytes after its end"));
  CHECK(refused(whole).empty());
}

TEST_CASE_FIXTURE(InFolder, "other archives are refused by name") {
  const auto refused = [&](std::string_view bytes) {
    const std::string path = write_file(folder.file("text"), std::string(bytes));
    return error_of<DataError>([&] { lines_of(path); }).substr(path.size());
  };
  using namespace std::string_view_literals;
  CHECK(refused("BZh91AY&SY\x01"sv) ==
        ": a bzip2 archive, expected text, plain or gzip: unpack it (bunzip2)");
  CHECK(refused("\xfd"
                "7zXZ\0\0"sv)
            .starts_with(": an xz archive, "));
  CHECK(refused("\x28\xb5\x2f\xfd\x04"sv).starts_with(": a zstd archive, "));
  CHECK(refused("PK\x03\x04\x14"sv).starts_with(": a zip archive, "));
  CHECK(refused("7z\xbc\xaf\x27\x1c"sv).starts_with(": a 7z archive, "));
  CHECK(refused("PAR1\x15\x04"sv).starts_with(": a Parquet file, "));
  CHECK(refused("ARROW1\0\0"sv).starts_with(": an Arrow file, "));
  CHECK_NOTHROW(lines_of(write_file(folder.file("genes"), "PAR1 PAR2\n")));
  CHECK(lines_of(write_file(folder.file("text"), "BZh91 2\n")).size() == 1);
  CHECK(lines_of(write_file(folder.file("text"), "1 2\r")).size() == 1);
}

TEST_CASE_FIXTURE(InFolder, "a line that is too long is refused with its number") {
  const std::string path = folder.file("text");
  const auto refused = [&](const std::string& text, size_t longest) {
    return error_of<DataError>([&] { lines_of(write_file(path, text), longest); });
  };
  CHECK(refused("ab\n12345678\nc\n", 8) == "");
  CHECK(refused("ab\n123456789\nc\n", 8) ==
        path + ":2: expected lines of at most 8 bytes, found a longer one");
  CHECK(refused("ab\ncd\n123456789", 8) ==
        path + ":3: expected lines of at most 8 bytes, found a longer one");
  CHECK(refused("x\n" + std::string(5 << 20, 'y'), 4 << 20)
            .starts_with(path + ":2: expected lines of at most"));
  CHECK(refused("x\n" + std::string(3 << 20, 'y') + "\nz", 4 << 20) == "");
}

TEST_CASE_FIXTURE(InFolder, "a gzip bomb is refused before it fills the memory") {
  std::string million;
  for (int i = 0; i < 1024; ++i) million += std::string(1023, '0') + "\n";
  const std::string member = gzipped(million, 9);
  std::string bomb;
  for (int i = 0; i < 1100; ++i) bomb += member;
  const std::string path = write_file(folder.file("bomb.gz"), bomb);
  int64_t lines = 0;
  CHECK(mentions(error_of<DataError>([&] {
                   TextSource source(path);
                   for (TextBlock block; source.next(block);)
                     lines += static_cast<int64_t>(block.text.size());
                 }),
                 "expands to more than 100 times its size"));
  CHECK(lines < int64_t{32} << 20);
}

TEST_CASE("a number must fill its whole field") {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                    {" -7\t", -7},
                                                    {"+5", 5},
                                                    {"9223372036854775807", INT64_MAX},
                                                    {"-9223372036854775808", INT64_MIN}})
    CHECK(integer_in(text) == value);
  for (const char* text :
       {"", " ", "1.0", "1e3", "0x10", "9223372036854775808", "1 2", "--1", "+-1", "a", "1a"})
    CHECK_FALSE(integer_in(text));
  CHECK(float_in("1e-60") == 0.0f);
  CHECK(float_in("-2.5e3") == -2500.0f);
  CHECK(float_in("0.1") == 0.1f);
  CHECK(float_in("1e-40") == 1e-40f);
  for (const char* text : {"", "nan", "inf", "-inf", "1e39", "1,5", "0x1p3", "1e", "infinity", "1e999"})
    CHECK_FALSE(float_in(text));
  CHECK(double_in("1e39") == 1e39);
  CHECK(is_missing(" NaN "));
  CHECK(is_missing(""));
  CHECK(is_missing("\"\""));
  CHECK(is_missing("\\N"));
  CHECK_FALSE(is_missing("0"));
}

TEST_CASE_FIXTURE(InFolder, "rows of numbers become a tensor, the same on any number of threads") {
  std::string text;
  std::vector<float> expected;
  for (int i = 0; i < 300000; ++i) {
    const float a = static_cast<float>(i) * 0.37f, b = -static_cast<float>(i % 97) / 3;
    text += fmt::format("{:.9g}, {:.9g},{}\n", a, b, i);
    expected.insert(expected.end(), {a, b, static_cast<float>(i)});
  }
  const std::string path = write_file(folder.file("rows.gz"), gzipped(text, 1));
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    CHECK(same_bits(rows_of<float>(path), Tensor::from(expected, {300000, 3})));
  }
  const auto ints =
      rows_of<int64_t>(write_file(folder.file("a"), "x,y\n 1,\t2 \n\n-3,   4\n"), {.header = true});
  CHECK(ints.shape() == Shape{2, 2});
  CHECK(ints.to_vector<int64_t>() == std::vector<int64_t>{1, 2, -3, 4});
  const auto column =
      rows_of<float>(write_file(folder.file("a"), "1\n\nnan\n2\n"), {.columns = 1, .missing = true});
  REQUIRE(column.shape() == Shape{4, 1});
  CHECK(std::isnan(column.data<float>()[1]));
  CHECK(std::isnan(column.data<float>()[2]));
  CHECK(rows_of<int32_t>(write_file(folder.file("a"), ""), {.columns = 3}).shape() == Shape{0, 3});
}

TEST_CASE_FIXTURE(InFolder, "bad rows are refused with file and line") {
  CHECK(rows_message<float>(folder, "1,2\n3\n") == ":2: 1 fields, expected 2");
  CHECK(rows_message<float>(folder, "1,2\n3,4,5\n") == ":2: 3 fields, expected 2");
  CHECK(rows_message<float>(folder, "1,2\n3,\n") ==
        ":2: \"\" in column 2, expected a finite number within float32");
  CHECK(rows_message<float>(folder, "1,2\n3,inf\n").starts_with(":2: \"inf\" in column 2"));
  CHECK(rows_message<float>(folder, "1,2\n3,1e39\n").starts_with(":2: \"1e39\" in column 2"));
  CHECK(rows_message<int32_t>(folder, "1\n2147483648\n").starts_with(":2: \"2147483648\" in column 1"));
  CHECK(rows_message<int32_t>(folder, "1\n-1\n", {.least = 0, .most = 9}) ==
        ":2: \"-1\" in column 1, expected an integer from 0 to 9");
  CHECK(mentions(rows_message<int32_t>(folder, "1\n2\x01\n"), "\"2\\x01\""));
  std::string late;
  for (int i = 0; i < 2000000; ++i) late += "1,2,3\n";
  for (int threads : {1, 4}) {
    const Threads scope(threads);
    CHECK(rows_message<int32_t>(folder, late + "1,2\n" + late + "x\n") == ":2000001: 2 fields, expected 3");
  }
}
