#pragma once

#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <optional>
#include <string>
#include <string_view>

// Records and fields of a text by RFC 4180, with any separator: a field that begins with a double quote ends
// with one, and may contain separators, line ends and doubled quotes, each of which is one quote. A quote
// elsewhere is an ordinary character.

namespace adj {

/// Determines where the records of a text end, and by is_comment() which lines are none.
struct RecordFormat {
  Separator separator = Separator::comma;  ///< between fields, where quotes may begin
  int64_t first_line = 1;                  ///< earlier lines are not records
  std::string comment = {};                ///< prefix of lines that are not records; empty: none
  /// Of the record that names the columns, which is passed over; 0: none.
  int64_t header_line = 0;
  std::string header =
      {};  ///< its text, if later records with it are none, as of files in one; empty: they are

  /// Whether a later record is the header again, perhaps behind a byte-order mark.
  bool repeats_header(std::string_view record) const {
    return !header.empty() && record.size() >= header.size() && is_header(record);
  }
  bool is_comment(std::string_view line) const { return !comment.empty() && line.starts_with(comment); }
  /// Position of the line end after the record that begins at `from`; npos if a quote is not closed, or at
  /// the end.
  size_t end_of_record(std::string_view text, size_t begin) const;
  /// Last line end in `text`, which begins with line number `line`, that ends a record; npos: none. For
  /// TextSource::cut_by().
  size_t last_end(std::string_view text, int64_t line) const;

 private:
  bool is_header(std::string_view record) const;
};

/// What is passed over behind the first record.
struct SkippedLines {
  int64_t comments = 0;  ///< lines of comments
  int64_t headers = 0;   ///< records that repeat the header
  /// Adds the counts of later rows.
  SkippedLines& operator+=(const SkippedLines& later) {
    comments += later.comments;
    headers += later.headers;
    return *this;
  }
};

/// Iterates over the records of a block, without their line ends; skips empty lines and comments.
///
///   for (RecordCursor at(block, format); at.next();) parse(at.record(), at.number());
class RecordCursor {
 public:
  RecordCursor(const TextBlock& block, const RecordFormat& format)
      : rest_(block.text),
        next_number_(block.first_line),
        format_(format),
        quotes_(block.text.find('"') != std::string::npos) {}
  /// `empty`: empty lines are records too.
  bool next(bool empty = false);
  std::string_view record() const { return record_; }
  /// Number of its first line, from 1.
  int64_t number() const { return number_; }
  /// After the first line so far.
  const SkippedLines& skipped() const { return skipped_; }
  /// True if a record may contain a quote.
  bool quotes() const { return quotes_; }

 private:
  std::string_view rest_, record_;
  int64_t number_ = 0, next_number_;
  SkippedLines skipped_;
  const RecordFormat& format_;
  bool quotes_;
};

/// Iterates over the records of a file; next(), record() and skipped() are as in RecordCursor. Throws as
/// TextSource does.
class RecordReader {
 public:
  RecordReader(TextSource& source, const RecordFormat& format);
  bool next(bool empty = false);
  std::string_view record() const { return cursor_->record(); }
  /// Line number of the last record.
  int64_t number() const { return number_; }
  SkippedLines skipped() const {
    SkippedLines all = skipped_;
    return cursor_ ? all += cursor_->skipped() : all;
  }

 private:
  TextSource& source_;
  RecordFormat format_;
  TextBlock block_;
  std::optional<RecordCursor> cursor_;
  SkippedLines skipped_;
  int64_t number_ = 0;
};

/// Iterates over the fields of a record, trimmed also within quotes. Throws DataError naming the line of an
/// unclosed quote, or of the record with text after a closing quote.
///
///   for (RecordFields at(source, number, record, separator); at.next();) use(at.field());
class RecordFields {
 public:
  RecordFields(const TextSource& source, int64_t number, std::string_view record, Separator separator)
      : source_(source),
        number_(number),
        record_(record),
        separator_(separator),
        cursor_(record, separator) {}

  bool next() {
    if (next_quoted()) return true;
    const bool found = cursor_.next();
    field_ = cursor_.field();
    return found;
  }
  std::string_view field() const { return field_; }
  /// True if the field is stored in this object, valid until the next call; else it points into the record.
  bool copied() const { return field_.data() == unquoted_.data(); }
  /// True if another field follows.
  bool more() const { return cursor_.more(); }

 private:
  /// True if the text begins with a blank that is no separator.
  bool is_blank(std::string_view text) const {
    return (text.starts_with(' ') || text.starts_with('\t')) &&
           (separator_ == Separator::blanks || !text.starts_with(separator_.text()));
  }
  /// False if the next field does not begin with a quote.
  bool next_quoted();

  const TextSource& source_;
  int64_t number_;
  std::string_view record_;
  Separator separator_;
  FieldCursor cursor_;
  std::string_view field_;
  std::string unquoted_;
};

/// Calls f(fields) for a record: RecordFields, or the faster FieldCursor if there are no `quotes`.
template <class F>
auto with_fields(const TextSource& source, int64_t number, std::string_view record, Separator separator,
                 bool quotes, F&& f) {
  return quotes ? f(RecordFields(source, number, record, separator)) : f(FieldCursor(record, separator));
}

}  // namespace adj
