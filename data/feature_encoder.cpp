#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/feature_encoder.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace adj {

namespace {

using EncoderJson = nlohmann::json;

bool has_categories(ColumnType type) { return type == ColumnType::category || type == ColumnType::ordinal; }
/// One feature for each category.
bool is_one_hot(const ColumnEncoder& encoder) {
  return encoder.type == ColumnType::category ||
         (encoder.type == ColumnType::set && !encoder.categories.empty());
}
/// By hashes of whole texts.
bool is_hashed(const ColumnEncoder& encoder) {
  return encoder.type == ColumnType::hash || (encoder.type == ColumnType::set && encoder.categories.empty());
}
bool has_columns(ColumnType type) {
  return type == ColumnType::hash || type == ColumnType::text || type == ColumnType::vector;
}

/// Whether features of the same names mean the same. A boolean is the number 1 or 0, an item of a set is a
/// category; ordinals may lack the last ones. What has other names is found by these.
bool agree(const ColumnEncoder& found, const ColumnEncoder& expected) {
  const auto kind = [](const ColumnEncoder& encoder) {
    return encoder.type == ColumnType::boolean ? ColumnType::number
           : is_one_hot(encoder)               ? ColumnType::category
                                               : encoder.type;
  };
  if (kind(found) != kind(expected)) return false;
  const std::vector<std::string>&less = found.categories, &all = expected.categories;
  if (found.type == ColumnType::ordinal)
    return less.size() <= all.size() && std::equal(less.begin(), less.end(), all.begin());
  return is_one_hot(found) || found.type == ColumnType::vector ||
         (found.columns == expected.columns && found.origin == expected.origin);
}

std::string described(const ColumnEncoder& encoder) {
  if (encoder.type == ColumnType::ordinal)
    return fmt::format("an ordinal of {}", detail::listed(encoder.categories, 5));
  if (encoder.type == ColumnType::date && encoder.origin != 0)
    return "a date in days since " + date_text(encoder.origin);
  const bool hashed = is_hashed(encoder) || encoder.type == ColumnType::text;
  return hashed ? fmt::format("{}:{}", name_of(encoder.type), encoder.columns)
                : fmt::format("a {}", name_of(encoder.type));
}

/// Encoders by their columns.
class EncodersByColumn {
 public:
  explicit EncodersByColumn(const FeatureEncoder& all) {
    for (const ColumnEncoder& encoder : all.columns) encoders_.emplace(encoder.column, &encoder);
  }
  /// Null: there is none.
  const ColumnEncoder* find(const std::string& column) const {
    const auto place = encoders_.find(column);
    return place == encoders_.end() ? nullptr : place->second;
  }

 private:
  std::unordered_map<std::string_view, const ColumnEncoder*> encoders_;
};

/// Days since 1970 of the years 0 to 9999.
int64_t origin_in(const EncoderJson& json, const std::string& place) {
  constexpr int64_t kFirst = -719'528, kLast = 2'932'896;
  const auto origin = json.get<int64_t>();
  if (origin < kFirst || origin > kLast)
    data_fail("{}: origin: {}, expected {} to {}", place, origin, kFirst, kLast);
  return origin;
}

/// Reads one encoder; its fields are named in messages.
ColumnEncoder column_in(const EncoderJson& json, std::string place, int64_t most) {
  const auto field = [&](const char* name, bool (EncoderJson::*is)() const noexcept) -> const EncoderJson& {
    if (!json.is_object() || !json.contains(name) || !(json[name].*is)())
      data_fail("{}: {}: missing or wrong", place, name);
    return json[name];
  };
  ColumnEncoder encoder;
  encoder.column = field("name", &EncoderJson::is_string).get<std::string>();
  place += ": " + excerpt(encoder.column);
  const auto type = field("type", &EncoderJson::is_string).get<std::string>();
  const auto known = value_named<ColumnType>(type);
  if (!known)
    data_fail("{}: type \"{}\", expected one of {}", place, excerpt(type),
              fmt::join(names_of(ColumnType{}), ", "));
  encoder.type = *known;
  const bool hashed = encoder.type == ColumnType::set && json.contains("columns");
  if (encoder.type == ColumnType::set) {
    encoder.separator = field("separator", &EncoderJson::is_string).get<std::string>();
    if (encoder.separator.empty() || encoder.separator.size() > 15)
      data_fail("{}: separator: expected 1 to 15 bytes", place);
  }
  if (has_categories(encoder.type) || (encoder.type == ColumnType::set && !hashed)) {
    std::set<std::string> seen;
    for (const EncoderJson& text : field("categories", &EncoderJson::is_array)) {
      if (!text.is_string()) data_fail("{}: categories: expected texts", place);
      encoder.categories.push_back(text.get<std::string>());
      if (!seen.insert(encoder.categories.back()).second)
        data_fail("{}: categories: \"{}\" twice", place, excerpt(encoder.categories.back()));
    }
    if (seen.empty()) data_fail("{}: categories: none, expected some", place);
  }
  if (has_columns(encoder.type) || hashed) {
    encoder.columns = field("columns", &EncoderJson::is_number_integer).get<int64_t>();
    if (encoder.columns < 1 || encoder.columns > most)
      data_fail("{}: columns: {}, expected 1 to {}", place, encoder.columns, most);
  }
  if (encoder.type == ColumnType::date && json.contains("origin"))
    encoder.origin = origin_in(field("origin", &EncoderJson::is_number_integer), place);
  if (encoder.type == ColumnType::date && json.contains("zones"))
    encoder.zones = field("zones", &EncoderJson::is_boolean).get<bool>();
  if (is_hashed(encoder) && json.contains("whole_numbers"))
    encoder.whole_numbers = field("whole_numbers", &EncoderJson::is_boolean).get<bool>();
  if (!json.contains("filling")) return encoder;
  for (const EncoderJson& number : field("filling", &EncoderJson::is_array)) {
    if (!number.is_number() || !std::isfinite(number.get<float>()))
      data_fail("{}: filling: expected finite numbers", place);
    encoder.filling.push_back(number.get<float>());
  }
  if (std::ssize(encoder.filling) != encoder.width())
    data_fail("{}: filling: {} numbers, expected {}", place, encoder.filling.size(), encoder.width());
  return encoder;
}

}  // namespace

int64_t ColumnEncoder::width() const {
  return is_one_hot(*this)                              ? std::ssize(categories)
         : has_columns(type) || type == ColumnType::set ? columns
                                                        : 1;
}

bool ColumnEncoder::has_zeros() const {
  return filling.empty() && (type == ColumnType::category || type == ColumnType::hash ||
                             type == ColumnType::text || type == ColumnType::set);
}

int64_t FeatureEncoder::width() const {
  int64_t width = 0;
  for (const ColumnEncoder& encoder : columns) width += encoder.width();
  return width;
}

std::vector<std::string> FeatureEncoder::feature_names() const {
  std::vector<std::string> names;
  for (const ColumnEncoder& encoder : columns) {
    if (is_one_hot(encoder)) {
      for (const std::string& category : encoder.categories) names.push_back(encoder.column + "=" + category);
    } else if (has_columns(encoder.type) || encoder.type == ColumnType::set) {
      for (int64_t k = 0; k < encoder.columns; ++k) names.push_back(fmt::format("{}[{}]", encoder.column, k));
    } else {
      names.push_back(encoder.column);
    }
  }
  return names;
}

FeatureEncoder FeatureEncoder::numbers(const std::vector<std::string>& names) {
  FeatureEncoder encoder;
  for (const std::string& name : names) encoder.columns.push_back({.column = name});
  return encoder;
}

std::string FeatureEncoder::json() const {
  EncoderJson all = EncoderJson::array();
  for (const ColumnEncoder& encoder : columns) {
    EncoderJson column{{"name", encoder.column}, {"type", name_of(encoder.type)}};
    if (encoder.type == ColumnType::set) column["separator"] = encoder.separator;
    if (has_categories(encoder.type) || is_one_hot(encoder)) column["categories"] = encoder.categories;
    if (has_columns(encoder.type) || (encoder.type == ColumnType::set && !is_one_hot(encoder)))
      column["columns"] = encoder.columns;
    if (encoder.origin != 0) column["origin"] = encoder.origin;
    if (encoder.zones) column["zones"] = *encoder.zones;
    if (encoder.whole_numbers) column["whole_numbers"] = true;
    if (!encoder.filling.empty()) column["filling"] = encoder.filling;
    all.push_back(std::move(column));
  }
  return EncoderJson{{"columns", std::move(all)}}.dump();
}

FeatureEncoder FeatureEncoder::parse(std::string_view json, const std::string& place, int64_t most) {
  const EncoderJson all = EncoderJson::parse(json, nullptr, false);
  if (!all.is_object() || !all.contains("columns") || !all["columns"].is_array() || all["columns"].empty())
    data_fail("{}: expected JSON with a list of columns", place);
  FeatureEncoder encoder;
  std::set<std::string> names;
  for (const EncoderJson& column : all["columns"]) {
    encoder.columns.push_back(column_in(column, place, most));
    const std::string& name = encoder.columns.back().column;
    if (!names.insert(name).second) data_fail("{}: column {} twice", place, excerpt(name));
  }
  if (encoder.width() > most) data_fail("{}: {} features, expected {} at most", place, encoder.width(), most);
  return encoder;
}

std::string date_text(int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

FeatureEncoder load_feature_encoder(const std::string& path) {
  const H5Reader file = H5Reader::open(path, detail::kSchema);
  const Dataset named = detail::DatasetReader(file).read_encoders();
  if (!named.encoder.empty()) return named.encoder;
  if (named.feature_names.empty())
    data_fail(
        "{}: no names of columns (nodes/x_names), expected a file with names, as convert writes from a "
        "table with a header",
        excerpt(path));
  return FeatureEncoder::numbers(named.feature_names);
}

std::string different_fillings(const FeatureEncoder& found, const FeatureEncoder& expected) {
  constexpr size_t kShown = 5;
  const EncodersByColumn by_column(found);
  std::vector<std::string> differences;
  for (const ColumnEncoder& wanted : expected.columns) {
    const ColumnEncoder* const fitted = by_column.find(wanted.column);
    if (fitted == nullptr || fitted->filling.empty() || fitted->filling.size() != wanted.filling.size())
      continue;
    for (size_t k = 0; k < wanted.filling.size(); ++k) {
      if (fitted->filling[k] == wanted.filling[k]) continue;
      differences.push_back(
          fmt::format("{}: {}, not {}", excerpt(wanted.column), fitted->filling[k], wanted.filling[k]));
      break;
    }
  }
  return differences.empty() ? "" : detail::listed(differences, kShown);
}

std::string_view zones_text(bool zones) {
  return zones ? "time zones, there it has none, taken as UTC" : "no time zones, taken as UTC, there it has";
}

std::string different_zones(const FeatureEncoder& found, const FeatureEncoder& expected) {
  const EncodersByColumn by_column(found);
  std::vector<std::string> differences;
  for (const ColumnEncoder& wanted : expected.columns) {
    const ColumnEncoder* const column = by_column.find(wanted.column);
    if (column != nullptr && column->zones && wanted.zones && *column->zones != *wanted.zones)
      differences.push_back(fmt::format("{} has {}", excerpt(wanted.column), zones_text(*column->zones)));
  }
  return differences.empty() ? "" : detail::listed(differences, 5);
}

std::string different_types(const FeatureEncoder& found, const FeatureEncoder& expected) {
  const EncodersByColumn by_column(found);
  std::string first;
  int64_t more = 0;
  for (const ColumnEncoder& wanted : expected.columns) {
    const ColumnEncoder* const fitted = by_column.find(wanted.column);
    if (fitted == nullptr || agree(*fitted, wanted)) continue;
    if (first.empty())
      first = fmt::format("column {} is {} here, {} in the training", excerpt(wanted.column),
                          described(*fitted), described(wanted));
    else
      ++more;
  }
  return more == 0 ? first : fmt::format("{}, and so {} more", first, more);
}

}  // namespace adj
