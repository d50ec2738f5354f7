#include "../support.h"
#include <adjoint/training/tensorboard.h>

using namespace adj;
using namespace adj::test;
using namespace adj::training;

TEST_CASE("CRC-32C of the examples of RFC 3720, B.4, and of \"123456789\"") {
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  CHECK(crc32c(rising) == 0x46dd794eu);
  CHECK(crc32c("") == 0u);
}

TEST_CASE("a record has length, checksum, data, checksum") {
  // An empty record: CRC-32C of 8 zero bytes is 0x8c28b28a, of no bytes 0; the mask is a rotation and a sum.
  const auto masked = [](uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; };
  const auto number = [](const std::string& text, size_t offset) {
    uint32_t value = 0;
    for (size_t byte = 0; byte < 4; ++byte)
      value |= uint32_t{static_cast<unsigned char>(text[offset + byte])} << 8 * byte;
    return value;
  };
  const std::string empty = tf_record(""), some = tf_record("123456789");
  REQUIRE(empty.size() == 16);
  CHECK(number(empty, 8) == masked(0x8c28b28au));
  CHECK(number(empty, 12) == 0xa282ead8u);
  REQUIRE(some.size() == 25);
  CHECK(some.substr(0, 8) == std::string("\x09\0\0\0\0\0\0\0", 8));
  CHECK(some.substr(12, 9) == "123456789");
  CHECK(number(some, 21) == masked(0xe3069283u));
}

TEST_CASE_FIXTURE(InFolder, "an event file begins with its version, and each event is appended") {
  TensorBoard board(folder.file("runs/one")), other(folder.file("runs/one"));
  CHECK(board.path() != other.path());
  CHECK(mentions(board.path(), "events.out.tfevents."));
  const size_t first = contents_of(board.path()).size();
  CHECK(mentions(contents_of(board.path()), "brain.Event:2"));
  board.add(1, {{"loss/train", 0.5}, {"accuracy/validation", 0.75}});
  const std::string text = contents_of(board.path());
  CHECK(mentions(text, {"loss/train", "accuracy/validation", std::string("\0\0\x40\x3f", 4)}));
  CHECK(text.size() > first);
  CHECK(mentions(error_of<DataError>([&] { TensorBoard(board.path()); }), board.path()));
}
