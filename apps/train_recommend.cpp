// Trains LightGCN on interactions of users and items, and recommends items.

#include "common/option_groups.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/recommend.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  return run_program("train_recommend", [&] {
    RecommendOptions options;
    if (!apps::read_groups(argc, argv, options, "train_recommend DATA.h5 [OPTION]...",
                           "Trains LightGCN on users' interactions with items, and recommends items."))
      return;
    RecommendRun run(options);
    optim::CapturedStep step(
        [&] {
          Var loss = run.loss();
          loss.backward();
          run.update();
          run.add(loss.value());
          return loss;
        },
        {.capture = !options.no_capture});
    while (run.next_epoch())
      while (run.next_batch()) step();
    run.write_vectors();
    run.write_results();
  });
}
