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

/// Any member: numbers are compared between members, and the first mismatch is reported.
bool names_a_member(const std::string& message) {
  return std::any_of(kMembers.begin(), kMembers.end(),
                     [&](const auto& member) { return message.starts_with("cut/" + member.first + ": "); });
}

/// The error of check_row_tiles(); empty if there is none.
std::string message_of(const Csr& a, const RowTiles& cut) {
  return error_of([&] { kernels::check_row_tiles("cut", a, cut); });
}

/// The tensor with other bits in its element `k`.
Tensor changed(const Tensor& tensor, int64_t k, uint64_t bits) {
  Tensor copy = tensor.clone();
  if (tensor.dtype() == DType::i64)
    copy.mutable_data<int64_t>()[k] ^= static_cast<int64_t>(bits);
  else
    copy.mutable_data<int32_t>()[k] ^= static_cast<int32_t>(bits);
  return copy;
}

}  // namespace

TEST_CASE("a valid cut is accepted, and refused after any change") {
  std::mt19937_64 random(11);
  for (const Named& one : tile_structures())
    for (int64_t least : {1, 2, 5, 128}) {
      CAPTURES(one.name, least);
      const RowTiles cut = kernels::make_row_tiles(one.csr, least);
      REQUIRE(message_of(one.csr, cut) == "");
      for (const auto& [name, member] : kMembers) {
        CAPTURE(name);
        RowTiles other = cut;
        const Tensor whole = member(other);
        const int64_t n = whole.numel();
        for (int64_t i = 0; i < std::min<int64_t>(n, 60); ++i) {
          const int64_t k = n <= 60 ? i : static_cast<int64_t>(random() % static_cast<uint64_t>(n));
          // The last bit, any one, and any number at all.
          for (const uint64_t bits :
               {uint64_t{1}, uint64_t{1} << random() % (whole.dtype() == DType::i64 ? 64 : 32),
                random() | uint64_t{1}}) {
            member(other) = changed(whole, k, bits);
            const std::string message = message_of(one.csr, other);
            if (!names_a_member(message)) FAIL_CHECK(k, " ^ ", bits, ": '", message, "'");
          }
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

TEST_CASE("a cut with entries out of order or outside the rows is refused") {
  const Csr a = csr_of(full_rows(130, 200), 200);
  // Two columns of a tile exchanged, with their entries.
  RowTiles other = kernels::make_row_tiles(a, 2);
  REQUIRE(message_of(a, other) == "");
  auto* columns = other.columns.mutable_data<int32_t>();
  auto* entries = other.entries.mutable_data<int32_t>();
  const int32_t* starts = other.starts.data<int32_t>();
  std::swap(columns[0], columns[1]);
  for (int64_t r = 0; r < RowTiles::kRows; ++r) std::swap(entries[starts[r]], entries[starts[r] + 1]);
  CHECK(message_of(a, other) == "cut/columns: 0 at place 1 of tile 0, expected 1 or more");
  // The last row's bits in the row after it.
  other = kernels::make_row_tiles(a, 2);
  const int64_t tile = other.num_tiles() - 1, last = tile * RowTiles::kRows + 1;
  auto* bits = other.bits.mutable_data<int64_t>();
  std::swap(bits[last], bits[last + 1]);
  other.starts.mutable_data<int32_t>()[last + 1] = other.starts.data<int32_t>()[last];
  CHECK(message_of(a, other) ==
        fmt::format("cut/bits: row 2 of tile {} is not 0, expected 0 after row 129 of the structure", tile));
}
