#include "cmd/reports/parameter_report.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/bootstrap/dft_factors.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

using program::ParameterProposal;
using program::ParameterSearch;

constexpr size_t kLineWidth = 110;

std::string secret_text(int weight) {
  return weight == 0 ? "dense ternary secret" : message("ternary secret of weight ", weight);
}

std::string times(int count, int bits) { return message(count, " x ", bits); }

std::string joined(const std::vector<int>& values, const char* between) {
  std::string out;
  for (const int value : values) out += (out.empty() ? "" : between) + std::to_string(value);
  return out;
}

struct Factors {
  std::vector<int> slots_to_coeffs, coeffs_to_slots;  // butterflies in each, in the order of application
};

Factors factors_of(const ckks::ParameterSpec& spec) {
  return {ckks::slots_to_coeffs_butterflies(spec.log_n - 1, spec.stc_levels),
          ckks::split_butterflies(spec.log_n - 1, spec.cts_levels, true)};
}

std::vector<uint64_t> primes_of(const ckks::Context& context, bool special) {
  std::vector<uint64_t> primes;
  const int count = special ? context.ring().p_count() : context.ring().q_count();
  for (int i = 0; i < count; ++i) primes.push_back(special ? context.p(i) : context.q(i));
  return primes;
}

// Words after a heading, broken at the line's width.
std::string wrapped(const std::string& heading, const std::vector<std::string>& words) {
  std::string out, line = heading;
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > kLineWidth) {
      out += line + "\n";
      line = std::string(heading.size(), ' ');
    }
    line += " " + word;
  }
  return out + line + "\n";
}

std::vector<int> digits_of(const ckks::Gadget& gadget) {
  std::vector<int> sizes;
  for (const ckks::DigitRange& digit : gadget.digits) sizes.push_back(digit.end - digit.begin);
  return sizes;
}

std::string details(const ParameterProposal& p) {
  const ckks::Context context(p.spec);
  const Factors factors = factors_of(p.spec);
  std::string out = message("  1: ", p.spec.name, "\n");
  for (const bool special : {false, true}) {
    std::vector<std::string> words;
    for (const uint64_t prime : primes_of(context, special)) words.push_back(std::to_string(prime));
    out += wrapped(special ? "     p_0 ..  " : "     q_0 ..  ", words);
  }
  int bottom = 0;
  for (const ckks::Gadget& gadget : context.chain().bands) {
    out += message("     levels ", bottom, " to ", gadget.top, ": ", gadget.p_count,
                   " special primes, digits of ", joined(digits_of(gadget), " + "), "\n");
    bottom = gadget.top + 1;
  }
  out += message("     butterflies: SlotsToCoeffs ", joined(factors.slots_to_coeffs, " + "),
                 ", CoeffsToSlots ", joined(factors.coeffs_to_slots, " + "), "\n     ", p.rare.text(), "\n");
  return out;
}

Json json_of(const ParameterProposal& p, double bound) {
  const ckks::Context context(p.spec);
  const ckks::ParameterSpec& s = p.spec;
  Json json;
  json["name"] = s.name;
  json["usable_levels"] = s.compute_levels;
  const std::pair<const char*, int> numbers[] = {
      {"log_n", s.log_n},
      {"q0_bits", s.q0_bits},
      {"stc_levels", s.stc_levels},
      {"stc_bits", s.stc_bits},
      {"compute_levels", s.compute_levels},
      {"compute_bits", s.compute_bits},
      {"evalmod_levels", s.evalmod_levels},
      {"evalmod_bits", s.evalmod_bits},
      {"cts_levels", s.cts_levels},
      {"cts_bits", s.cts_bits},
      {"p_count", s.p_count},
      {"p_bits", s.p_bits},
      {"log_scale", s.log_scale},
      {"secret_hamming_weight", s.secret_hamming_weight},
      {"encapsulation_hamming_weight", s.encapsulation_hamming_weight}};
  for (const auto& [key, value] : numbers) json[key] = value;
  const Factors factors = factors_of(s);
  const auto array = [](const auto& values) {
    Json list = Json(Json::Array{});
    for (const auto& value : values) list.push_back(value);
    return list;
  };
  json["q"] = array(primes_of(context, false));
  json["p"] = array(primes_of(context, true));
  Json& bands = json["bands"] = Json(Json::Array{});
  for (const ckks::Gadget& gadget : context.chain().bands) {
    Json band;
    band["top_level"] = int{gadget.top};
    band["special_primes"] = gadget.p_count;
    band["digits"] = array(digits_of(gadget));
    bands.push_back(std::move(band));
  }
  json["stc_butterflies"] = array(factors.slots_to_coeffs);
  json["cts_butterflies"] = array(factors.coeffs_to_slots);
  json["log_qp"] = p.log2_qp;
  json["log_qp_bound"] = bound;
  json["precision_mean_bits"] = p.error.mean_bits;
  json["precision_min_bits"] = p.error.worst_bits;
  json["polynomial_rms"] = p.error.polynomial;
  json["rounding_rms"] = p.error.rounding;
  Json& rare = json["rare_multiple"];
  rare["exact_up_to"] = p.rare.exact_up_to;
  if (std::isfinite(p.rare.log2_probability)) rare["log2_probability"] = p.rare.log2_probability;
  rare["bits"] = p.rare.bits;
  json["seconds"] = p.seconds;
  json["seconds_a_level"] = p.seconds_a_level();
  json["key_bytes"] = p.key_bytes;
  json["transform_bytes"] = p.diagonal_bytes;
  json["why"] = array(p.why);
  return json;
}

}  // namespace

std::vector<int> secrets_named(const std::string& word) {
  if (word == "sparse") return {192};
  if (word == "dense") return {0};
  if (word == "both") return {192, 0};
  throw Error(message("--secret ", word, " is not offered; there are: sparse, dense, both"));
}

std::string parameter_report(const ParameterSearch& search) {
  std::string out =
      message(secret_text(search.secret_hamming_weight), ": log2(QP) at most ", search.bound, " (",
              search.source, ")\n  ", search.considered, " combinations of primes, ", search.beyond_bound,
              " beyond the bound, ", search.too_noisy, " of those tried too imprecise\n");
  Table table({"", "levels", "q_0", "StC", "computing", "EvalMod", "CtS", "P", "digits", "log2(QP)", "mean",
               "worst", "seconds", "a level", "keys", "transforms"});
  for (size_t i = 0; i < search.proposals.size(); ++i) {
    const ParameterProposal& p = search.proposals[i];
    const ckks::ParameterSpec& s = p.spec;
    table.row({std::to_string(i + 1), std::to_string(s.compute_levels), std::to_string(s.q0_bits),
               times(s.stc_levels, s.stc_bits), times(s.compute_levels, s.compute_bits),
               times(s.evalmod_levels, s.evalmod_bits), times(s.cts_levels, s.cts_bits),
               times(s.p_count, s.p_bits), std::to_string(p.digits), format("%.1f", p.log2_qp),
               format("%.1f", p.error.mean_bits), format("%.1f", p.error.worst_bits), seconds_text(p.seconds),
               seconds_text(p.seconds_a_level()), bytes_text(p.key_bytes), bytes_text(p.diagonal_bytes)});
  }
  out += table.text();
  for (size_t i = 0; i < search.proposals.size(); ++i) {
    const ParameterProposal& p = search.proposals[i];
    out += i == 0 ? details(p) : message("  ", i + 1, ": ", p.spec.name, "\n");
    for (const std::string& reason : p.why) out += "     " + reason + "\n";
  }
  return out;
}

Json parameter_json(const program::ParameterWish& wish, const std::vector<ParameterSearch>& searches) {
  Json json;
  json["levels"] = wish.levels;
  json["log_scale"] = wish.log_scale;
  json["precision_bits"] = wish.precision_bits;
  json["worst_bits"] = wish.worst_bits;
  json["security_bits"] = wish.security_bits;
  Json& secrets = json["secrets"] = Json(Json::Array{});
  for (const ParameterSearch& search : searches) {
    Json found;
    found["secret_hamming_weight"] = search.secret_hamming_weight;
    found["log_qp_bound"] = search.bound;
    found["source"] = search.source;
    found["considered"] = static_cast<int64_t>(search.considered);
    found["beyond_bound"] = static_cast<int64_t>(search.beyond_bound);
    found["beyond_sine"] = static_cast<int64_t>(search.beyond_sine);
    found["too_noisy"] = static_cast<int64_t>(search.too_noisy);
    Json& proposals = found["proposals"] = Json(Json::Array{});
    for (const ParameterProposal& p : search.proposals) proposals.push_back(json_of(p, search.bound));
    secrets.push_back(std::move(found));
  }
  return json;
}

}  // namespace psm::cmd
