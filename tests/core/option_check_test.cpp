#include "../support.h"
#include <adjoint/core/error.h>
#include <adjoint/core/option_check.h>

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
