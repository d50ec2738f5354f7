#include <adjoint/autograd/attention_weights.h>
#include <adjoint/autograd/edge.h>
#include <adjoint/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace adj {

namespace {

thread_local AttentionRecord* current_record = nullptr;

}  // namespace

AttentionRecord::AttentionRecord() : outer_(std::exchange(current_record, this)) {}
AttentionRecord::~AttentionRecord() { current_record = outer_; }

void detail::record_attention(const Relation& relation, int64_t heads, const Tensor& attr,
                              const std::function<Tensor(const EdgePart&)>& logits) {
  constexpr int64_t kAtOnce = 1 << 16;  // features of so many edges exist at once
  if (current_record == nullptr) return;
  AttentionRecord& record = *std::exchange(current_record, nullptr);  // for ops of this function
  const NoGrad no_grad;
  const auto [src, dst] = relation.edge_index();
  const int64_t edges = relation.num_edges();
  Tensor all = Tensor::empty({edges, heads}, DType::f32, relation.device());
  for (int64_t begin = 0; begin < edges; begin += kAtOnce) {
    const int64_t end = std::min(begin + kAtOnce, edges);
    Tensor part = all.rows(begin, end);
    const EdgePart some{src.rows(begin, end), dst.rows(begin, end), attr ? attr.rows(begin, end) : Tensor()};
    part.copy_(logits(some).to(DType::f32));
  }
  record.layers_.push_back({relation, edge_softmax(relation, Var(all)).value()});
  current_record = &record;
}

}  // namespace adj
