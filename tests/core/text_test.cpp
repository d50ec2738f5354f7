#include "../support.h"
#include <adjoint/core/text.h>

using namespace adj;
using namespace adj::test;

TEST_CASE("text for a terminal has no control characters, no changes of direction and only UTF-8") {
  CHECK(printable("") == "");
  CHECK(printable("plain, d\u00e9j\u00e0 vu, \u6f22, \U0001f600 ~") ==
        "plain, d\u00e9j\u00e0 vu, \u6f22, \U0001f600 ~");
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable("\x1b[31mred") == "\\x1b[31mred");
  CHECK(printable(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(printable("\u009b31m") == "\\u009b31m");
  CHECK(printable("\u202etxt\u2028\u2066\u200f") == "\\u202etxt\\u2028\\u2066\\u200f");
  CHECK(printable("\xff\x80 \xc3") == "\\xff\\x80 \\xc3");
  // The first and last of each range of characters that turn the direction or end a line, and their
  // neighbours.
  CHECK(printable("\u200e\u200f\u2028\u202e\u2066\u2069") == "\\u200e\\u200f\\u2028\\u202e\\u2066\\u2069");
  CHECK(printable("\u0080\u009f\x1f") == "\\u0080\\u009f\\x1f");
  for (const char* text : {"\u00a0", "\u200d", "\u2010", "\u2027", "\u202f", "\u2065", "\u206a"})
    CHECK(printable(text) == text);
}

TEST_CASE("a message is one line of bounded length, and keeps its end") {
  CHECK(message_line("a\x1b[31m\n") == "a\\x1b[31m\\n");
  const std::string whole(2000, 'a'), longer = std::string(100000, 'a') + "\x1b: no such file";
  CHECK(message_line(whole) == whole);
  CHECK(message_line(longer).size() < 2100);
  CHECK(message_line(longer).starts_with("aaa"));
  CHECK(message_line(longer).ends_with("a\\x1b: no such file"));
  CHECK(error_of([&] { fail("{}", longer); }) == message_line(longer));
  CHECK(error_of<DataError>([&] { data_fail("{}", longer); }) == message_line(longer));
  CHECK(error_of<UsageError>([&] { usage_fail("{}", longer); }) == message_line(longer));
}

TEST_CASE("an excerpt has at most 400 bytes of the text") {
  const std::string most(400, 'a');
  CHECK(excerpt(most) == most);
  CHECK(excerpt(most + "b") == most + "...");
  CHECK(excerpt("a\n") == "a\\n");
}

TEST_CASE("UTF-8 is distinguished from other bytes") {
  for (const char* text : {"", "plain", "d\u00e9j\u00e0 vu", "\U0001f600\n"}) CHECK(is_utf8(text));
  for (const char* text : {"\xff", "caf\xe9", "a\xe2\x82", "\xed\xa0\x80"}) CHECK_FALSE(is_utf8(text));
}

TEST_CASE("invalid UTF-8 of every kind is found") {
  for (const char* text :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xb0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98"}) {
    const std::string shown = printable(text);
    CAPTURE(shown);
    CHECK(shown.size() == 4 * std::string(text).size());
    CHECK(shown.find_first_not_of("\\x0123456789abcdef") == std::string::npos);
  }
  for (const char* text :
       {"\xc2\xa0", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(printable(text) == text);
}

TEST_CASE("JSON text is valid whatever the bytes") {
  CHECK(json_text("it's \"a\\b\"") == R"("it's \"a\\b\"")");
  CHECK(json_text(std::string_view("\0\n\x1f\x7f", 4)) == R"("\u0000\u000a\u001f\u007f")");
  CHECK(json_text("\u009b \u6f22") == "\"\\u009b \u6f22\"");
  CHECK(json_text("a\xff\xc3") == "\"a\ufffd\ufffd\"");
}
