#include "../support.h"
#include <adjoint/data/import/times.h>

using namespace adj;

namespace {

/// Begin in microseconds, or a number.
long double begin(std::string_view text) {
  const auto time = time_in(text);
  REQUIRE(time);
  return time->begin;
}

}  // namespace

TEST_CASE("times are numbers, or dates to the microsecond") {
  constexpr long double kSecond = 1e6L;
  CHECK(begin("2021") == 2021.0L);
  CHECK(begin("-1.5e3") == -1500.0L);
  // Beyond the integers of float64.
  CHECK(begin("9223372036854775807") - begin("9223372036854775806") == 1.0L);
  // As Python's datetime counts.
  CHECK(begin("1970-01-01") == 0.0L);
  CHECK(begin("2021-03-05T17:30:01.25Z") == 1614965401.25L * kSecond);
  CHECK(begin("2021-03-05 17:30") == 1614965400.0L * kSecond);
  CHECK(begin("2021-03-05T17:30:00+05:30") == 1614945600.0L * kSecond);
  CHECK(begin("2021-03-05T17:30:00-0800") == 1614994200.0L * kSecond);
  for (const char* same : {"2021-03-05 19:30:00 +02:00", "2021-03-05T17:30:00 UTC", "2021-03-05 17:30 GMT",
                           "2021-03-05T18:30+01:00[Europe/Berlin]", "2021/03/05 17:30:00Z[UTC]"}) {
    CHECK(begin(same) == 1614965400.0L * kSecond);
    CHECK(time_in(same)->kind == TimeKind::zoned_date);
  }
  CHECK(begin("0001-01-01") == -62135596800.0L * kSecond);
  CHECK(begin("2021-03-05T00:00:00.000001") - begin("2021-03-05") == 1.0L);
  CHECK(begin("2021-03-05T17:30:00.1234569") == begin("2021-03-05T17:30:00.123456"));
}

TEST_CASE("a time says of which kind it is, and what it includes") {
  CHECK(time_in("2021")->kind == TimeKind::number);
  CHECK(time_in("2021-03")->kind == TimeKind::date);
  CHECK(time_in("2021-03-05T17:30:00")->kind == TimeKind::date);
  CHECK(time_in("2021-03-05T17:30Z")->kind == TimeKind::zoned_date);
  CHECK(time_in("2021-03-05T17:30-00:00")->kind == TimeKind::zoned_date);
  CHECK(time_in("7")->end == 7.0L);
  CHECK(time_in("2020-02")->end + 1.0L == begin("2020-03-01"));
  CHECK(time_in("2021-12")->end + 1.0L == begin("2022-01"));
  CHECK(time_in("2021-12-31")->end + 1.0L == begin("2022-01-01"));
  CHECK(time_in("2021-12-31T23:59")->end + 1.0L == begin("2022-01-01"));
  CHECK(time_in("2021-12-31T23:59:59")->end + 1.0L == begin("2022-01-01"));
  CHECK(time_in("2021-12-31T23:59:59.5")->end == begin("2021-12-31T23:59:59.5"));
  for (const char* wrong :
       {"", "x", "nan", "inf", "2021-13", "2021-00", "2021-02-29", "2021-3-5", "21-03-05", "2021-03-05T",
        "2021-03-05T25:00", "2021-03-05T17", "2021-03-05T17:30:61", "2021-03-05T17:30+",
        "2021-03-05T17:30+25:00", "2021-03Z", "2021-03-05x", "2021-03/05", "05.03.2021"})
    CHECK_FALSE(time_in(wrong).has_value());
  for (const char* zone : {" Europe/Berlin", "[Europe/Berlin]", "Z[UTC]x", "+01:00[", " PM"})
    CHECK_FALSE(time_in("2021-03-05T17:30" + std::string(zone)).has_value());
}
