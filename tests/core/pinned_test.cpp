#include "../support.h"
#include <adjoint/core/pinned.h>

#include <cstring>

using namespace adj;
using namespace adj::test;

TEST_CASE("pinned rows hold the matrix, and handles share it") {
  for (Device device : devices())
    for (int64_t rows : {0, 1, 70'000}) {
      const Tensor matrix = random_tensor({rows, 33});
      const PinnedRows pinned(matrix, device), other = pinned;
      CHECK(pinned.shape() == matrix.shape());
      CHECK(pinned.dtype() == DType::f32);
      CHECK(pinned.reader() == device);
      CHECK(other.data() == pinned.data());
      CHECK((rows == 0 || std::memcmp(pinned.data(), matrix.raw_data(), matrix.bytes()) == 0));
    }
  CHECK_FALSE(PinnedRows());
}

TEST_CASE("pinned rows require a matrix, and too many are an error") {
  CHECK_THROWS_AS(PinnedRows(random_tensor({3}), Device::cpu()), Error);
  CHECK_THROWS_AS(PinnedRows(Tensor(), Device::cpu()), Error);
  for (Device device : devices())
    CHECK_THROWS_AS(PinnedRows(int64_t{1} << 40, 1 << 12, DType::f32, device), OutOfMemory);
}
