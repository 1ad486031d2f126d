// Runs the lessons as `bazel run` does and holds what they print against what they teach.
#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

const char* const kLessons[] = {"1_ring",      "2_encrypt",       "3_key_switch",
                                "4_bootstrap", "5_power_softmax", "6_block"};

// What a lesson printed: lines of a name and its values (blackboard.h), by section.
class Page {
 public:
  explicit Page(const std::string& lesson) : text_(output_of("lessons/" + lesson)) {
    constexpr size_t kMargin = 3, kName = 34;
    std::string section;
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("== ")) {
        section = line.substr(3);
        std::getline(lines, line);
        CHECK_MESSAGE(line.ends_with("."), section,
                      " says what its figures show: ", line);
        continue;
      }
      if (!line.starts_with("   ") || line.size() <= kMargin + kName) continue;
      std::string name = line.substr(kMargin, kName);
      name.erase(name.find_last_not_of(' ') + 1);
      std::istringstream cells(line.substr(kMargin + kName));
      Line& entry = lines_.emplace_back(Line{section, name, {}});
      for (std::string cell; cells >> cell;) entry.cells.push_back(cell);
    }
  }

  // Of the line with this name, in the first section that begins so.
  std::vector<std::string> cells(const std::string& name,
                                 const std::string& section = "") const {
    for (const Line& line : lines_) {
      if (line.name == name && line.section.starts_with(section)) return line.cells;
    }
    FAIL("no line '", name, "' in section '", section, "' of\n", text_);
    return {};
  }
  std::string cell(const std::string& name, size_t column = 0) const {
    return cells(name).at(column);
  }
  double number(const std::string& name, size_t column = 0) const {
    return value(cell(name, column));
  }
  std::vector<int64_t> integers(const std::string& name) const {
    std::vector<int64_t> out;
    for (const std::string& text : cells(name)) out.push_back(std::stoll(text));
    return out;
  }
  // The names of a section's lines.
  std::vector<std::string> names(const std::string& section) const {
    std::vector<std::string> out;
    for (const Line& line : lines_) {
      if (line.section.starts_with(section)) out.push_back(line.name);
    }
    return out;
  }
  const std::string& text() const { return text_; }

  static double value(const std::string& text) {
    return text.starts_with("2^") ? std::exp2(std::stod(text.substr(2)))
                                  : std::stod(text);
  }

 private:
  struct Line {
    std::string section, name;
    std::vector<std::string> cells;
  };
  std::string text_;
  std::vector<Line> lines_;
};

std::complex<double> complex(const std::string& text) {  // "0.1234-0.5678i"
  size_t real_end = 0;
  const double re = std::stod(text, &real_end);
  return {re, std::stod(text.substr(real_end))};
}

void check_near(const std::string& measured, const std::string& predicted,
                double bits = 0.5) {
  CAPTURE(measured);
  CAPTURE(predicted);
  CHECK(std::abs(std::log2(Page::value(measured) / Page::value(predicted))) <= bits);
}

int64_t modulo(int64_t x, int64_t q) { return ((x % q) + q) % q; }

std::vector<int64_t> modulo(std::vector<int64_t> x, int64_t q) {
  for (int64_t& value : x) value = modulo(value, q);
  return x;
}

}  // namespace

TEST_CASE(
    "lesson 1: a product by transforms is the product modulo X^8 + 1, in residues and in whole numbers") {
  const Page page("1_ring");
  const std::vector<int64_t> a = page.integers("a"), b = page.integers("b");
  std::vector<int64_t> product(8, 0);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j)
      product[(i + j) % 8] += i + j < 8 ? a[i] * b[j] : -a[i] * b[j];
  }
  CHECK(page.integers("a b in whole numbers") == product);
  CHECK(page.integers("a b by its definition") == modulo(product, 97));
  CHECK(page.integers("a b by transforms") == modulo(product, 97));
  CHECK(page.integers("a b modulo 113") == modulo(product, 113));

  std::multiset<int64_t> values;  // of a at the roots of X^8 + 1, in any order
  for (int64_t x = 0; x < 97; ++x) {
    int64_t power = 1, y = 0;
    for (size_t i = 0; i < 8; ++i, power = power * x % 97) y += a[i] * power;
    if (power == 96) values.insert(y % 97);
  }
  const std::vector<int64_t> transform = page.integers("transform of a");
  CHECK(values.size() == 8);
  CHECK(std::multiset<int64_t>(transform.begin(), transform.end()) == values);
  CHECK(page.integers("a at the roots of X^8 + 1") == transform);

  CHECK(page.cell("the same product") == "yes");
  CHECK(page.number("seconds by definition") > page.number("seconds by transforms"));
}

TEST_CASE(
    "lesson 2: every step's error is the one predicted, and a product's scale is S^2, then S again") {
  const Page page("2_encrypt");
  const std::map<std::string, std::pair<int, double>> level_and_scale{
      {"encode x", {3, 40}},      {"encrypt x", {3, 40}},
      {"x + y", {3, 40}},         {"x y", {3, 80}},
      {"x y, rescaled", {2, 40}}, {"x y, rotated by one slot", {2, 40}}};
  for (const auto& [step, expected] : level_and_scale) {
    CAPTURE(step);
    CHECK(page.number(step, 0) == expected.first);
    CHECK(std::abs(std::log2(page.number(step, 1)) - expected.second) < 0.01);
    check_near(page.cell(step, 3), page.cell(step, 4));
  }
  CHECK(page.cell("encrypt x", 2) == page.cell("encode x", 2));
  CHECK(page.cell("x y, rescaled", 2) == page.cell("x y", 2));
  CHECK(page.cell("x y, rotated by one slot", 2) != page.cell("x y", 2));
  const double x = page.number("encrypt x", 2), y = page.number("x + y", 2) - x;
  CHECK(std::abs(x) <= 1);
  CHECK(std::abs(y) <= 1);
  CHECK(page.cell("scale after rescaling is S^2 / q") == "yes");
  CHECK(page.text().find("add: the levels differ, 3 and 2") != std::string::npos);
}

TEST_CASE(
    "lesson 3: the textbook and the fast rotation have the same bits in every band of levels") {
  const Page page("3_key_switch");
  int prime = 0;
  const std::vector<std::string> digits = page.names("The gadget");
  for (const std::string& digit : digits) {
    if (digit == "digit") continue;
    CHECK(page.number(digit, 0) == prime);
    prime = static_cast<int>(page.number(digit, 1)) + 1;
    CHECK(page.number(digit, 2) <= page.number(digit, 3) - 7.9);
  }
  CHECK(prime == 28);
  const std::vector<std::string> levels = page.names("Rotations");
  CHECK(levels.size() == 11);  // a heading and ten bands
  for (const std::string& level : levels) {
    if (level == "level") continue;
    CAPTURE(level);
    CHECK(page.cells(level).back() == "yes");
    check_near(page.cell(level, 2), page.cell(level, 3));
  }
  CHECK(page.number(levels.back(), 0) == static_cast<double>(digits.size() - 1));
}

TEST_CASE(
    "lesson 4: the message goes to coefficients, gains multiples of q_0, comes back and loses them") {
  const Page page("4_bootstrap");
  const auto slot = [&](const std::string& stage, size_t j) {
    return complex(page.cells("of slots 0 to 3", stage).at(j));
  };
  const std::map<std::string, std::string> levels{{"The message", "2"},
                                                  {"SlotsToCoeffs", "0"},
                                                  {"ModRaise", "27"},
                                                  {"CoeffsToSlots", "23"},
                                                  {"EvalMod", "15"}};
  for (const auto& [stage, level] : levels)
    CHECK(page.cells("level, scale", stage).at(0) == level);
  for (size_t j = 0; j < 4; ++j) {
    const std::complex<double> z = slot("The message", j), multiple = slot("ModRaise", j);
    CHECK(std::abs(slot("SlotsToCoeffs", j) - z) < 2e-4);
    CHECK(std::abs(slot("CoeffsToSlots", j) - (multiple + z / 2048.0)) <
          2e-4);  // q_0 = 2^11 S_m
    CHECK(std::abs(slot("EvalMod", j) - z) < 2e-4);
    CHECK(multiple ==
          std::complex(std::round(multiple.real()), std::round(multiple.imag())));
  }
  CHECK(page.number("largest |I|, and its bound K", 0) >= 1);
  CHECK(page.number("largest |I|, and its bound K", 0) <=
        page.number("largest |I|, and its bound K", 1));
  CHECK(page.cell("as Bootstrapper has them") == "yes");
  check_near(page.cell("error of re and im, predicted", 0),
             page.cell("error of re and im, predicted", 1));
}

TEST_CASE(
    "lesson 5: the five forms of a row of PowerSoftmax agree, each within what was promised") {
  const Page page("5_power_softmax");
  const std::vector<double> scores{1.6, -0.4, 0.9, 0.1, -1.9, 0.3, 1.2, -0.7};
  double fourth = 0, exponentials = 0;
  for (double x : scores) fourth += std::pow(x, 4), exponentials += std::exp(x);
  const double bound = page.number("polynomial / float - 1, bound", 1);
  for (double x : scores) {
    char name[16];
    std::snprintf(name, sizeof name, "%.1f", x);
    const double weight = std::pow(x, 4) / 8 / (0.05 + fourth / 8);
    CHECK(std::abs(page.number(name, 0) - std::exp(x) / exponentials) < 2e-5);
    CHECK(std::abs(page.number(name, 1) - weight) < 2e-5);
    CHECK(std::abs(page.number(name, 2) - weight) < bound * weight + 2e-5);
    CHECK(page.cell(name, 3) == page.cell(name, 2));
    CHECK(std::abs(page.number(name, 4) - page.number(name, 3)) < 2e-5);
  }
  CHECK(page.number("polynomial / float - 1, bound", 0) <= bound);
  CHECK(page.number("twin - polynomial") < 1e-12);
  check_near(page.cell("ciphertext - twin, predicted", 0),
             page.cell("ciphertext - twin, predicted", 1), 1);
  CHECK(page.cell("products, relinearisations", 0) ==
        page.cell("products, relinearisations", 1));
  CHECK(page.number("rotations, bootstraps", 1) == 0);
  const std::vector<std::string> keys =
      page.cells("keys predicted, made");  // "2.5 MB 2.5 MB"
  CHECK(keys.at(0) + keys.at(1) == keys.at(2) + keys.at(3));
}

TEST_CASE(
    "lesson 6: on ciphertexts the blocks give the answers that they give in the clear") {
  const Page page("6_block");
  const std::string right = "right answers", apart = "logits, to the column before";
  CHECK(page.number(right, 0) == 24);
  for (size_t form = 1; form <= 4; ++form) CHECK(page.number(right, form) >= 23);
  CHECK(page.cell(right, 4) == page.cell(right, 3));
  CHECK(page.number(apart, 0) < 0x1p-8);   // polynomials
  CHECK(page.number(apart, 1) < 0x1p-30);  // the same in slots: rounding of doubles
  CHECK(page.number(apart, 2) < 0x1p-15);  // encrypted
  CHECK(page.number(apart, 2) > 0x1p-30);  // and not the twin once more
  CHECK(page.text().find("layer 1 / output") != std::string::npos);
}

TEST_CASE("a lesson fits on a screen, and says that its ring is for reading along") {
  for (const std::string lesson : kLessons) {
    CAPTURE(lesson);
    std::ifstream source("cmd/lessons/" + lesson + ".cc");
    REQUIRE(source.good());
    size_t lines = 0, longest = 0;
    for (std::string line; std::getline(source, line); ++lines)
      longest = std::max(longest, line.size());
    CHECK(lines <= 80);
    CHECK(longest <= 90);
    std::ifstream again("cmd/lessons/" + lesson + ".cc");
    std::stringstream code;
    code << again.rdbuf();
    CHECK((code.str().find("say_insecure(") != std::string::npos ||
           code.str().find("INSECURE") != std::string::npos));
  }
}

}  // namespace psm::cmd
