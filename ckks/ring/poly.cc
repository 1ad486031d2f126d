#include "ckks/ring/poly.h"

#include <algorithm>

#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

size_t words(const Ring& ring, Basis basis) { return ring.n() * static_cast<size_t>(basis.limbs()); }

}  // namespace

RnsPoly::RnsPoly(const Ring& ring, Basis basis, Form form, Memory* memory)
    : ring_(&ring), basis_(basis), form_(form), data_(words(ring, basis), memory) {
  PSM_CHECK(basis.q >= 0 && basis.q <= ring.q_count() && basis.p >= 0 && basis.p <= ring.p_count(), "basis ",
            basis.q, "+", basis.p);
}

RnsPoly RnsPoly::zero(const Ring& ring, Basis basis, Form form) {
  RnsPoly result(ring, basis, form);
  std::fill(result.data_.begin(), result.data_.end(), 0);
  return result;
}

RnsPoly RnsPoly::secret(const Ring& ring, Basis basis, Form form) {
  RnsPoly result;
  result.ring_ = &ring;
  result.basis_ = basis;
  result.form_ = form;
  result.data_ = Buffer::zeroising(words(ring, basis));
  return result;
}

RnsPoly RnsPoly::clone_prefix(Basis basis) const {
  PSM_CHECK(basis.q <= basis_.q && basis.p <= basis_.p, "basis ", basis.q, "+", basis.p);
  RnsPoly result =
      data_.is_zeroising() ? secret(*ring_, basis, form_) : RnsPoly(*ring_, basis, form_, memory());
  result.copy_limbs(*this);
  return result;
}

RnsPoly RnsPoly::in(Memory* memory) const {
  PSM_CHECK(!data_.is_zeroising(), "a secret stays in memory that is wiped");
  RnsPoly result(*ring_, basis_, form_, memory);
  result.copy_limbs(*this);
  return result;
}

void RnsPoly::copy_limbs(const RnsPoly& from) {
  const auto place = [&](const RnsPoly& poly, int j) {
    return static_cast<size_t>(j < basis_.q ? j : poly.basis_.q + j - basis_.q) * n();
  };
  if (memory() == nullptr && from.memory() == nullptr) {
    parallel_for(0, limbs(),
                 [&](int j) { copy_words(data_, place(*this, j), from.data_, place(from, j), n()); });
    return;
  }
  const size_t ordinary = n() * static_cast<size_t>(basis_.q), special = n() * static_cast<size_t>(basis_.p);
  if (ordinary > 0) copy_words(data_, 0, from.data_, 0, ordinary);
  if (special > 0) copy_words(data_, ordinary, from.data_, place(from, basis_.q), special);
}

void to_ntt(RnsPoly& a) {
  PSM_CHECK(a.form() == Form::kCoefficient);
  parallel_for(0, a.limbs(),
               [&](int j) { kernels().ntt_forward(a.limb(j), a.limb(j), a.ring().ntt(a.prime_index(j))); });
  a.set_form(Form::kNtt);
}

void to_coefficients(RnsPoly& a) {
  PSM_CHECK(a.form() == Form::kNtt);
  parallel_for(0, a.limbs(),
               [&](int j) { kernels().ntt_inverse(a.limb(j), a.limb(j), a.ring().ntt(a.prime_index(j))); });
  a.set_form(Form::kCoefficient);
}

bool same_bits(const RnsPoly& a, const RnsPoly& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  if (!(a.basis() == b.basis()) || a.form() != b.form()) return false;
  const RnsPoly x = a.in(nullptr), y = b.in(nullptr);
  return std::equal(x.limb(0), x.limb(0) + x.bytes() / sizeof(uint64_t), y.limb(0));
}

std::array<RnsPoly, 2> divide_by_last(const std::array<RnsPoly, 2>& x) {
  PSM_CHECK(x[0].form() == Form::kNtt && x[1].form() == Form::kNtt && x[0].basis() == x[1].basis() &&
            x[0].basis().p == 0 && x[0].basis().q >= 2);
  const Ring& ring = x[0].ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int last = x[0].basis().q - 1;
  const Modulus& q = ring.q(last);
  Buffer remainders(2 * n);
  parallel_for(0, 2, [&](int i) {
    k.ntt_inverse(remainders.data() + static_cast<size_t>(i) * n, x[i].limb(last), ring.ntt(last));
  });
  std::array<RnsPoly, 2> out;
  for (RnsPoly& poly : out) poly = RnsPoly(ring, {last, 0}, Form::kNtt);
  parallel_for(0, 2 * last, [&](int index) {
    const int j = index / 2, i = index % 2;
    const Modulus& m = ring.q(j);
    const Multiplier inverse = make_multiplier(inverse_mod(reduce_mod(q.value, m), m), m);
    uint64_t* const limb = out[i].limb(j);
    k.reduce_centered(limb, remainders.data() + static_cast<size_t>(i) * n, n, q, m);
    k.ntt_forward(limb, limb, ring.ntt(j));
    k.subtract_scale(limb, x[i].limb(j), limb, inverse, n, m);
  });
  return out;
}

}  // namespace psm::ckks
