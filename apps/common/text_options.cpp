#include "text_options.h"

#include <adjoint/adjoint.h>

namespace adj::apps {

OptionList TextOptions::list(const std::string& files) {
  return {
      {"comment", &comment, "PREFIX",
       fmt::format("skip lines with this prefix, {}; '': skip none (default: # or %, before the first row)",
                   files)},
      {"encoding", &encoding, "NAME",
       fmt::format("encoding {}, as latin1, cp1252 or another name that iconv knows (default: UTF-8; a "
                   "byte order mark of UTF-8, UTF-16 or UTF-32 decides)",
                   files)},
      {"separator", &separator, "TEXT",
       fmt::format("what is between two fields {}: any text as :: or |, \\t for a tab, ' ' for any blanks "
                   "(default: the first of tab, semicolon and comma that is in the first line, else blanks)",
                   files)},
      {"decimal", &decimal, "MARK",
       fmt::format("decimal mark of numbers {}: point or comma (default: point; columns that may have "
                   "commas are an error)",
                   files)}};
}

bool TextOptions::any() const {
  return comment || !encoding.empty() || !separator.empty() || !decimal.empty();
}

TextFormat TextOptions::format() const {
  TextFormat text;
  text.comment = comment;
  text.input.encoding = encoding;
  if (!encoding.empty() && !is_encoding(encoding))
    usage_fail("--encoding {}: iconv knows no such encoding, expected one of iconv --list",
               excerpt(encoding));
  if (!decimal.empty()) {
    if (decimal != "point" && decimal != "comma")
      usage_fail("--decimal {}: expected point or comma", decimal);
    text.decimal = decimal == "comma" ? Decimal::comma : Decimal::point;
  }
  if (separator.empty()) return text;
  text.separator = Separator::parse(separator);
  if (!text.separator)
    usage_fail("--separator {}: expected at most {} bytes, without quotes and line ends", excerpt(separator),
               Separator::kLongest);
  if (text.separator == Separator::comma && text.decimal == Decimal::comma)
    usage_fail("--separator ,: conflicts with --decimal comma");
  return text;
}

}  // namespace adj::apps
