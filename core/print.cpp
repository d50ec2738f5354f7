#include <adjoint/core/print.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <vector>

namespace adj {

namespace {

/// The numbers as texts: whole ones without digits behind the point; with an exponent if one is 10^5 or more,
/// or below 10^-`digits`.
std::vector<std::string> texts_of(const std::vector<double>& numbers, int digits) {
  bool whole = true;
  double largest = 0.0, smallest = INFINITY;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    whole = whole && number == std::floor(number);
    if (number != 0.0) smallest = std::min(smallest, std::abs(number));
    largest = std::max(largest, std::abs(number));
  }
  whole = whole && largest < 1e8;
  const bool exponents = !whole && (largest >= 1e5 || smallest < std::pow(10.0, -digits));
  std::vector<std::string> texts;
  for (const double number : numbers)
    texts.push_back(!std::isfinite(number) ? fmt::format("{}", number)
                    : exponents            ? fmt::format("{:.{}e}", number, digits)
                    : whole                ? fmt::format("{:.0f}.", number)
                                           : fmt::format("{:.{}f}", number, digits));
  return texts;
}

/// The elements at these positions.
template <class T>
std::vector<T> elements_at(const std::vector<int64_t>& positions, const Tensor& tensor, DType dtype) {
  constexpr int64_t kPart = 1024;  // a large tensor stays on the device
  std::vector<T> elements;
  Tensor part;
  int64_t begin = 0;
  for (const int64_t position : positions) {
    if (!part || position < begin || position >= begin + part.numel()) {
      begin = position;
      const Tensor rows =
          tensor.reshape({tensor.numel()}).rows(begin, std::min(tensor.numel(), begin + kPart));
      part = rows.to(Device::cpu()).to(dtype);
    }
    elements.push_back(part.data<T>()[position - begin]);
  }
  return elements;
}

/// The indices of a dimension that are shown; -1 stands for those that are not.
std::vector<int64_t> shown_of(int64_t extent, bool all, int64_t edge) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < extent; ++i) {
    if (!all && extent > 2 * edge && i == edge) {
      indices.push_back(-1);
      i = extent - edge;
    }
    indices.push_back(i);
  }
  return indices;
}

/// f(position in the tensor) for the shown elements from dimension `dim` on, below element `first`; open()
/// and close() around each dimension, skip() for what is left out.
template <class Each>
void visit(const Shape& shape, const std::vector<std::vector<int64_t>>& shown, int dim, int64_t first,
           Each&& each) {
  if (dim == shape.dims()) return each.number(first);
  each.open(dim);
  bool begins = true;
  for (const int64_t i : shown[static_cast<size_t>(dim)]) {
    if (!begins) each.between(dim);
    begins = false;
    if (i < 0)
      each.skip();
    else
      visit(shape, shown, dim + 1, first * shape[dim] + i, each);
  }
  each.close();
}

struct Positions {
  std::vector<int64_t> all;
  void open(int) {}
  void between(int) {}
  void close() {}
  void skip() {}
  void number(int64_t position) { all.push_back(position); }
};

struct Writer {
  const std::vector<std::string>& texts;
  size_t width;
  int dims;
  std::string text = {};
  size_t next = 0;
  void open(int) { text += '['; }
  void between(int dim) {
    text += dim + 1 == dims ? " "
                            : std::string(static_cast<size_t>(dims - 1 - dim), '\n') +
                                  std::string(static_cast<size_t>(dim + 1), ' ');
  }
  void close() { text += ']'; }
  void skip() { text += "..."; }
  void number(int64_t) { text += fmt::format("{:>{}}", texts[next++], width); }
};

}  // namespace

std::string to_text(const Tensor& tensor, const TextLayout& layout) {
  if (!tensor) return "absent";
  if (tensor.dtype() == DType::bits) return tensor.str();
  const Shape shape = tensor.shape();
  std::vector<std::vector<int64_t>> shown;
  for (int d = 0; d < shape.dims(); ++d)
    shown.push_back(shown_of(shape[d], tensor.numel() <= layout.most, std::max<int64_t>(1, layout.edge)));
  Positions positions;
  visit(shape, shown, 0, 0, positions);
  std::vector<std::string> texts;
  if (is_floating(tensor.dtype()))
    texts = texts_of(elements_at<double>(positions.all, tensor, DType::f64), layout.digits);
  else
    for (const int64_t number : elements_at<int64_t>(positions.all, tensor, DType::i64))
      texts.push_back(std::to_string(number));
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  Writer writer{texts, width, shape.dims()};
  visit(shape, shown, 0, 0, writer);
  return writer.text + "\n" + tensor.str();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_text(tensor); }
std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.str(); }
std::ostream& operator<<(std::ostream& out, Device device) { return out << device.str(); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

}  // namespace adj
