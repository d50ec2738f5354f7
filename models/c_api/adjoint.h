/* Trained models for programs in C, and for languages that call C.
 *
 * Inputs and outputs are arrays; the checkpoint is the only file read. Edges are pairs of node numbers from
 * 0; features are raw float32, row-major: the model scales and quantises them as in its training. Functions
 * return 0 or a pointer on success, -1 or NULL on failure, with the reason in adjoint_last_error(). Models
 * are immutable, so all functions are thread-safe. Link with the flags of `pkg-config --cflags --libs adjoint`, or
 * use adjoint::adjoint from find_package(adjoint).
 */
#ifndef ADJOINT_H
#define ADJOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct adjoint_model adjoint_model;

/* Loads a checkpoint written with --checkpoint. device: "cpu", "cuda" or "cuda:1"; NULL is "cpu". */
adjoint_model *adjoint_load(const char *checkpoint, const char *device);
/* NULL is ignored. */
void adjoint_free(adjoint_model *model);
/* One line on the last failure in this thread; "" if there was none. Valid until the next failure. */
const char *adjoint_last_error(void);

/* Width of the features, and outputs per node or graph: classes, labels or targets. */
int64_t adjoint_num_features(const adjoint_model *model);
int64_t adjoint_num_outputs(const adjoint_model *model);
/* NULL if the training's dataset had no names, or beyond the last class. Valid as long as the model. */
const char *adjoint_class_name(const adjoint_model *model, int64_t output);
/* The column's name in the training's features: the order in which adjoint_graph has them. NULL as above. */
const char *adjoint_feature_name(const adjoint_model *model, int64_t column);

/* A directed graph and its features. Undirected edges are given twice. It has no edge attributes: models that
   were trained with some (edges/attr) refuse it. */
typedef struct adjoint_graph {
  int64_t num_nodes, num_edges;
  const int64_t *src, *dst; /* [num_edges] */
  const float *weight;      /* [num_edges], or NULL */
  const float *x;           /* [num_nodes, num_features]; NULL if the model generates its own */
} adjoint_graph;

/* result [num_nodes, num_outputs]: probabilities, or for regression predictions, of every node. */
int adjoint_predict_nodes(const adjoint_model *model, const adjoint_graph *graph, float *result);
/* result [num_graphs, num_outputs], for a batch of graphs: graph g has the nodes offsets[g] to
 * offsets[g + 1], offsets [num_graphs + 1]. */
int adjoint_predict_graphs(const adjoint_model *model, const adjoint_graph *graph, int64_t num_graphs,
                           const int64_t *offsets, float *result);
/* result [num_pairs]: probability of an edge between the nodes src[p] and dst[p]. */
int adjoint_predict_links(const adjoint_model *model, const adjoint_graph *graph, int64_t num_pairs,
                          const int64_t *src, const int64_t *dst, float *result);

/* The same as logits (nodes and graphs: the model's outputs; links: one number each), for thresholds and
 * metrics by rank: probabilities near 0 and 1 round to the same float. */
int adjoint_score_nodes(const adjoint_model *model, const adjoint_graph *graph, float *result);
int adjoint_score_graphs(const adjoint_model *model, const adjoint_graph *graph, int64_t num_graphs,
                         const int64_t *offsets, float *result);
int adjoint_score_links(const adjoint_model *model, const adjoint_graph *graph, int64_t num_pairs,
                        const int64_t *src, const int64_t *dst, float *result);

#ifdef __cplusplus
}
#endif

#endif
