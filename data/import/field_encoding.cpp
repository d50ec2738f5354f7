#include <adjoint/data/detail/content_hash.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/node_ids.h>
#include <adjoint/data/import/times.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace adj {

namespace {

size_t bucket(std::string_view text, int64_t columns) {
  detail::ContentHash hash;
  hash.add(text);
  return static_cast<size_t>(hash.result() % static_cast<uint64_t>(columns));
}

/// Letters and digits; any byte of a letter beyond ASCII.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

void hash_words(std::string_view field, int64_t columns, float* features) {
  const std::string text = lower(field);
  std::string before;
  for (size_t k = 0; k < text.size();) {
    size_t end = k;
    while (end < text.size() && is_word_byte(text[end])) ++end;
    if (end == k) {
      ++k;
      continue;
    }
    const std::string word = text.substr(k, end - k);
    ++features[bucket(word, columns)];
    if (!before.empty()) ++features[bucket(before + ' ' + word, columns)];
    before = word;
    k = end;
  }
  double squares = 0.0;
  for (int64_t k = 0; k < columns; ++k) squares += features[k] * features[k];
  if (squares > 0.0)
    for (int64_t k = 0; k < columns; ++k) features[k] = static_cast<float>(features[k] / std::sqrt(squares));
}

constexpr std::string_view kBetweenItems = "|;,\t\n ";

/// Behind the quote that closes the one at `begin`; npos: none does. Others have a backslash before them.
size_t quote_end(std::string_view text, size_t begin) {
  for (size_t k = begin + 1; k < text.size(); ++k) {
    if (text[k] == text[begin]) return k + 1;
    if (text[k] == '\\') ++k;
  }
  return std::string_view::npos;
}

std::string_view without_brackets(std::string_view text) {
  text = trimmed(text);
  return is_bracketed(text) ? trimmed(text.substr(1, text.size() - 2)) : text;
}

bool has_records(std::string_view text) {
  text = without_ends(text, {"[]", "()"});
  if (!text.starts_with('{')) return false;
  text = trimmed(text.substr(1));
  const bool quoted = text.starts_with('"') || text.starts_with('\'');
  const size_t end = quoted ? quote_end(text, 0) : text.find_first_not_of("0123456789");
  return end > 0 && end < text.size() && trimmed(text.substr(end)).starts_with(':');
}

/// As as.character() of R writes them; but c(RGDfK) is a text.
bool is_list_of_r(std::string_view text) {
  for (const std::string_view none : {"character(0)", "integer(0)", "numeric(0)", "list()"})
    if (text == none) return true;
  for (const std::string_view begin : {"c(", "list("})
    if (text.starts_with(begin) && text.ends_with(')') && text.size() > begin.size() + 1 &&
        (text[begin.size()] == '"' ||
         float_in(text.substr(begin.size(), text.find_first_of(",)") - begin.size()))))
      return true;
  return false;
}

FieldState write_number(std::optional<double> number, float* feature) {
  if (!number) return FieldState::wrong;
  *feature = static_cast<float>(*number);
  return FieldState::encoded;
}

}  // namespace

std::optional<float> boolean_in(std::string_view text) {
  if (text.size() > 5) return {};
  const std::string word = lower(text);
  return word == "true" ? std::optional(1.0f) : word == "false" ? std::optional(0.0f) : std::nullopt;
}

std::vector<float> vector_in(std::string_view text, Decimal decimal) {
  text = without_brackets(text);
  const Separator separator = separator_of(text, decimal);
  std::vector<float> numbers;
  for (FieldCursor field(text, separator); field.next();) {
    const std::optional<float> number = float_in(field.field(), decimal);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers.size() > 1 ? numbers : std::vector<float>();
}

void add_rounding(std::string_view field, std::span<const float> numbers, Decimal decimal,
                  std::vector<Rounding>& rounding) {
  rounding.resize(std::max(rounding.size(), numbers.size()));
  if (numbers.size() == 1) return rounding[0].add(field, numbers[0]);
  field = without_brackets(field);
  size_t place = 0;
  for (FieldCursor one(field, separator_of(field, decimal)); one.next(); ++place)
    rounding[place].add(one.field(), numbers[place]);
}

bool is_bracketed(std::string_view text) {
  constexpr std::string_view kBegin = "[({", kEnd = "])}";
  const size_t kind = text.empty() ? kBegin.npos : kBegin.find(text[0]);
  if (kind == kBegin.npos) return false;
  int64_t depth = 0;
  bool begins = false;
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (begins && (c == '"' || c == '\''))
      if (const size_t end = quote_end(text, k); end != text.npos) k = end - 1;
    depth += c == kBegin[kind];
    if (c == kEnd[kind] && --depth == 0) return k + 1 == text.size();
    begins = c == kBegin[kind] || kBetweenItems.find(c) != kBetweenItems.npos;
  }
  return false;
}

std::string_view list_in(std::string_view text) {
  text = trimmed(text);
  for (const std::string_view type : {"frozenset", "set"})
    if (text.starts_with(type) && text.substr(type.size()).starts_with('(') && text.ends_with(')'))
      text = without_ends(text.substr(type.size()), {"()"});
  return without_brackets(text);
}

size_t item_end(std::string_view list, Separator separator) {
  bool begins = true;
  for (size_t k = 0; k < list.size(); ++k) {
    const char c = list[k];
    if (begins && (c == '"' || c == '\''))
      if (const size_t end = quote_end(list, k);
          end == list.size() || (end < list.size() && kBetweenItems.find(list[end]) != kBetweenItems.npos)) {
        if (end == list.size()) return end;
        k = end;
      }
    const bool blank = list[k] == ' ' || list[k] == '\t' || list[k] == '\n';
    if (separator == Separator::blanks ? blank : list.substr(k).starts_with(separator.text())) return k;
    begins = kBetweenItems.find(list[k]) != kBetweenItems.npos;
  }
  return list.size();
}

std::string_view problem_of_items(std::string_view text) {
  if (has_records(text))
    return "records, expected items (in pandas .map(lambda all: [one['name'] for one in "
           "ast.literal_eval(all)]) takes a member of each)";
  if (is_list_of_r(trimmed(text)))
    return "a list of R, expected items (in R sapply(COLUMN, paste, collapse = \"|\") writes them)";
  return "";
}

bool has_combining_mark(std::string_view text) {
  for (size_t k = 0; k + 1 < text.size(); ++k)
    if ((text[k] == '\xcc' && text[k + 1] < '\xc0') || (text[k] == '\xcd' && text[k + 1] < '\xb0'))
      return true;
  return false;
}

std::optional<double> days_in(std::string_view text) {
  constexpr long double kDayLength = 86400e6L;  // microseconds
  const std::optional<Time> time = time_in(text);
  // A month is none: it may as well be a category.
  if (!time || time->kind == TimeKind::number || time->end - time->begin >= kDayLength) return {};
  return static_cast<double>(time->begin / kDayLength);
}

bool is_ambiguous_date(std::string_view text) {
  constexpr size_t none = std::string_view::npos;
  text = trimmed(text);
  const auto has_digits = [](std::string_view part, size_t least) {
    return part.size() >= least && part.size() <= 2 * least && part.find_first_not_of("0123456789") == none;
  };
  const size_t first = text.find_first_of("/.-"),
               second = first == none ? none : text.find(text[first], first + 1);
  if (second == none) return false;
  const std::string_view year = text.substr(second + 1);
  return has_digits(text.substr(0, first), 1) && has_digits(text.substr(first + 1, second - first - 1), 1) &&
         has_digits(year.substr(0, year.find(' ')), 2);
}

bool has_word_behind_time(std::string_view text) {
  const size_t place = trimmed(text).find_last_of(" [");
  if (place == std::string_view::npos) return false;
  const std::string_view date = trimmed(text).substr(0, place);
  return date.find(':') != std::string_view::npos && days_in(date) && !days_in(text);
}

FieldEncoder::FieldEncoder(const ColumnEncoder& encoder, Decimal decimal)
    : encoder_(encoder), decimal_(decimal), separator_(set_separator(encoder)) {
  for (const std::string& category : encoder.categories)
    numbers_.emplace(category, static_cast<int64_t>(numbers_.size()));
}

FieldState FieldEncoder::encode(std::string_view field, float* features) const {
  if (encoder_.has_zeros()) std::fill_n(features, encoder_.width(), 0.0f);
  if (encoder_.type == ColumnType::number)
    if (const std::optional<float> number = float_in(field, decimal_)) return write_number(number, features);
  if (is_missing(field)) return FieldState::missing;
  switch (encoder_.type) {
    case ColumnType::number:
      return FieldState::wrong;
    case ColumnType::boolean: {
      const std::optional<float> word = boolean_in(field), number = word ? word : float_in(field, decimal_);
      return write_number(number && (*number == 0.0f || *number == 1.0f) ? number : std::nullopt, features);
    }
    case ColumnType::date:
      if (const std::optional<double> days = days_in(field))
        return write_number(*days - static_cast<double>(encoder_.origin), features);
      return FieldState::wrong;
    case ColumnType::category:
    case ColumnType::ordinal:
      return encode_category(field, features);
    case ColumnType::hash:
      features[bucket(hashed_text(field), encoder_.columns)] = 1.0f;
      return FieldState::encoded;
    case ColumnType::text:
      hash_words(field, encoder_.columns, features);
      return FieldState::encoded;
    case ColumnType::set:
      return encode_set(field, features);
    case ColumnType::vector:
      break;
  }
  const std::vector<float> numbers = vector_in(field, decimal_);
  if (std::ssize(numbers) != encoder_.columns) return FieldState::wrong;
  std::copy(numbers.begin(), numbers.end(), features);
  return FieldState::encoded;
}

FieldState FieldEncoder::encode_set(std::string_view field, float* features) const {
  if (!problem_of_items(field).empty()) return FieldState::wrong;
  FieldState state = FieldState::encoded;
  for_items(field, separator_, [&](std::string_view item) {
    const auto found = numbers_.find(item);
    if (encoder_.categories.empty())
      features[bucket(hashed_text(item), encoder_.columns)] = 1.0f;
    else if (found == numbers_.end())
      state = FieldState::unknown;
    else
      features[found->second] = 1.0f;
  });
  return state;
}

std::string_view FieldEncoder::hashed_text(std::string_view text) const {
  return encoder_.whole_numbers ? without_fraction(text, decimal_) : text;
}

std::string_view FieldEncoder::unknown_in(std::string_view field) const {
  if (encoder_.type != ColumnType::set) return field;
  std::string_view unknown;
  for_items(field, separator_, [&](std::string_view item) {
    if (unknown.empty() && !numbers_.contains(item)) unknown = item;
  });
  return unknown;
}

FieldState FieldEncoder::encode_category(std::string_view field, float* features) const {
  const auto found = numbers_.find(field);
  if (found == numbers_.end()) return FieldState::unknown;
  if (encoder_.type == ColumnType::ordinal)
    *features = static_cast<float>(found->second);
  else
    features[found->second] = 1.0f;
  return FieldState::encoded;
}

}  // namespace adj
