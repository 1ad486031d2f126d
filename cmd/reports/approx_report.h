// The work of //cmd:approx: picks approximations for a request, and reports them as text, plot and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// The functions that //cmd:approx knows, with the form of each one's interval.
std::string approx_functions();
enum class DomainShape { kEnds, kRadius };
// Throws psm::Error on an unknown function.
DomainShape domain_shape(const std::string& function);

// Approximations with this error at most, the best first: for 1/sqrt(x) every family's cheapest member, otherwise one.
// The error is relative for inverse, inverse_sqrt and exp, absolute for the others. `paper`: by the paper's plain
// iteration. Throws psm::Error if the paper has none for the function, or if the error cannot be reached.
std::vector<approx::Approximation> find_approximations(const std::string& function, approx::Interval domain,
                                                       double error, bool paper = false);

// Measurements of a run of the program.
struct ApproxMeasurement {
  double worst_error = 0;  // over `points` points: half of them evenly spaced, half drawn with the seed
  double worst_at = 0;
  int points = 0;
  double program_difference = 0;            // |twin - evaluate|, normalised
  double largest_output = 0;                // |out|, normalised
  std::vector<std::vector<double>> series;  // Chebyshev coefficients of the program's Series instructions
};
ApproxMeasurement measure(const approx::Approximation& approximation, int points, uint64_t seed);

// The methods that reach the error, compared.
Figures family_figures(const std::vector<approx::Approximation>& approximations);
// The certificate of the first one with its measurement; the others are for machines.
Figures approx_figures(const std::vector<approx::Approximation>& approximations,
                       const ApproxMeasurement& measurement);
// Panels: the function with the polynomial, and the error with its bound.
std::string plot_svg(const approx::Approximation& approximation);

}  // namespace psm::cmd
