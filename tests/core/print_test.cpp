#include "../support.h"
#include <adjoint/autograd/variable.h>
#include <adjoint/core/print.h>

#include <cmath>
#include <limits>
#include <sstream>

using namespace adj;
using namespace adj::test;

namespace {

template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("tensors print as nested rows in one width") {
  const Tensor x = Tensor::from(std::vector{1.5f, -2.25f, 100.0f, 0.12345f}, {2, 2});
  CHECK(printed(x) == "[[  1.5000  -2.2500]\n [100.0000   0.1235]]\n[2, 2] float32 on cpu");
  CHECK(fmt::format("{}", x) == printed(x));
  CHECK(printed(Tensor::from(std::vector<double>{1.0, -20.0, NAN, INFINITY})) ==
        "[  1. -20.  nan  inf]\n[4] float64 on cpu");
  CHECK(printed(Tensor::from(std::vector{1e-9, 2.0})) == "[1.0000e-09 2.0000e+00]\n[2] float64 on cpu");
  CHECK(printed(Tensor::from(std::vector{123456.5, 2.0})) == "[1.2346e+05 2.0000e+00]\n[2] float64 on cpu");
  // Whole numbers exactly.
  CHECK(printed(Tensor::from(std::vector<int64_t>{std::numeric_limits<int64_t>::max(), -1})) ==
        "[9223372036854775807                  -1]\n[2] int64 on cpu");
  CHECK(printed(Tensor::from(std::vector<uint8_t>{0, 255}, {2, 1})) ==
        "[[  0]\n [255]]\n[2, 1] uint8 on cpu");
  CHECK(printed(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 1, 2})) ==
        "[[[1 2]]\n\n [[3 4]]]\n[2, 1, 2] int32 on cpu");
  CHECK(printed(Tensor::full({}, 2.5, DType::bf16)) == "2.5000\n[] bfloat16 on cpu");
  CHECK(printed(Tensor::zeros({0, 3})) == "[]\n[0, 3] float32 on cpu");
  CHECK(printed(Tensor()) == "absent");
}

TEST_CASE("of large tensors the ends are printed") {
  std::vector<int32_t> numbers(60'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i);
  CHECK(printed(Tensor::from(numbers)) == "[    0     1     2 ... 59997 59998 59999]\n[60000] int32 on cpu");
  CHECK(printed(Tensor::from(numbers, {10000, 6})) ==
        "[[    0     1     2     3     4     5]\n [    6     7     8     9    10    11]\n"
        " [   12    13    14    15    16    17]\n ...\n [59982 59983 59984 59985 59986 59987]\n"
        " [59988 59989 59990 59991 59992 59993]\n [59994 59995 59996 59997 59998 59999]]\n[10000, 6] int32 "
        "on cpu");
  CHECK(to_text(Tensor::from(numbers, {2, 30000}), {.edge = 1}) ==
        "[[    0 ... 29999]\n [30000 ... 59999]]\n[2, 30000] int32 on cpu");
  CHECK(to_text(Tensor::from(std::vector{1.0f, 2.5f}), {.digits = 1}) == "[1.0 2.5]\n[2] float32 on cpu");
}

TEST_CASE("variables, shapes, devices and dtypes print") {
  CHECK(printed(Var::parameter(Tensor::full({1}, 3.0))) == "[3.]\n[1] float32 on cpu, with a gradient");
  CHECK(printed(Var(Tensor::full({1}, 3.0))) == "[3.]\n[1] float32 on cpu");
  CHECK(printed(Var()) == "absent");
  CHECK(printed(Shape{2, 3}) == "[2, 3]");
  CHECK(printed(Device::cuda(1)) == "cuda:1");
  CHECK(printed(DType::bf16) == "bfloat16");
}
