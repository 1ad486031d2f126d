// Eight doubles as one value, for the steps of a polynomial (steps.h) on many numbers. Eight independent
// chains hide the latency of an addition. Each lane has the operations of one double, and so its bits.
#pragma once

#include <cstddef>
#include <cstring>

namespace psm::approx {

struct Lanes {
  static constexpr size_t kCount = 8;
  typedef double Pair __attribute__((vector_size(16)));
  Pair pairs[kCount / 2];

  static Lanes load(const double* values) {
    Lanes lanes;
    std::memcpy(lanes.pairs, values, sizeof lanes.pairs);
    return lanes;
  }
  void store(double* values) const { std::memcpy(values, pairs, sizeof pairs); }

  friend Lanes operator+(Lanes a, const Lanes& b) {
    for (size_t i = 0; i < kCount / 2; ++i) a.pairs[i] += b.pairs[i];
    return a;
  }
  friend Lanes operator-(Lanes a, const Lanes& b) {
    for (size_t i = 0; i < kCount / 2; ++i) a.pairs[i] -= b.pairs[i];
    return a;
  }
  friend Lanes operator*(Lanes a, const Lanes& b) {
    for (size_t i = 0; i < kCount / 2; ++i) a.pairs[i] *= b.pairs[i];
    return a;
  }
  friend Lanes operator-(Lanes a) {
    for (Pair& pair : a.pairs) pair = -pair;
    return a;
  }
  friend Lanes operator+(Lanes a, double c) {
    for (Pair& pair : a.pairs) pair += c;
    return a;
  }
  friend Lanes operator+(double c, const Lanes& a) { return a + c; }
  friend Lanes operator*(Lanes a, double c) {
    for (Pair& pair : a.pairs) pair *= c;
    return a;
  }
  friend Lanes operator*(double c, const Lanes& a) { return a * c; }
};

}  // namespace psm::approx
