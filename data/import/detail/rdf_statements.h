#pragma once

#include <adjoint/data/import/text_source.h>

#include <functional>
#include <string>
#include <string_view>

namespace adj::detail {

/// How a file writes RDF.
enum class RdfSyntax : uint8_t { ntriples, turtle };

/// One triple. Terms are named as in N-Triples, but IRIs without brackets: http://a.org/b, _:label,
/// "text"@en, "5"^^<DATATYPE>; literals of xsd:string have no datatype, language tags are in lower case
/// (RDF 1.1 Concepts, 3.3). Valid while it is handed over.
struct RdfStatement {
  std::string_view subject, predicate, object;
  bool has_literal = false;  ///< as its object
};

/// What RDF of one file is relative to.
struct RdfContext {
  RdfSyntax syntax = RdfSyntax::ntriples;
  std::string base = {};   ///< IRI that relative ones of Turtle refer to, unless the file has its own
  std::string scope = {};  ///< put before labels of blank nodes, which are those of one file
};

/// Calls take(statement) for each in order, by serd. Anonymous blank nodes of Turtle are called _:b1, _:b2,
/// …, so that a label _:b1 becomes _:B1. Throws DataError naming file and line, and for builds without serd.
void read_rdf_statements(const std::string& path, const RdfContext& context, Progress* reading,
                         const std::function<void(const RdfStatement&)>& take);

}  // namespace adj::detail
