// The size of one value of a program in the clear.
#pragma once

namespace psm::program {

struct Observation {
  double max_abs = 0;
  double min_re = 0, max_re = 0;
  double min_im = 0, max_im = 0;
  double rms = 0;  // sqrt(mean |x|^2) over the slots
};

}  // namespace psm::program
