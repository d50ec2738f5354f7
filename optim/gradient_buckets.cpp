#include <adjoint/optim/gradient_buckets.h>

namespace adj::optim {

namespace {

constexpr int64_t kAlignment = 64;  // elements: aligns gradients for vector loads

int64_t padded(int64_t numel) { return (numel + kAlignment - 1) / kAlignment * kAlignment; }

bool go_together(const Var& a, const Var& b) { return a.dtype() == b.dtype() && a.device() == b.device(); }

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<Var>& parameters, size_t bytes, Ready ready)
    : ready_(std::move(ready)) {
  ADJ_CHECK(!parameters.empty(), "gradient buckets: there are no parameters");
  ADJ_CHECK(bytes > 0, "gradient buckets: expected a size of 1 byte or more");
  size_t held = 0;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    ADJ_CHECK(parameter->requires_grad(), "gradient buckets: a parameter {} takes no gradient",
              parameter->value().str());
    const size_t size = parameter->value().bytes();
    const bool fits = !buckets_.empty() && held + size <= bytes &&
                      go_together(*parameter, buckets_.back().members.back().parameter);
    if (!fits) {
      buckets_.emplace_back();
      held = 0;
    }
    held += size;
    buckets_.back().members.push_back({*parameter, {}, {}});
  }
  try {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      lay_out(buckets_[b]);
      for (size_t m = 0; m < buckets_[b].members.size(); ++m) {
        Member& member = buckets_[b].members[m];
        member.parameter.collect_grad_in(member.place);
        member.hook = member.parameter.on_gradient([this, b, m](const Tensor&) { arrive(b, m); });
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

GradientBuckets::~GradientBuckets() { release(); }

void GradientBuckets::release() {
  for (Bucket& bucket : buckets_)
    for (Member& member : bucket.members)
      if (member.hook) member.parameter.collect_grad_in({});
}

void GradientBuckets::lay_out(Bucket& bucket) {
  int64_t numel = 0;
  for (const Member& member : bucket.members) numel += padded(member.parameter.value().numel());
  const Var& first = bucket.members.front().parameter;
  bucket.flat = Tensor::zeros({numel}, first.dtype(), first.device());
  int64_t begin = 0;
  for (Member& member : bucket.members) {
    const Tensor& value = member.parameter.value();
    member.place = bucket.flat.rows(begin, begin + value.numel()).reshape(value.shape());
    begin += padded(value.numel());
  }
}

void GradientBuckets::begin_pass(Bucket& bucket) {
  for (Member& member : bucket.members) member.arrived = false;
  bucket.arrived = 0;
  bucket.told = false;
}

void GradientBuckets::arrive(size_t b, size_t m) {
  Bucket& bucket = buckets_[b];
  if (bucket.told) begin_pass(bucket);
  Member& member = bucket.members[m];
  ADJ_CHECK(
      !member.arrived,
      "gradient buckets: the last backward pass left out parameters of bucket {}; call finish() after it", b);
  member.arrived = true;
  if (++bucket.arrived == bucket.members.size()) tell(b);
}

void GradientBuckets::tell(size_t b) {
  buckets_[b].told = true;
  if (ready_) ready_(b, buckets_[b].flat);
}

void GradientBuckets::finish() {
  for (size_t b = 0; b < buckets_.size(); ++b) {
    Bucket& bucket = buckets_[b];
    if (!bucket.told) {
      for (Member& member : bucket.members) {
        if (member.parameter.grad()) continue;
        member.place.zero_();
        member.parameter.set_grad(member.place);
      }
      tell(b);
    }
    begin_pass(bucket);
  }
}

}  // namespace adj::optim
