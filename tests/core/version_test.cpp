#include <adjoint/core/version.h>

#include <algorithm>

#include <doctest/doctest.h>

TEST_CASE("version is three numbers") {
  const std::string_view version = adj::version();
  CHECK(std::count(version.begin(), version.end(), '.') == 2);
  CHECK(version.find_first_not_of("0123456789.") == std::string_view::npos);
}
