#include "../support.h"
#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>

#include <cmath>

using namespace adj;

TEST_CASE("the nearest choice is the one with a small edit distance") {
  const std::vector<std::string> options{"data",   "epochs", "lr",      "weight-decay", "weighted-sampling",
                                         "hidden", "layers", "dropout", "checkpoint",   "checkpoint-every",
                                         "seed"};
  const std::pair<const char*, const char*> cases[] = {{"epochs", "epochs"},
                                                       {"epoch", "epochs"},
                                                       {"epcohs", "epochs"},
                                                       {"Epochs", "epochs"},
                                                       {"num_epochs", "epochs"},
                                                       {"learning-rate", "lr"},
                                                       {"learning_rate", "lr"},
                                                       {"weight_decay", "weight-decay"},
                                                       {"weight", "weight-decay"},
                                                       {"wd", "weight-decay"},
                                                       {"weightdecay", "weight-decay"},
                                                       {"hidden-dim", "hidden"},
                                                       {"hiden", "hidden"},
                                                       {"num-layers", "layers"},
                                                       {"check", "checkpoint"},
                                                       {"drop", "dropout"},
                                                       {"sede", "seed"}};
  for (const auto& [word, expected] : cases) {
    CAPTURE(word);
    CHECK(nearest(word, options) == expected);
  }
  for (const char* word : {"nonsense", "", "x", "gpu", "l", "d", "optimizer"}) {
    CAPTURE(word);
    CHECK(nearest(word, options).empty());
  }
  CHECK(nearest(std::string(1000, 'e'), options).empty());
  CHECK(nearest("a", {}).empty());
  CHECK(did_you_mean("epoch", options) == "; did you mean 'epochs'?");
  CHECK(did_you_mean("nonsense", options).empty());
}

TEST_CASE("an invalid value's message suggests the nearest choice") {
  CHECK_NOTHROW(expect_one_of("loader", "saint", {"cluster", "saint"}));
  CHECK_THROWS_WITH_AS(expect_one_of("loader", "clusters", {"cluster", "saint"}),
                       "--loader: expected cluster or saint, got 'clusters'; did you mean 'cluster'?",
                       UsageError);
}

TEST_CASE("numbers are in their range, ends included, a probability below 1") {
  for (const int64_t value : {3, 4, 7}) CHECK_NOTHROW(expect_integer("n", value, 3, 7));
  CHECK_THROWS_WITH_AS(expect_integer("n", 2, 3, 7), "--n: expected 3 or more, got 2", UsageError);
  CHECK_THROWS_WITH_AS(expect_integer("n", 8, 3, 7), "--n: expected at most 7, got 8", UsageError);
  const struct {
    NumberRange range;
    std::vector<double> inside, outside;
    std::string expected;
  } cases[] = {{kProbability, {0.0, 0.5, 0.999}, {-0.001, 1.0, NAN}, "a number in [0, 1)"},
               {kPositive, {1e-300, 1e300}, {0.0, -1.0, HUGE_VAL, NAN}, "a positive number"},
               {kNotNegative, {0.0, 1e300}, {-1e-300, HUGE_VAL, NAN}, "a number of 0 or more"},
               {{0.0, 1.0, false}, {1e-300, 1.0}, {0.0, 1.1, NAN}, "a number in (0, 1]"},
               {{0.001, 10.0}, {0.001, 10.0}, {0.0, 10.1, NAN}, "a number in [0.001, 10]"}};
  for (const auto& c : cases) {
    CAPTURE(c.expected);
    for (const double value : c.inside) CHECK_NOTHROW(expect_in(c.range, "p", value));
    for (const double value : c.outside)
      CHECK_THROWS_WITH_AS(expect_in(c.range, "p", value),
                           doctest::Contains(("--p: expected " + c.expected + ", got ").c_str()), UsageError);
    CHECK_THROWS_WITH_AS(read_number("p", "half", c.range),
                         ("--p: expected " + c.expected + ", got 'half'").c_str(), UsageError);
  }
  CHECK_NOTHROW(expect_in({}, "p", -1.0));
  CHECK_NOTHROW(expect_in({}, "n", int64_t{-1}));
  CHECK_THROWS_WITH_AS(expect_in(IntegerRange{3, 7}, "n", int64_t{8}), "--n: expected at most 7, got 8",
                       UsageError);
  for (const char* text : {"eight", "3.5", ""})
    CHECK_THROWS_WITH_AS(read_integer("n", text, IntegerRange{3, 7}),
                         (std::string("--n: expected an integer from 3 to 7, got '") + text + "'").c_str(),
                         UsageError);
  CHECK_THROWS_WITH_AS(read_integer("n", "99999999999999999999", IntegerRange{3, 7}),
                       "--n: expected an integer from 3 to 7, got 99999999999999999999", UsageError);
  CHECK_THROWS_WITH_AS(read_integer("n", "many", IntegerRange{.low = 1}),
                       "--n: expected an integer of 1 or more, got 'many'", UsageError);
}

TEST_CASE("a number is all of its text, and the message says what was expected") {
  for (const auto& [text, number] : {std::pair("7", int64_t{7}),
                                     {"-12", -12},
                                     {"+5", 5},
                                     {"9223372036854775807", INT64_MAX},
                                     {"-9223372036854775808", INT64_MIN}})
    CHECK(read_integer("n", text) == number);
  for (const char* text : {"", "-", "+", "+-5", "1.5", "1e3", "5 ", "abc", "0x10", "7\n"})
    CHECK_THROWS_WITH_AS(read_integer("n", text), doctest::Contains("--n: expected an integer, got '"),
                         UsageError);
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "99999999999999999999"})
    CHECK_THROWS_WITH_AS(
        read_integer("n", text),
        (std::string("--n: expected an integer from -9223372036854775808 to 9223372036854775807, got ") +
         text)
            .c_str(),
        UsageError);
  for (const auto& [text, number] :
       {std::pair("0.5", 0.5), {"-2", -2.0}, {"+1e-3", 1e-3}, {"5e-4", 0.0005}, {"inf", HUGE_VAL}})
    CHECK(read_number("x", text) == number);
  for (const char* text : {"", "abc", "0,5", "1.5.", "+", "nan"})
    CHECK_THROWS_WITH_AS(read_number("x", text), doctest::Contains("--x: expected a number, got '"),
                         UsageError);
}
