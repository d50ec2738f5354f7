/* Trained models for programs in C, and for languages that call C.
 *
 * Arrays in, arrays out: no file is read but the checkpoint. Edges are pairs of node numbers from 0; features
 * are float32, row after row, as they are in the user's own data: the model prepares them as its training
 * did. A function that can fail returns 0 or a pointer where it succeeded, else -1 or NULL, and
 * adjoint_last_error() says why. A model does not change: threads may call its functions at once. Link with
 * -ladjoint_layers -ladjoint_base and what those need, or take adjoint::adjoint from find_package(adjoint).
 */
#ifndef ADJOINT_H
#define ADJOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct adjoint_model adjoint_model;

/* What a training wrote with --checkpoint. device: "cpu", "cuda" or "cuda:1"; NULL is "cpu". */
adjoint_model *adjoint_load(const char *checkpoint, const char *device);
/* NULL is left alone. */
void adjoint_free(adjoint_model *model);
/* One line on the last failure in this thread; "" where there was none. Valid until the next one. */
const char *adjoint_last_error(void);

/* Columns of the features, and numbers that the model gives for a node or graph: classes, labels or targets.
 */
int64_t adjoint_num_features(const adjoint_model *model);
int64_t adjoint_num_outputs(const adjoint_model *model);
/* NULL where the training's dataset had no names, and beyond the last class. Valid as long as the model. */
const char *adjoint_class_name(const adjoint_model *model, int64_t output);

/* A directed graph and its features. Undirected edges stand twice. */
typedef struct adjoint_graph {
  int64_t num_nodes, num_edges;
  const int64_t *src, *dst; /* [num_edges] */
  const float *weight;      /* [num_edges], or NULL */
  const float *x;           /* [num_nodes, num_features]; NULL where the model makes its own */
} adjoint_graph;

/* result [num_nodes, num_outputs]: probabilities, or for regression what is predicted, of every node. */
int adjoint_predict_nodes(const adjoint_model *model, const adjoint_graph *graph, float *result);
/* result [num_graphs, num_outputs], of many graphs side by side: graph g has the nodes offsets[g] to
 * offsets[g + 1], offsets [num_graphs + 1]. */
int adjoint_predict_graphs(const adjoint_model *model, const adjoint_graph *graph, int64_t num_graphs,
                           const int64_t *offsets, float *result);
/* result [num_pairs]: the probability that an edge joins the nodes src[p] and dst[p]. */
int adjoint_predict_links(const adjoint_model *model, const adjoint_graph *graph, int64_t num_pairs,
                          const int64_t *src, const int64_t *dst, float *result);

#ifdef __cplusplus
}
#endif

#endif
