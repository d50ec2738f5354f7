// Embeds the entities and relations of a knowledge graph, and ranks triples by them.

#include "common/option_groups.h"
#include "train_kge/queries.h"
#include <adjoint/adjoint.h>
#include <adjoint/training/triples.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  return run_program("train_kge", [&] {
    TripleOptions options;
    if (!apps::read_groups(
            argc, argv, options, "train_kge DATA.h5 [OPTION]...",
            "Trains embeddings of a knowledge graph: TransE, DistMult, ComplEx, RotatE, RESCAL."))
      return;
    TripleRun run(options);
    const apps::TripleQueries queries(options, run.data());  // refused before the training
    optim::CapturedStep step(
        [&] {
          const TripleBatch& batch = run.next_batch();
          Var loss = run.loss(batch);
          loss.backward();
          run.update(batch);
          run.add(loss.value());
          return loss;
        },
        {.capture = !options.no_capture});
    while (run.next_epoch())
      for (int64_t k = 0; k < run.steps(); ++k) step();
    queries.write(run.model());
    run.write_vectors();
    run.write_results();
  });
}
