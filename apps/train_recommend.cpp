// Trains LightGCN on interactions of users and items, and recommends items.

#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/recommend.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  return run_program("train_recommend", [&] {
    RecommendOptions options;
    boost::program_options::options_description all;
    for (const Options::Group& group : options.groups()) all.add(apps::table_of(group.options, group.name));
    if (!apps::read_options(argc, argv, boost::program_options::options_description("Other"), {"data"},
                            "train_recommend DATA.h5 [OPTION]...",
                            "Trains LightGCN on users' interactions with items, and recommends items.", all))
      return;
    options.complete();
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
