#include "../support.h"
#include <adjoint/core/option.h>

using namespace adj;
using namespace adj::test;

namespace {

enum class Fruit : uint8_t { apple, pear, fig };
constexpr auto names_of(Fruit) { return std::array{"apple", "pear", "fig"}; }

enum class Unlisted : uint8_t { one, two };
constexpr std::string_view name_of(Unlisted value) { return value == Unlisted::one ? "one" : "two"; }

}  // namespace

TEST_CASE("an enum's values and names are each other's") {
  CHECK(values_of<Fruit>() == std::vector{Fruit::apple, Fruit::pear, Fruit::fig});
  CHECK(adj::name_of(Fruit::pear) == "pear");
  CHECK(value_named<Fruit>("fig") == Fruit::fig);
  CHECK(value_named<Fruit>("Fig") == std::nullopt);
  CHECK(value_named<Fruit>("") == std::nullopt);
}

TEST_CASE("an option of an enum reads and writes its names, and refuses those that it does not offer") {
  Fruit fruit = Fruit::fig;
  const Option all{"fruit", &fruit, "NAME", "a fruit"};
  CHECK(all.text() == "fig");
  CHECK(all.json() == "\"fig\"");
  std::get<Choice>(all.value).set("fruit", "pear");
  CHECK(fruit == Fruit::pear);
  CHECK(error_of<UsageError>([&] { std::get<Choice>(all.value).set("fruit", "peer"); }) ==
        "--fruit: expected apple or pear or fig, got 'peer'; did you mean 'pear'?");
  CHECK(fruit == Fruit::pear);

  const Choice some(&fruit, {Fruit::fig, Fruit::apple});
  CHECK(some.text() == "pear");
  CHECK_FALSE(some.offers("pear"));
  CHECK(some.offers("fig"));
  CHECK(error_of<UsageError>([&] { some.set("fruit", "pear"); }) ==
        "--fruit: expected fig or apple, got 'pear'");
  some.set("fruit", "apple");
  CHECK(fruit == Fruit::apple);

  Unlisted unlisted = Unlisted::one;
  Choice(&unlisted, {Unlisted::two}).set("number", "two");
  CHECK(unlisted == Unlisted::two);
}

TEST_CASE("an absent value is named auto") {
  std::optional<Fruit> fruit = Fruit::pear;
  const Choice choice(&fruit);
  CHECK(choice.text() == "pear");
  choice.set("fruit", "auto");
  CHECK_FALSE(fruit.has_value());
  CHECK(choice.text() == "auto");
  choice.set("fruit", "fig");
  CHECK(fruit == Fruit::fig);
  CHECK(error_of<UsageError>([&] { choice.set("fruit", "none"); }) ==
        "--fruit: expected auto or apple or pear or fig, got 'none'");
}
