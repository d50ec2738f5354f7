#include <adjoint/data/import/detail/rdf_statements.h>
#include <adjoint/data/import/fields.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <optional>

#include <serd/serd.h>

namespace adj {

namespace {

/// Geometries are literals of many MB, each on one line.
constexpr size_t kLongestRdfLine = size_t{256} << 20;
/// serd calls itself for brackets within brackets, and has no limit of its own: some thousand are this deep.
constexpr uintptr_t kMostStack = uintptr_t{1} << 20;
constexpr std::string_view kStringType = "http://www.w3.org/2001/XMLSchema#string";

std::string_view view_of(const SerdNode& node) {
  return {reinterpret_cast<const char*>(node.buf), node.n_bytes};
}
const uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.c_str()); }

/// Where the stack is, in bytes.
__attribute__((always_inline)) inline uintptr_t stack_place() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

struct EndReader {
  void operator()(SerdReader* reader) const { serd_reader_free(reader); }
  void operator()(SerdEnv* env) const { serd_env_free(env); }
};

/// serd's callbacks for one file. None of them throws, for serd is C: what they would throw is kept, and ends
/// the reading.
class StatementReader {
 public:
  StatementReader(const std::string& path, const detail::RdfContext& context, Progress* reading,
                  const std::function<void(const detail::RdfStatement&)>& take)
      : context_(context),
        take_(take),
        source_(path, reading, kLongestRdfLine),
        reader_(serd_reader_new(is_turtle() ? SERD_TURTLE : SERD_NTRIPLES, this, nullptr, &set_base,
                                &set_prefix, &take_statement, nullptr)),
        names_(serd_env_new(nullptr)) {
    serd_reader_set_strict(reader_.get(), true);
    serd_reader_set_error_sink(reader_.get(), &keep_error, this);
    if (context_.base.empty()) return;
    const SerdNode base = serd_node_from_string(SERD_URI, bytes_of(context_.base));
    serd_env_set_base_uri(names_.get(), &base);
  }

  void read() {
    if (is_turtle()) return read_turtle();
    std::string line;
    for (std::string_view text; source_.next(text);) {
      text = trimmed(text);
      if (text.empty() || text.starts_with('#')) continue;
      line = text;
      line_ = source_.line_number();
      expect_no_zero(line);
      statements_ = 0;
      finish(serd_reader_read_string(reader_.get(), bytes_of(line)));
      if (statements_ != 1)
        source_.fail(line_, "{} triples, expected one a line as N-Triples have", statements_);
    }
  }

 private:
  bool is_turtle() const { return context_.syntax == detail::RdfSyntax::turtle; }

  void read_turtle() {
    stack_ = stack_place();
    finish(serd_reader_read_source(reader_.get(), &give_bytes, &has_failed, this, nullptr, 1));
  }

  void expect_no_zero(std::string_view text) const {
    if (text.find('\0') != std::string_view::npos) source_.fail(line_, "a zero byte, expected text");
  }

  /// Throws what was kept.
  void finish(SerdStatus status) {
    if (failure_) std::rethrow_exception(failure_);
    if (!error_.empty())
      source_.fail(line_, "{}{}", error_,
                   error_.starts_with("expected") ? ""
                   : is_turtle()                  ? ", expected Turtle"
                                 : ", expected SUBJECT PREDICATE OBJECT . as N-Triples have");
    if (status > SERD_FAILURE)
      source_.fail(line_, "{}, expected RDF", reinterpret_cast<const char*>(serd_strerror(status)));
  }

  template <class F>
  SerdStatus keep_failure(F&& f) {
    if (failure_ || !error_.empty()) return SERD_ERR_BAD_SYNTAX;
    try {
      f();
      return SERD_SUCCESS;
    } catch (...) {
      failure_ = std::current_exception();
      return SERD_ERR_INTERNAL;
    }
  }

  /// One byte at a time, so that a statement is handed over before the next line is read: its line is known.
  static size_t give_bytes(void* byte, size_t, size_t, void* self) {
    auto& reader = *static_cast<StatementReader*>(self);
    size_t count = 0;
    (void)reader.keep_failure([&] {
      while (reader.next_ >= reader.block_.text.size()) {
        reader.next_ = 0;
        if (!reader.source_.next(reader.block_)) {  // serd may ask again
          reader.block_.text.clear();
          return;
        }
        reader.line_ = reader.block_.first_line;
        reader.line_ended_ = false;
        reader.expect_no_zero(reader.block_.text);
      }
      const uintptr_t place = stack_place();
      if (std::max(place, reader.stack_) - std::min(place, reader.stack_) > kMostStack)
        reader.source_.fail(reader.line_, "brackets within brackets, thousands deep, expected fewer");
      const char next = reader.block_.text[reader.next_++];
      reader.line_ += reader.line_ended_;
      reader.line_ended_ = next == '\n';
      *static_cast<char*>(byte) = next;
      count = 1;
    });
    return count;
  }
  static int has_failed(void* self) { return static_cast<StatementReader*>(self)->failure_ != nullptr; }

  static SerdStatus keep_error(void* self, const SerdError* error) {
    auto& reader = *static_cast<StatementReader*>(self);
    if (!reader.error_.empty() || reader.failure_) return SERD_SUCCESS;
    std::array<char, 512> text{};
    va_list arguments;
    va_copy(arguments, *error->args);
    std::vsnprintf(text.data(), text.size(), error->fmt, arguments);
    va_end(arguments);
    reader.error_ = text.data();
    while (reader.error_.ends_with('\n')) reader.error_.pop_back();
    if (reader.error_.empty()) reader.error_ = "invalid";
    return SERD_SUCCESS;
  }

  static SerdStatus set_base(void* self, const SerdNode* base) {
    auto& reader = *static_cast<StatementReader*>(self);
    return reader.keep_failure([&] { serd_env_set_base_uri(reader.names_.get(), base); });
  }
  static SerdStatus set_prefix(void* self, const SerdNode* name, const SerdNode* iri) {
    auto& reader = *static_cast<StatementReader*>(self);
    return reader.keep_failure([&] {
      std::string whole;
      reader.append_iri(*iri, whole);
      const SerdNode node = serd_node_from_string(SERD_URI, bytes_of(whole));
      serd_env_set_prefix(reader.names_.get(), name, &node);
    });
  }
  static SerdStatus take_statement(void* self, SerdStatementFlags, const SerdNode*, const SerdNode* subject,
                                   const SerdNode* predicate, const SerdNode* object,
                                   const SerdNode* datatype, const SerdNode* language) {
    auto& reader = *static_cast<StatementReader*>(self);
    return reader.keep_failure([&] {
      ++reader.statements_;
      reader.set_name(*subject, reader.subject_);
      reader.set_name(*predicate, reader.predicate_);
      reader.set_name(*object, reader.object_);
      const bool literal = object->type == SERD_LITERAL;
      if (literal) reader.append_kind(datatype, language);
      reader.take_({reader.subject_, reader.predicate_, reader.object_, literal});
    });
  }

  void set_name(const SerdNode& node, std::string& name) const {
    name.clear();
    if (node.type == SERD_BLANK) {
      name.append("_:").append(context_.scope).append(view_of(node));
    } else if (node.type == SERD_LITERAL) {
      append_quoted(view_of(node), name);
    } else {
      append_iri(node, name);
    }
  }

  static void append_quoted(std::string_view text, std::string& name) {
    name += '"';
    for (const char c : text) {
      const char* const escaped = c == '"'    ? "\\\""
                                  : c == '\\' ? "\\\\"
                                  : c == '\n' ? "\\n"
                                  : c == '\r' ? "\\r"
                                              : nullptr;
      if (escaped != nullptr)
        name += escaped;
      else
        name += c;
    }
    name += '"';
  }

  void append_kind(const SerdNode* datatype, const SerdNode* language) {
    if (language != nullptr && language->n_bytes > 0) {
      object_.append("@").append(lower(view_of(*language)));
    } else if (datatype != nullptr && datatype->n_bytes > 0) {
      std::string type;
      append_iri(*datatype, type);
      if (type != kStringType) object_.append("^^<").append(type).append(">");
    }
  }

  /// Absolute, whatever abbreviates it.
  void append_iri(const SerdNode& node, std::string& name) const {
    if (node.type == SERD_URI && serd_uri_string_has_scheme(node.buf)) {
      name += view_of(node);
      return;
    }
    if (node.type == SERD_CURIE) {
      SerdChunk prefix{}, suffix{};
      if (serd_env_expand(names_.get(), &node, &prefix, &suffix) != SERD_SUCCESS)
        source_.fail(line_, "\"{}\": an unknown prefix, expected one of an @prefix above",
                     excerpt(view_of(node)));
      name.append(reinterpret_cast<const char*>(prefix.buf), prefix.len)
          .append(reinterpret_cast<const char*>(suffix.buf), suffix.len);
      return;
    }
    if (serd_env_get_base_uri(names_.get(), nullptr)->n_bytes == 0)
      source_.fail(line_, "<{}>: a relative IRI, expected an @base above (or --base IRI)",
                   excerpt(view_of(node)));
    SerdNode whole = serd_env_expand_node(names_.get(), &node);
    name += view_of(whole);
    serd_node_free(&whole);
  }

  const detail::RdfContext& context_;
  const std::function<void(const detail::RdfStatement&)>& take_;
  TextSource source_;
  std::unique_ptr<SerdReader, EndReader> reader_;
  std::unique_ptr<SerdEnv, EndReader> names_;
  std::string subject_, predicate_, object_;
  TextBlock block_;
  size_t next_ = 0;  // in the block
  int64_t line_ = 0, statements_ = 0;
  uintptr_t stack_ = 0;  // at the beginning
  bool line_ended_ = false;
  std::string error_;  // serd's first
  std::exception_ptr failure_;
};

}  // namespace

void detail::read_rdf_statements(const std::string& path, const RdfContext& context, Progress* reading,
                                 const std::function<void(const RdfStatement&)>& take) {
  StatementReader(path, context, reading, take).read();
}

}  // namespace adj
