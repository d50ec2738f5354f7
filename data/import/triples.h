#pragma once

#include <adjoint/data/typed_dataset.h>

#include <array>
#include <string>
#include <vector>

namespace adj {

/// Files of a knowledge graph's triples; `val` and `test` are both given, or both empty: then no edge has a
/// split.
struct TripleFiles {
  std::string train, val = {}, test = {};  ///< paths
};

/// Those of a folder: train2id.txt, valid2id.txt and test2id.txt (OpenKE), or train.txt, valid.txt and
/// test.txt, of which the last two may be absent; also .tsv, .gz, and val or dev for valid. Throws DataError
/// listing the names that it looks for.
TripleFiles find_triple_files(const std::string& folder);

/// The order of a line's fields.
using TripleColumns = std::array<size_t, 3>;  ///< the columns of head, relation and tail, from 0
/// "head,relation,tail" in any order. Throws UsageError.
TripleColumns triple_columns(const std::string& words);

/// Imports the triples of a knowledge graph as a graph of one type of nodes, "node", and a type of edges for
/// each relation, with its name; the files are the parts of the edges' splits, which may be empty for a
/// relation. Text, plain or gzip:
///
/// - a triple of names in each line, between tabs, or between blanks if the first line has no tab; as
///   `columns`, else by a header of the words head, relation and tail, else in this order. Nodes and
///   relations are numbered by first appearance.
/// - OpenKE: a file called train2id.txt (or X2id.txt) has the number of its triples in the first line, then
///   head, tail and relation as numbers. Their names are in entity2id.txt and relation2id.txt beside it.
///
/// A triple that a part has twice is one edge; one that two parts have is an edge of each, which `notes` say,
/// as the nodes that no triple of the first part has. Takes the names, and some 30 bytes for each triple.
///
/// Throws DataError naming file and line: a line with another number of fields, an empty field, text that is
/// not UTF-8, a number that has no name, another number of lines than the first line says, a file without
/// triples.
TypedDataset import_triples(const TripleFiles& files, const std::string& columns,
                            std::vector<std::string>& notes);

}  // namespace adj
