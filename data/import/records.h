#pragma once

#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>

#include <optional>
#include <string>
#include <string_view>

// The records of a text and their fields as RFC 4180 has them, with any separator: a field that begins with a
// double quote ends with one, and holds separators, line ends and doubled quotes, each of which is one. A
// quote elsewhere is a character like others.

namespace adj {

/// What must be known of a text to tell where its records end.
struct RecordFormat {
  Separator separator = Separator::comma;
  int64_t first_line = 1;    ///< lines before are none
  std::string comment = {};  ///< lines that begin with it are none either; empty: there are no such

  bool is_comment(std::string_view line) const { return !comment.empty() && line.starts_with(comment); }
  /// The line end behind the record that begins at `from`; npos where a quote is not closed, or at the end.
  size_t end_of_record(std::string_view text, size_t from) const;
  /// The last line end in `text`, which begins with line number `line`, that ends a record; npos: none. For
  /// TextSource::cut_by().
  size_t last_end(std::string_view text, int64_t line) const;
};

/// Gives the records of a block, without their line ends; neither empty lines nor comments.
///
///   for (RecordCursor at(block, format); at.next();) parse(at.record(), at.number());
class RecordCursor {
 public:
  RecordCursor(const TextBlock& block, const RecordFormat& format)
      : rest_(block.text),
        next_number_(block.first_line),
        format_(format),
        quotes_(block.text.find('"') != std::string::npos) {}
  /// `empty`: lines without anything are records as well.
  bool next(bool empty = false);
  std::string_view record() const { return record_; }
  /// Of its first line, from 1.
  int64_t number() const { return number_; }
  /// Comments behind the first line so far.
  int64_t comments() const { return comments_; }
  /// May there be a quote in a record?
  bool quotes() const { return quotes_; }

 private:
  std::string_view rest_, record_;
  int64_t number_ = 0, next_number_, comments_ = 0;
  const RecordFormat& format_;
  bool quotes_;
};

/// The records of a file, one after another. Throws as TextSource does.
class RecordReader {
 public:
  RecordReader(TextSource& source, const RecordFormat& format);
  bool next(bool empty = false);
  std::string_view record() const { return at_->record(); }
  /// Of the last record that there was.
  int64_t number() const { return number_; }
  int64_t comments() const { return comments_ + (at_ ? at_->comments() : 0); }

 private:
  TextSource& source_;
  RecordFormat format_;
  TextBlock block_;
  std::optional<RecordCursor> at_;
  int64_t comments_ = 0, number_ = 0;
};

/// Gives the fields of a record, trimmed unless they were quoted. Throws DataError naming the line where a
/// quote is not closed, or something stands behind one that is.
///
///   for (RecordFields at(source, number, record, separator); at.next();) use(at.field());
class RecordFields {
 public:
  RecordFields(const TextSource& source, int64_t number, std::string_view record, Separator separator)
      : source_(source), number_(number), separator_(separator), at_(record, separator) {}

  bool next() {
    if (next_quoted()) return true;
    const bool found = at_.next();
    field_ = at_.field();
    return found;
  }
  std::string_view field() const { return field_; }
  /// Does the field stand in this object, until the next call? Else in the record.
  bool copied() const { return field_.data() == unquoted_.data(); }
  /// Is there a field behind this one?
  bool more() const { return at_.more(); }

 private:
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && separator_ != Separator::tab); }
  /// False where the next field does not begin with a quote.
  bool next_quoted();

  const TextSource& source_;
  int64_t number_;
  Separator separator_;
  FieldCursor at_;
  std::string_view field_;
  std::string unquoted_;
};

/// f(fields) of a record: RecordFields, or a FieldCursor, which is faster, where there are no `quotes`.
template <class F>
auto with_fields(const TextSource& source, int64_t number, std::string_view record, Separator separator,
                 bool quotes, F&& f) {
  return quotes ? f(RecordFields(source, number, record, separator)) : f(FieldCursor(record, separator));
}

}  // namespace adj
