#include "../support.h"
#include <adjoint/data/import/detail/field_encoding.h>

using namespace adj;

namespace {

std::vector<float> features_of(const ColumnEncoder& encoder, std::string_view field,
                               FieldState state = FieldState::encoded) {
  std::vector<float> features(static_cast<size_t>(encoder.width()), 9.0f);
  CHECK(FieldEncoder(encoder).encode(field, features.data()) == state);
  return features;
}

/// The columns that are not 0.
std::vector<size_t> columns_in(const std::vector<float>& features) {
  std::vector<size_t> columns;
  for (size_t k = 0; k < features.size(); ++k)
    if (features[k] != 0.0f) columns.push_back(k);
  return columns;
}

}  // namespace

TEST_CASE("dates and times of ISO 8601 are days since 1970, in UTC") {
  // As numpy.datetime64 counts.
  CHECK(days_in("1970-01-01") == 0.0);
  CHECK(days_in("2024-02-29") == 19782.0);
  CHECK(days_in(" 1969/12/31 ") == -1.0);
  CHECK(days_in("0001-01-01") == -719162.0);
  CHECK(days_in("9999-12-31") == 2932896.0);
  CHECK(days_in("2024-03-01T12:00") == 19783.5);
  CHECK(days_in("2024-03-01 06:00:00Z") == 19783.25);
  CHECK(days_in("2024-03-01T00:00:00.5Z") == doctest::Approx(19783.0 + 0.5 / 86400.0).epsilon(1e-15));
  CHECK(days_in("2024-03-01T02:00:00+02:00") == 19783.0);
  CHECK(days_in("2024-02-29T22:30:00-0130") == 19783.0);
  CHECK(days_in("2024-03-01T02:00:00+02") == 19783.0);
  for (const char* text : {"", "2024", "2024-3-1", "2023-02-29", "2024-13-01", "2024-03-01x", "2024-03/01",
                           "2024-03-01T", "2024-03-01T25:00", "2024-03-01T12:60", "2024-03-01T12:00:61",
                           "2024-03-01T12:00:00.", "2024-03-01T12:00 +1", "24-03-01", "2024-03-01T12:00Zx"})
    CHECK_FALSE(days_in(text).has_value());
  for (const char* text : {"3/1/2024", "01.03.24", "1-3-2024 10:00"}) CHECK(is_ambiguous_date(text));
  for (const char* text : {"2024-03-01", "1.5", "3/1", "1/2-2024", "1/2/2024x"})
    CHECK_FALSE(is_ambiguous_date(text));
}

TEST_CASE("texts are hashed into columns that do not change") {
  // The hash recomputed in Python from its definition.
  const ColumnEncoder hash{.column = "c", .type = ColumnType::hash, .columns = 1000};
  CHECK(columns_in(features_of(hash, "red")) == std::vector<size_t>{157});
  CHECK(features_of(hash, "red")[157] == 1.0f);
  CHECK(columns_in(features_of(hash, "größe")) == std::vector<size_t>{245});
  CHECK(columns_in(features_of(hash, "NA", FieldState::missing)).empty());
  const ColumnEncoder text{.column = "c", .type = ColumnType::text, .columns = 1000};
  const std::vector<float> features = features_of(text, "Big, RED... red car!");
  // big, red twice, car; big red, red red, red car.
  CHECK(columns_in(features).size() == 6);
  CHECK(features[157] == doctest::Approx(2.0 / 3.0));
  for (const size_t column : {815, 200, 283, 873}) CHECK(features[column] == doctest::Approx(1.0 / 3.0));
  CHECK(columns_in(features_of(text, "...")).empty());
}

TEST_CASE("fields by type: encoded, missing, unknown or wrong") {
  using enum FieldState;
  CHECK(features_of({.column = "c"}, "-2.5") == std::vector{-2.5f});
  CHECK(features_of({.column = "c"}, "NaN", missing) == std::vector{9.0f});
  CHECK(features_of({.column = "c"}, "1.O", wrong) == std::vector{9.0f});
  const ColumnEncoder boolean{.column = "c", .type = ColumnType::boolean};
  for (const auto& [field, value] : {std::pair("True", 1.0f), {"false", 0.0f}, {"1", 1.0f}, {"0.0", 0.0f}})
    CHECK(features_of(boolean, field) == std::vector{value});
  CHECK(features_of(boolean, "2", wrong) == std::vector{9.0f});
  CHECK(features_of(boolean, "yes", wrong) == std::vector{9.0f});
  ColumnEncoder category{.column = "c", .type = ColumnType::category, .categories = {"a", "b", "c"}};
  CHECK(features_of(category, "b") == std::vector{0.0f, 1.0f, 0.0f});
  CHECK(features_of(category, "B", unknown) == std::vector{0.0f, 0.0f, 0.0f});
  CHECK(features_of(category, "", missing) == std::vector{0.0f, 0.0f, 0.0f});
  category.type = ColumnType::ordinal;
  CHECK(features_of(category, "c") == std::vector{2.0f});
  CHECK(features_of(category, "d", unknown) == std::vector{9.0f});
  ColumnEncoder set{
      .column = "c", .type = ColumnType::set, .categories = {"a", "b", "New York"}, .separator = ","};
  for (const char* field : {"New York,a", "a,New York,a", "['New York', \"a\"]", "{ a , New York,}"})
    CHECK(features_of(set, field) == std::vector{1.0f, 0.0f, 1.0f});
  CHECK(features_of(set, "b") == std::vector{0.0f, 1.0f, 0.0f});
  CHECK(features_of(set, "[]") == std::vector{0.0f, 0.0f, 0.0f});
  CHECK(features_of(set, "", missing) == std::vector{0.0f, 0.0f, 0.0f});
  CHECK(features_of(set, "b,x,y", unknown) == std::vector{0.0f, 1.0f, 0.0f});
  CHECK(FieldEncoder(set).unknown_in("b,x,y") == "x");
  set.separator = " ";
  CHECK(features_of(set, "b  a") == std::vector{1.0f, 1.0f, 0.0f});
  set = {.column = "c", .type = ColumnType::set, .columns = 1000, .separator = "|"};
  CHECK(columns_in(features_of(set, "red|größe|red")) == std::vector<size_t>{157, 245});
  const ColumnEncoder vector{.column = "c", .type = ColumnType::vector, .columns = 2};
  CHECK(features_of(vector, "[1, 2]") == std::vector{1.0f, 2.0f});
  CHECK(features_of(vector, "1 2 3", wrong) == std::vector{9.0f, 9.0f});
}
