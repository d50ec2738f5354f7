/* A trained model in a C program: predict CHECKPOINT. The graph is a ring of eight nodes with features of one's
 * own; of a real one they come from wherever the service has them. */
#include <adjoint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kNodes = 8 };

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "predict: expected CHECKPOINT\n"), 2;
  adjoint_model *model = adjoint_load(argv[1], "cpu");
  if (model == NULL) return fprintf(stderr, "predict: %s\n", adjoint_last_error()), 1;
  const int64_t features = adjoint_num_features(model), classes = adjoint_num_outputs(model);

  int64_t src[2 * kNodes], dst[2 * kNodes];
  for (int64_t i = 0; i < kNodes; ++i) {
    src[2 * i] = dst[2 * i + 1] = i;
    dst[2 * i] = src[2 * i + 1] = (i + 1) % kNodes;
  }
  float *x = calloc((size_t)(kNodes * features), sizeof *x);
  float *probability = malloc((size_t)(kNodes * classes) * sizeof *probability);
  for (int64_t i = 0; i < kNodes; ++i) x[i * features + i % features] = 1.0f;

  const adjoint_graph graph = {.num_nodes = kNodes, .num_edges = 2 * kNodes, .src = src, .dst = dst, .x = x};
  if (adjoint_predict_nodes(model, &graph, probability) != 0)
    return fprintf(stderr, "predict: %s\n", adjoint_last_error()), 1;
  for (int64_t i = 0; i < kNodes; ++i) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (probability[i * classes + c] > probability[i * classes + best]) best = c;
    const char *name = adjoint_class_name(model, best);
    printf("node %d: class %d %s (%.3f)\n", (int)i, (int)best, name != NULL ? name : "",
           probability[i * classes + best]);
  }
  free(x);
  free(probability);
  adjoint_free(model);
  return 0;
}
