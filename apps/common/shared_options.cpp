#include "shared_options.h"

#include <adjoint/adjoint.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace adj::apps {

OptionList SplitOptions::list(const std::string& names) {
  return {{"split", &split, "TRAIN,VAL,TEST",
           "percentages of a random split of the nodes (or graphs) with a label, as 60,20,20" +
               (names.empty() ? "" : "; or " + names)},
          {"splits", &splits, "N", "number of random splits, with seeds --seed, --seed + 1, ...", true,
           IntegerRange{1, 10'000}},
          {"seed", &seed, "N", "seed of the first random split", true,
           IntegerRange{0, std::numeric_limits<int32_t>::max()}},
          {"stratified", &stratified, "", "keep class proportions in each part"}};
}

SplitFractions SplitOptions::fractions() const {
  std::vector<double> shares;
  double all = 0.0;
  std::istringstream items(split);
  for (std::string item; std::getline(items, item, ',');) {
    const double share =
        number_in<double>(std::string_view(item).substr(std::min(item.find_first_not_of(' '), item.size())))
            .value_or(0.0);
    shares.push_back(share > 0.0 ? share : std::numeric_limits<double>::quiet_NaN());
    all += shares.back();
  }
  if (shares.size() != 3 || !(std::abs(all - 100.0) <= 1e-6) || split.ends_with(','))
    usage_fail("--split {}: expected three percentages above 0 that add up to 100, as in 60,20,20", split);
  return {.val = shares[1] / 100.0, .test = shares[2] / 100.0};
}

std::optional<RandomSplits> SplitOptions::random(bool names) const {
  if (split.empty() || (names && !is_random())) {
    const char* wanted = names ? "--split TRAIN,VAL,TEST" : "--split";
    if (stratified) usage_fail("--stratified: requires {}", wanted);
    if (seed != 0) usage_fail("--seed: requires {}", wanted);
    if (splits != 1) usage_fail("--splits: requires {}", wanted);
    return {};
  }
  return RandomSplits{fractions(), static_cast<uint64_t>(seed), stratified, splits};
}

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
