// What was measured, in files, and the documents that state it.
//
// testdata/results/NAME.json, where null means "not recorded":
//
//     command   what a reader types in a shell at the repository's root; its figures are left in the folder $OUT
//     commit    the version that was measured; for figures entered by hand, the first version that states them
//     machine, seeds, seconds
//     figures   {NAME: {"value", "unit", "tolerance", "at"}}. A rerun may differ by tolerance * |value|. `at` is the
//               place of the value in $OUT (value_at); null: no rerun can read it
//     texts     {NAME: [line ..]}, Markdown. {FIGURE} or {RESULT.FIGURE} stands for a value, {command} for that
//               field and {run} for what is recorded of machine, version and seeds. After a colon follow the
//               digits after the point, a + before them for a sign, an e after them for an exponent: {loss:3},
//               {gain:+2}, {error:1e}
//
// A document holds the text of a result between two lines, <!-- result NAME.TEXT --> and <!-- end result -->.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"

namespace psm::cmd {

// The documents that state figures, below the repository's root.
inline constexpr const char* kDocuments[] = {"README.md", "GUIDE.md", "RESULTS.md", "attention/PAPER.md"};
inline constexpr const char* kResultsFolder = "testdata/results";

struct Figure {
  std::string name, unit, at;
  double value = 0, tolerance = 0;
};

struct Result {
  std::string name, command, commit, machine;  // empty: not recorded
  std::vector<Figure> figures;
  Json json;  // the file
};

// The file of a result: what fits into a line stands in one.
std::string file_of(const Json& result);

// All results of a folder, by name. Throws Error that names the file and what is wrong in it.
std::vector<Result> read_results(const std::string& folder);

// Fills every block of a document. Throws Error for an unknown result, text or figure.
std::string with_results(const std::string& document, const std::vector<Result>& results);

// The figures of a document that no result states, each with its line: "12: 53.8 s". A figure is a number with a unit
// of a result, a number with a point or an exponent, or all of a cell of a table outside a block. It must be a
// result's value at the digits printed and, if it has a unit, in that unit. `Code` and powers of ten are no figures.
std::vector<std::string> unsupported_figures(const std::string& document, const std::vector<Result>& results);

// Finds a number in a folder: FILE.json/KEY/KEY .. A key of an array is an index, or a text that its element holds as a
// member or cell. A text gives its first number, or with KEY#2 its second. "PLACE * 100" multiplies it,
// "PLACE / PLACE" is a quotient, "PLACE in bits" is -log2.
double value_at(const std::string& folder, const std::string& at);

// Runs the result's command anew. Returns the figures' new values in their order; null where `at` is.
std::vector<std::optional<double>> measure_again(const Result& result);

// Whether a result's machine has this processor. What follows its name and a comma is for people: "AMD EPYC, Zen 4".
bool is_same_machine(const std::string& machine, const std::string& processor);

// Whether a new value is within the tolerance. Times of two machines are not compared.
bool is_confirmed(const Figure& figure, double value, bool same_machine);

}  // namespace psm::cmd
