/* Trained models for programs in C, and for languages that call C.
 *
 * Inputs and outputs are arrays; the checkpoint is the only file read. Edges are pairs of node numbers from
 * 0; features are raw float32, row-major: the model scales and quantises them as in its training. Functions
 * return 0 or a pointer on success, -1 or NULL on failure, with the reason in adjoint_last_error(). Models
 * are immutable, so all functions are thread-safe. Link with the flags of `pkg-config --cflags --libs
 * adjoint`, or use adjoint::adjoint from find_package(adjoint).
 */
#ifndef ADJOINT_H
#define ADJOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct adjoint_model adjoint_model; /* a trained model and its device */

/* Loads a checkpoint written with --checkpoint. device: "cpu", "cuda" or "cuda:1"; NULL is "cpu". */
adjoint_model *adjoint_load(const char *checkpoint, const char *device);
/* NULL is ignored. */
void adjoint_free(adjoint_model *model);
/* One line on the last failure in this thread; "" if there was none. Valid until the next failure. */
const char *adjoint_last_error(void);

int64_t adjoint_num_features(const adjoint_model *model); /* columns of adjoint_graph.x */
int64_t adjoint_num_outputs(const adjoint_model *model);  /* classes, labels or targets; 1 for links */
/* NULL if the training's dataset had no names, or beyond the last class. Valid as long as the model. */
const char *adjoint_class_name(const adjoint_model *model, int64_t output);
/* The column's name in the training's features: the order in which adjoint_graph has them. NULL as above. */
const char *adjoint_feature_name(const adjoint_model *model, int64_t column);

/* A directed graph and its features: num_nodes nodes and num_edges edges, each fewer than 2^31 - 1, from src
   to dst. Undirected edges are given twice. It has no edge attributes: models that were trained with some
   (edges/attr) refuse it. */
typedef struct adjoint_graph {
  int64_t num_nodes, num_edges;
  const int64_t *src, *dst; /* [num_edges] */
  const float *weight;      /* [num_edges], or NULL */
  const float *x;           /* [num_nodes, num_features]; NULL if the model generates its own */
} adjoint_graph;

/* Writes result [num_nodes, num_outputs]: probabilities, or for regression predictions, of every node. */
int adjoint_predict_nodes(const adjoint_model *model, const adjoint_graph *graph, float *result);
/* Writes result [num_graphs, num_outputs], for a batch of graphs: graph g has the nodes offsets[g] to
 * offsets[g + 1], offsets [num_graphs + 1]. */
int adjoint_predict_graphs(const adjoint_model *model, const adjoint_graph *graph, int64_t num_graphs,
                           const int64_t *offsets, float *result);
/* Writes result [num_edges, num_outputs]: the same of every edge of the graph, in its order. */
int adjoint_predict_edges(const adjoint_model *model, const adjoint_graph *graph, float *result);
/* Writes result [num_pairs]: probability of an edge between the nodes src[p] and dst[p]. */
int adjoint_predict_links(const adjoint_model *model, const adjoint_graph *graph, int64_t num_pairs,
                          const int64_t *src, const int64_t *dst, float *result);

/* The same as logits (links: one number each; else the model's outputs), for thresholds and
 * metrics by rank: probabilities near 0 and 1 round to the same float. */
int adjoint_score_nodes(const adjoint_model *model, const adjoint_graph *graph, float *result);
int adjoint_score_graphs(const adjoint_model *model, const adjoint_graph *graph, int64_t num_graphs,
                         const int64_t *offsets, float *result); /* [num_graphs, num_outputs] */
int adjoint_score_edges(const adjoint_model *model, const adjoint_graph *graph, float *result); /* by edge */
int adjoint_score_links(const adjoint_model *model, const adjoint_graph *graph, int64_t num_pairs,
                        const int64_t *src, const int64_t *dst, float *result); /* [num_pairs] */

/* What the hidden layers make of every node, the last layer's input; for a model of links or edges what its
 * decoder takes. Computed once, and used any number of times. */
typedef struct adjoint_embeddings adjoint_embeddings;
/* Of all nodes. adjoint_free_embeddings() frees them. */
adjoint_embeddings *adjoint_embed_nodes(const adjoint_model *model, const adjoint_graph *graph);
/* The same of graphs: their pooled last layer. */
adjoint_embeddings *adjoint_embed_graphs(const adjoint_model *model, const adjoint_graph *graph,
                                         int64_t num_graphs, const int64_t *offsets);
/* NULL is ignored. */
void adjoint_free_embeddings(adjoint_embeddings *embeddings);
int64_t adjoint_embedding_rows(const adjoint_embeddings *embeddings);  /* nodes or graphs */
int64_t adjoint_embedding_width(const adjoint_embeddings *embeddings); /* columns */
/* Values [rows, width], row-major, on the CPU; valid as long as the embeddings. */
const float *adjoint_embedding_values(const adjoint_embeddings *embeddings);

/* For a model of links. result [num_pairs]: adjoint_score_links() from embeddings of its nodes. */
int adjoint_score_pairs(const adjoint_model *model, const adjoint_embeddings *embeddings, int64_t num_pairs,
                        const int64_t *src, const int64_t *dst, float *result);
/* The pairs with the highest scores that no edge of the embeddings' graph joins, in either direction: `most`
 * of all, or with num_sources > 0 `most` for each of these source nodes, in turn. Nodes of many graphs are
 * not paired between them if offsets [num_graphs + 1] are given, as in adjoint_predict_graphs(); 0 and NULL:
 * one graph. src, dst and score have room for most * max(1, num_sources). Returns the number of pairs
 * written, which is smaller if there are no more, or -1. */
int64_t adjoint_missing_links(const adjoint_model *model, const adjoint_embeddings *embeddings,
                              int64_t num_graphs, const int64_t *offsets, int64_t most, int64_t num_sources,
                              const int64_t *sources, int64_t *src, int64_t *dst, float *score);

#ifdef __cplusplus
}
#endif

#endif
