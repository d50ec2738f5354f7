#include "../support.h"
#include "h5_file.h"

#include <chrono>

using namespace adj;
using namespace adj::test;

namespace {

void write(const std::string& file, const Tensor& x, int gzip = 0) { write_h5(file, {{"nodes/x", x}}, gzip); }

Tensor picked(const Tensor& x, const std::vector<int32_t>& index) {
  return Features(x).rows(Tensor::from(index)).dense();
}

}  // namespace

TEST_CASE("rows of a file equal the matrix's, in any order and on any number of threads") {
  const TemporaryDirectory folder;
  const std::string file = folder.file("x.h5");
  for (int64_t width : {1, 7, 100}) {
    const Tensor x = random_tensor({5000, width});
    write(file, x);
    const FileRows rows = FileRows::open(file);
    CHECK(rows.rows() == 5000);
    CHECK(rows.cols() == width);
    CHECK(rows.str() == file + ": nodes/x");
    std::vector<int32_t> index = random_ints(3000, 0, 5000).to_vector<int32_t>();
    for (int32_t i = 900; i < 1600; ++i) index.push_back(i);  // which are read at once
    index.insert(index.end(), {0, 0, 4999, 4999, 0});
    for (int threads : {1, 4}) {
      const Threads scope(threads);
      CHECK(same_bits(rows.gather(Tensor::from(index)), picked(x, index)));
    }
    CHECK(rows.gather(Tensor::empty({0}, DType::i32)).shape() == Shape{0, width});
  }
}

TEST_CASE_FIXTURE(InFolder, "a row out of range is an error that names its position") {
  const std::string file = folder.file("x.h5");
  write(file, random_tensor({10, 3}));
  const FileRows rows = FileRows::open(file);
  CHECK_ERROR(rows.gather(Tensor::from(std::vector<int32_t>{3, 10})),
              (file + ": nodes/x: row 10 at position 1, expected 0 to 9").c_str());
  CHECK_THROWS_AS(rows.gather(Tensor::from(std::vector<int32_t>{-1})), Error);
  CHECK_THROWS_AS(rows.gather(Tensor::zeros({2})), Error);
  CHECK_THROWS_AS(FileRows().gather(Tensor::from(std::vector<int32_t>{0})), Error);
}

TEST_CASE("rows that are not contiguous or not finite are refused when the file is opened") {
  const TemporaryDirectory folder;
  const std::string file = folder.file("x.h5");
  write(file, random_tensor({1000, 30}), 6);
  check_read_error(file,
                   "nodes/x: compressed, chunked, or of another width or byte order, expected float32 that "
                   "is neither compressed nor chunked: only such rows can be read one by one",
                   [&] { (void)FileRows::open(file); });
  write(file, random_tensor({10, 3}, DType::f64));
  CHECK_THROWS_AS(FileRows::open(file), DataError);
  write(file, random_tensor({10}));
  CHECK_THROWS_AS(FileRows::open(file), DataError);
  CHECK_THROWS_AS(FileRows::open(file, "nodes/z"), DataError);
  Tensor x = random_tensor({40000, 5});
  x.mutable_data<float>()[39000 * 5 + 4] = std::numeric_limits<float>::infinity();
  write(file, x);
  check_read_error(file, "nodes/x: inf at [39000, 4], expected finite numbers",
                   [&] { (void)FileRows::open(file); });
}

TEST_CASE("a file that is written to while its rows are read is an error, one that is replaced is not") {
  const TemporaryDirectory folder;
  const std::string file = folder.file("x.h5"), other = folder.file("y.h5");
  const Tensor x = random_tensor({5000, 40}), index = Tensor::from(std::vector<int32_t>{1, 4999});
  write(file, x);
  write(other, random_tensor({5000, 40}));
  const FileRows rows = FileRows::open(file);
  const Tensor expected = rows.gather(index);
  std::filesystem::rename(other, file);
  CHECK(same_bits(rows.gather(index), expected));
  std::filesystem::remove(file);
  CHECK(same_bits(rows.gather(index), expected));

  write(file, x);
  const FileRows written = FileRows::open(file);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(100'000);
    stream << "other values";
  }
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  const std::string message = "nodes/x: the file has changed since it was opened";
  check_read_error(file, message, [&] { (void)written.gather(index); });
  check_read_error(file, message, [&] { written.for_blocks([](int64_t, const Tensor&) {}); });
}

TEST_CASE_FIXTURE(InFolder, "a file that becomes shorter while its rows are read is an error") {
  const std::string file = folder.file("x.h5");
  write(file, random_tensor({5000, 40}));
  const FileRows rows = FileRows::open(file);
  std::filesystem::resize_file(file, 100'000);
  const auto read = [&](const std::vector<int32_t>& index) { (void)rows.gather(Tensor::from(index)); };
  check_read_error(file, "nodes/x: the file has changed since it was opened", [&] { read({1}); });
  check_read_error(file, "nodes/x: the file has become shorter", [&] { read({1, 4999}); });
}

TEST_CASE_FIXTURE(InFolder, "rows normalised while they are read have the bits of those in memory") {
  const std::string file = folder.file("x.h5");
  for (int64_t width : {1, 7, 100}) {
    CAPTURE(width);
    Tensor x = random_tensor({3000, width});
    float* value = x.mutable_data<float>();
    std::fill_n(value + 5 * width, 3 * width, 0.0f);
    std::fill_n(value + 9 * width, width, 1e-39f);  // whose sum has no reciprocal
    write(file, x);
    const Tensor expected = Features(x).row_normalized().dense();
    const FileRows rows = FileRows::open(file).row_normalized();
    std::vector<int32_t> index = random_ints(2000, 0, 3000).to_vector<int32_t>();
    index.insert(index.end(), {5, 6, 7, 9, 2999});
    for (int threads : {1, 3}) {
      const Threads scope(threads);
      CHECK(same_bits(rows.gather(Tensor::from(index)), picked(expected, index)));
    }
    CHECK(same_bits(FileRows::open(file).gather(Tensor::from(index)), picked(x, index)));
  }
}

TEST_CASE_FIXTURE(InFolder, "blocks of a file's rows cover all rows in order") {
  const std::string file = folder.file("x.h5");
  for (const Shape& shape : {Shape{1, 1}, Shape{7001, 997}, Shape{9, 700'000}}) {
    const Tensor x = random_tensor(shape);
    write(file, x);
    for (bool normalized : {false, true}) {
      FileRows rows = FileRows::open(file);
      if (normalized) rows = rows.row_normalized();
      const Tensor expected = normalized ? Features(x).row_normalized().dense() : x;
      int64_t next = 0, blocks = 0;
      rows.for_blocks([&](int64_t first, const Tensor& block) {
        CHECK(first == next);
        CHECK(same_bits(block, expected.rows(first, first + block.size(0))));
        next += block.size(0);
        ++blocks;
        if (next < shape[0]) CHECK(block.size(0) % 2 == 0);
      });
      CHECK(next == shape[0]);
      CHECK((blocks > 1) == (shape[0] > 1));
    }
  }
  CHECK_THROWS_AS(FileRows().for_blocks([](int64_t, const Tensor&) {}), Error);
}
