#include "tile_cases.h"

using namespace adj;
using namespace adj::test;

namespace {

const std::vector<std::pair<std::string, Tensor& (*)(RowTiles&)>> kMembers = {
    {"windows", [](RowTiles& cut) -> Tensor& { return cut.windows; }},
    {"window_of", [](RowTiles& cut) -> Tensor& { return cut.window_of; }},
    {"columns", [](RowTiles& cut) -> Tensor& { return cut.columns; }},
    {"bits", [](RowTiles& cut) -> Tensor& { return cut.bits; }},
    {"starts", [](RowTiles& cut) -> Tensor& { return cut.starts; }},
    {"entries", [](RowTiles& cut) -> Tensor& { return cut.entries; }},
    {"rest/offsets", [](RowTiles& cut) -> Tensor& { return cut.rest.offsets; }},
    {"rest/indices", [](RowTiles& cut) -> Tensor& { return cut.rest.indices; }},
    {"rest_entry", [](RowTiles& cut) -> Tensor& { return cut.rest_entry; }}};

/// Any member: the first one that differs is reported.
bool names_a_member(const std::string& message) {
  return std::any_of(kMembers.begin(), kMembers.end(),
                     [&](const auto& member) { return message.starts_with("cut/" + member.first + ": "); });
}

/// The error of check_row_tiles(); empty if there is none.
std::string message_of(const Csr& a, const RowTiles& cut) {
  return error_of([&] { kernels::check_row_tiles("cut", a, cut); });
}

/// The tensor with another last bit in its element `k`.
Tensor changed(const Tensor& tensor, int64_t k) {
  Tensor copy = tensor.clone();
  if (tensor.dtype() == DType::i64)
    copy.mutable_data<int64_t>()[k] ^= 1;
  else
    copy.mutable_data<int32_t>()[k] ^= 1;
  return copy;
}

}  // namespace

TEST_CASE("a valid cut is accepted, and refused after any change") {
  for (const Named& one : tile_structures())
    for (int64_t least : {1, 2, 5, 128}) {
      CAPTURES(one.name, least);
      const RowTiles cut = kernels::make_row_tiles(one.csr, least);
      REQUIRE(message_of(one.csr, cut) == "");
      for (const auto& [name, member] : kMembers) {
        CAPTURE(name);
        RowTiles other = cut;
        const Tensor whole = member(other);
        for (const int64_t k : {int64_t{0}, whole.numel() / 2, whole.numel() - 1}) {
          if (k < 0 || k >= whole.numel()) continue;
          member(other) = changed(whole, k);
          const std::string message = message_of(one.csr, other);
          CAPTURE(message);
          CHECK(message.starts_with("cut/" + name + ": "));
          CHECK(mentions(message, fmt::format(" at position {}, expected ", k)));
        }
      }
    }
}

TEST_CASE("a cut with absent tensors, or tensors of other shapes or dtypes, is refused") {
  const Csr a = csr_of(random_rows(300, 200, 40.0, 6), 200);
  const RowTiles cut = kernels::make_row_tiles(a, 2);
  REQUIRE(cut.num_tiles() > 1);
  REQUIRE(cut.rest.entries() > 1);
  for (const auto& [name, member] : kMembers) {
    CAPTURE(name);
    RowTiles other = cut;
    const Tensor whole = member(other);
    for (const Tensor& wrong : {Tensor(), whole.rows(0, whole.size(0) - 1), whole.rows(0, 0),
                                whole.to(DType::f32), whole.reshape({1, 1, whole.numel()})}) {
      member(other) = wrong;
      const std::string message = message_of(a, other);
      CAPTURE(message);
      CHECK(names_a_member(message));
    }
  }
}

TEST_CASE("a cut of another structure or with other columns is refused") {
  const Csr a = csr_of(random_rows(300, 200, 40.0, 6), 200);
  const RowTiles cut = kernels::make_row_tiles(a, 2);
  // A rare column in tiles; a frequent one in the rest; another one of parallel entries.
  for (int64_t least : {1, 3, 20, 128}) {
    RowTiles other = kernels::make_row_tiles(a, least);
    other.least = 2;
    CHECK(names_a_member(message_of(a, other)));
    other = cut;
    other.least = least;
    CHECK(names_a_member(message_of(a, other)));
  }
  CHECK(names_a_member(message_of(csr_of(random_rows(300, 200, 40.0, 7), 200), cut)));
  RowTiles other = cut;
  other.cols = 201;
  CHECK(message_of(a, other) == "cut: a cut of [300, 201] with a rest of [300, 200], expected [300, 200]");
  other = cut;
  other.least = 0;
  CHECK(message_of(a, other) == "cut: columns of at least 0 entries, expected 1 to 128");
}
