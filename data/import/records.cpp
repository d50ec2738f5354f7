#include <adjoint/data/import/records.h>

#include <algorithm>

namespace adj {

namespace {

constexpr size_t kNone = std::string_view::npos;

/// For an opening quote at `position`: the position after the closing quote, or npos if there is none.
size_t behind_quotes(std::string_view text, size_t position) {
  for (++position;; ++position) {
    position = text.find('"', position);
    if (position == kNone || position + 1 == text.size() || text[position + 1] != '"')
      return position == kNone ? position : position + 1;
    ++position;
  }
}

/// True if the quote at `position` begins a field of the record that begins at `begin`.
bool begins_field(std::string_view text, size_t begin, size_t position, Separator separator) {
  if (separator == Separator::blanks)
    return position == begin || text[position - 1] == ' ' || text[position - 1] == '\t';
  for (; position > begin; --position) {
    if (text.substr(begin, position - begin).ends_with(separator.text())) return true;
    if (text[position - 1] != ' ' && text[position - 1] != '\t') return false;
  }
  return true;
}

}  // namespace

size_t RecordFormat::end_of_record(std::string_view text, size_t begin) const {
  size_t end = text.find('\n', begin);
  if (is_comment(text.substr(begin))) return end;
  for (size_t position = begin;;) {
    if (position > end) end = text.find('\n', position);  // behind quotes that hold line ends
    const size_t quote = text.substr(0, end).find('"', position);
    if (quote == kNone) return end;
    const bool begins = begins_field(text, begin, quote, separator);
    position = begins ? behind_quotes(text, quote) : quote + 1;
    if (position == kNone) return position;
  }
}

bool RecordFormat::is_header(std::string_view record) const {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (record.starts_with(kMark)) record.remove_prefix(kMark.size());
  return trimmed(record) == header;
}

size_t RecordFormat::last_end(std::string_view text, int64_t line) const {
  const size_t last_line = text.rfind('\n');
  if (last_line == kNone || text.find('"') == kNone) return last_line;
  size_t last = kNone;
  for (size_t position = 0; position < text.size(); position = last + 1) {
    const size_t end = line < first_line ? text.find('\n', position) : end_of_record(text, position);
    if (end == kNone) break;
    line += line < first_line;
    last = end;
  }
  return last;
}

bool RecordCursor::next(bool empty) {
  while (!rest_.empty()) {
    const bool before = next_number_ < format_.first_line;
    const size_t end = quotes_ && !before ? format_.end_of_record(rest_, 0) : rest_.find('\n');
    record_ = rest_.substr(0, end);
    rest_.remove_prefix(end == kNone ? rest_.size() : end + 1);
    if (record_.ends_with('\r')) record_.remove_suffix(1);
    number_ = next_number_++;
    if (quotes_) next_number_ += std::count(record_.begin(), record_.end(), '\n');
    if (before || number_ == format_.header_line) continue;
    if (format_.is_comment(record_)) {
      ++skipped_.comments;
      continue;
    }
    if (format_.repeats_header(record_)) [[unlikely]] {
      ++skipped_.headers;
      continue;
    }
    if (empty || !trimmed(record_).empty()) return true;
  }
  return false;
}

RecordReader::RecordReader(TextSource& source, const RecordFormat& format)
    : source_(source), format_(format) {
  source_.cut_by([this](std::string_view text, int64_t line) { return format_.last_end(text, line); });
}

bool RecordReader::next(bool empty) {
  while (!cursor_ || !cursor_->next(empty)) {
    skipped_ = skipped();
    cursor_.reset();
    if (!source_.next(block_)) return false;
    cursor_.emplace(block_, format_);
  }
  number_ = cursor_->number();
  return true;
}

bool RecordFields::next_quoted() {
  if (!cursor_.more()) return false;
  std::string_view rest = cursor_.rest();
  while (is_blank(rest)) rest.remove_prefix(1);
  if (!rest.starts_with('"')) return false;
  const size_t end = behind_quotes(rest, 0);
  if (end == kNone)
    source_.fail(number_ + std::count(record_.data(), rest.data(), '\n'),
                 "a quote that is not closed, expected a second one");
  field_ = trimmed(rest.substr(1, end - 2));
  if (field_.find('"') != kNone) {
    unquoted_.clear();
    for (size_t k = 0; k < field_.size(); ++k) {
      unquoted_ += field_[k];
      k += field_[k] == '"';
    }
    field_ = unquoted_;
  }
  rest.remove_prefix(end);
  const bool blank = is_blank(rest);
  while (is_blank(rest)) rest.remove_prefix(1);
  if (separator_ == Separator::blanks) {
    if (!blank && !rest.empty())
      source_.fail(number_, "text after a closing quote, expected {}", name_of(separator_));
    cursor_ = FieldCursor(rest, separator_);
    return true;
  }
  if (!rest.empty() && !rest.starts_with(separator_.text()))
    source_.fail(number_, "text after a closing quote, expected {}", name_of(separator_));
  cursor_ = rest.empty() ? FieldCursor({}, Separator::blanks)
                         : FieldCursor(rest.substr(separator_.text().size()), separator_);
  return true;
}

}  // namespace adj
