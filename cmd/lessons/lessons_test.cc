// Runs the lessons as `bazel run` does and holds what they print against what they teach.
#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "cmd/testing/test_commands.h"

namespace psm::cmd {
namespace {

const std::string kLessons[] = {"1_ring",   "2_embedding", "3_encrypt", "4_key_switch",
                                "5_matrix", "6_bootstrap", "7_ranges",  "8_program"};

// Lesson 8 leaves a file where temporary ones are.
[[maybe_unused]] const int kFolder = setenv("TMPDIR", std::getenv("TEST_TMPDIR"), 1);

// What a lesson printed: lines of a name and its values (blackboard.h), by section.
class Page {
 public:
  explicit Page(const std::string& lesson)
      : Page(lesson, output_of("lessons/" + lesson)) {}
  Page(const std::string& lesson, const std::string& text) : text_(text) {
    CAPTURE(lesson);
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

  // Returns the cells of the line with this name, in the first section that begins so.
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
  bool has(const std::string& text) const { return contains(text_, text); }
  static double value(const std::string& text) {
    return text.starts_with("2^") ? std::exp2(std::stod(text.substr(2)))
                                  : std::stod(text);
  }
  struct Line {
    std::string section, name;
    std::vector<std::string> cells;
  };
  const std::vector<Line>& lines() const { return lines_; }
  // Whether it has this line.
  bool agrees(const Line& expected) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
      return line.name == expected.name &&
             std::equal(line.cells.begin(), line.cells.end(), expected.cells.begin(),
                        expected.cells.end(), same_figure);
    });
  }
  // "*" is what differs each time, as seconds do; errors differ by less than half a bit.
  static bool same_figure(const std::string& printed, const std::string& expected) {
    if (!printed.starts_with("2^") || !expected.starts_with("2^"))
      return expected == "*" || printed == expected;
    return std::abs(std::log2(value(printed) / value(expected))) <= 0.5;
  }

 private:
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

// What a lesson teaches, held against a page of it.
template <typename Check>
void check_lesson(const std::string& lesson, Check&& check) {
  CAPTURE(lesson);
  check(Page(lesson + "_solution"));
  // The reader's function: not written yet, and then it says so, or as right as ours.
  const Page mine(lesson);
  if (mine.has("TO DO: write "))
    CHECK(mine.has(" in cmd/lessons/exercises/" + lesson + ".h"));
  else
    check(mine);
}

}  // namespace
TEST_CASE(
    "lesson 1: a product by transforms is the product modulo X^8 + 1, in residues and in whole numbers") {
  check_lesson("1_ring", [](const Page& page) {
    const std::vector<int64_t> a = page.integers("a"), b = page.integers("b");
    std::vector<int64_t> product(8, 0);
    for (size_t i = 0; i < 8; ++i) {
      for (size_t j = 0; j < 8; ++j)
        product[(i + j) % 8] += i + j < 8 ? a[i] * b[j] : -a[i] * b[j];
    }
    CHECK(page.integers("a b in whole numbers") == product);
    CHECK(page.integers("a b by its definition") == modulo(product, 97));
    CHECK(page.integers("a b by your transform") == modulo(product, 97));
    CHECK(page.integers("a b modulo 113") == modulo(product, 113));

    std::multiset<int64_t> values;  // of a at the roots of X^8 + 1, in any order
    for (int64_t x = 0; x < 97; ++x) {
      int64_t power = 1, y = 0;
      for (size_t i = 0; i < 8; ++i, power = power * x % 97) y += a[i] * power;
      if (power == 96) values.insert(y % 97);
    }
    const std::vector<int64_t> transform = page.integers("your transform of a");
    CHECK(values.size() == 8);
    CHECK(std::multiset<int64_t>(transform.begin(), transform.end()) == values);
    CHECK(page.integers("a at the roots of X^8 + 1") == transform);

    CHECK(page.cell("the same product") == "yes");
    CHECK(page.cell("yours is the same product") == "yes");
    const double definition = page.number("seconds by definition");
    CHECK(definition > page.number("seconds by the library's transform"));
    CHECK(definition > page.number("seconds by your transform"));
  });
}

TEST_CASE(
    "lesson 2: values at the roots are conjugate in pairs, and the ring's operations are those of slots") {
  check_lesson("2_embedding", [](const Page& page) {
    const auto at = [&](int exponent) {
      return complex(page.cell("a(zeta^" + std::to_string(exponent) + ")"));
    };
    const std::vector<double> a{1, 2, 0, 3, 0, 0, 4, 0};
    for (int exponent = 1; exponent < 16; exponent += 2) {
      std::complex<double> value = 0;
      for (size_t k = 0; k < 8; ++k)
        value += a[k] * std::polar(1.0, M_PI * static_cast<double>(k) * exponent / 8);
      CHECK(std::abs(at(exponent) - value) < 1e-3);
      CHECK(at(16 - exponent) == std::conj(at(exponent)));
    }
    const std::vector<std::string> slots =
        page.cells("slots of a: exponents 1, 5, 9, 13");
    REQUIRE(slots.size() == 4);
    for (int j = 0, exponent = 1; j < 4; ++j, exponent = exponent * 5 % 16)
      CHECK(complex(slots[j]) == at(exponent));
    CHECK(page.cells("your coefficients").size() == 8);
    CHECK(page.cells("your coefficients") == page.cells("coefficients by the library"));
    for (const char* fact :
         {"their slots are z", "a b: slot times slot", "X -> X^5: rotated by one slot",
          "X -> X^15: conjugated", "times X^4: times i"})
      CHECK_MESSAGE(page.cell(fact) == "yes", fact);
    check_near(page.cell("error, predicted", 0), page.cell("error, predicted", 1), 0.2);
  });
}

TEST_CASE(
    "lesson 3: a ciphertext hides a message, a relinearised product is a product, digits shown give the secret") {
  check_lesson("3_encrypt", [](const Page& page) {
    CHECK(page.number("error of x") < 0x1p-12);
    CHECK(page.number("error of x, read without s") > 1);
    CHECK(page.number("error of d_0 + d_1 s + d_2 s^2") < 0x1p-12);
    check_near(page.cell("error of c_0 + c_1 s"),
               page.cell("error of d_0 + d_1 s + d_2 s^2"), 0.2);
    CHECK(page.number("shown: all digits") == 64);
    CHECK(page.number("with noise ten times the error") == 0);
    CHECK(page.number("the mean of 100,000 such") == 64);
    CHECK(page.number("the answer: is slot 0 positive?") == 0);
    const std::map<std::string, std::pair<int, double>> level_and_scale{
        {"encrypt x", {3, 40}}, {"x x", {3, 80}}, {"x x, rescaled", {2, 40}}};
    for (const auto& [step, expected] : level_and_scale) {
      CAPTURE(step);
      CHECK(page.number(step, 0) == expected.first);
      CHECK(std::log2(page.number(step, 1)) == expected.second);
      CHECK(page.number(step, 2) < 0x1p-24);
    }
  });
}

TEST_CASE(
    "lesson 4: a rotation needs a key switch, and the textbook's has the bits of the fast one") {
  check_lesson("4_key_switch", [](const Page& page) {
    CHECK(page.number("the Galois element of one slot") == 5);
    CHECK(page.number("error without a key switch") > 1);
    CHECK(page.number("error with it") < 0x1p-30);
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
    CHECK(levels.size() == 12);  // a heading and eleven bands
    for (const std::string& level : levels) {
      if (level == "level") continue;
      CAPTURE(level);
      CHECK(page.cell("the same bits, level " + level) == "yes");
      check_near(page.cell(level, 2), page.cell(level, 3));
    }
    CHECK(page.number(levels.back(), 0) == static_cast<double>(digits.size() - 1));
  });
}

TEST_CASE(
    "lesson 5: baby and giant steps give the product with n / B + B - 2 rotations") {
  check_lesson("5_matrix", [](const Page& page) {
    CHECK(page.number("by diagonals", 0) == 63);
    CHECK(page.number("by diagonals", 2) < 0x1p-28);
    for (int babies = 1; babies <= 64; babies *= 2) {
      const std::string name = "yours, baby steps: " + std::to_string(babies);
      CHECK(page.number(name, 0) == 64 / babies + babies - 2);
      check_near(page.cell(name, 2), page.cell("by diagonals", 2));
    }
    CHECK(page.number("rotations: babies, giants", 0) == 7);
    CHECK(page.number("rotations: babies, giants", 1) == 7);
    check_near(page.cell("seconds, error", 1), page.cell("by diagonals", 2));
  });
}

TEST_CASE(
    "lesson 6: the message goes to coefficients, gains multiples of q_0, comes back and loses them") {
  check_lesson("6_bootstrap", [](const Page& page) {
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
      const std::complex<double> z = slot("The message", j),
                                 multiple = slot("ModRaise", j);
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
  });
}

TEST_CASE(
    "lesson 7: the iteration is the library's, and range minimisation costs no accuracy and saves levels") {
  check_lesson("7_ranges", [](const Page& page) {
    for (int n = 4; n <= 9; ++n) {
      CAPTURE(n);
      const std::string name = std::to_string(n);
      const double exact = std::pow(63.0 / 64, std::exp2(n));  // 1 - b_n at x = 1/64
      CHECK(std::abs(std::log2(page.number(name, 0) / exact)) <= 0.06);
      CHECK(page.cell(name, 0) == page.cell(name, 1));
      CHECK(page.number(name, 2) < page.number(name, 0));
    }
    for (const char* training : {"to be right", "to be narrow"})
      for (size_t form : {2, 3}) CHECK(page.number(training, form) >= 0.98);
    for (const std::string layer : {"layer 0: ", "layer 1: "}) {
      const std::string denominator = layer + "denominator, hi / lo";
      CHECK(page.number(denominator, 0) > 100 * page.number(denominator, 1));
      CHECK(page.number(denominator, 2) >= page.number(denominator, 3) + 3);
      const std::string variance = layer + "variance, hi / lo";
      CHECK(page.number(variance, 0) > page.number(variance, 1));
      CHECK(page.number(variance, 2) > page.number(variance, 3));
      // The least n with (1 - lo / hi)^(2^n) <= 2^-8, up to the rounding of the ratio.
      const std::string yours = layer + "your iterations";
      for (size_t column : {0, 1}) {
        const double ratio = page.number(denominator, column);
        const auto error = [&](double n) {
          return std::pow(1 - 1 / ratio, std::exp2(n));
        };
        CHECK(error(page.number(yours, column)) <= 0x1p-8 * 1.1);
        CHECK(error(page.number(yours, column) - 1) >= 0x1p-8 / 1.1);
      }
    }
  });
}

TEST_CASE(
    "lesson 8: a program's file gives the model's answers on ciphertexts, and a tampered one is refused") {
  check_lesson("8_program", [](const Page& page) {
    CHECK(page.has("layer 1 / query, key, value, up"));
    CHECK(page.number("instructions, bootstraps", 0) > 100);
    CHECK(page.number("instructions, bootstraps", 1) >= 1);
    const std::string place = page.cell("tampered instruction");
    CHECK(page.has("verify: entry point pass: instruction " + place + ","));
    CHECK(page.cell("yours: honest, tampered", 0) == "-1");
    CHECK(page.cell("yours: honest, tampered", 1) == place);
    const std::string right = "right answers", apart = "logits: ciphertext to twin";
    CHECK(page.number(right, 0) == 24);
    for (size_t form = 1; form <= 3; ++form) CHECK(page.number(right, form) >= 23);
    CHECK(page.cell(right, 3) == page.cell(right, 2));
    CHECK(page.number(apart) < 0x1p-15);  // encrypted
    CHECK(page.number(apart) > 0x1p-30);  // and not the twin once more
  });
}

TEST_CASE("the course page shows, for every lesson, lines that its solution prints") {
  std::ifstream course("cmd/lessons/README.md");
  REQUIRE(course.good());
  std::map<std::string, std::string> expected;  // output by lesson
  std::string lesson;
  bool output = false;
  for (std::string line; std::getline(course, line);) {
    if (line.starts_with("## ")) lesson.clear();
    for (const std::string& each : kLessons)
      if (line.find("`bazel run //cmd/lessons:" + each + "`") != std::string::npos)
        lesson = each;
    if (line.starts_with("```")) output = !output;
    if (output && !lesson.empty()) expected[lesson] += line + "\n";
  }
  for (const std::string& each : kLessons) {
    CAPTURE(each);
    const Page printed(each + "_solution"), shown(each, expected[each]);
    CHECK(shown.lines().size() >= 2);
    for (const Page::Line& line : shown.lines())
      CHECK_MESSAGE(printed.agrees(line), line.name);
  }
}

TEST_CASE("a lesson has at most 100 lines, and says that its ring is for reading along") {
  for (const std::string& lesson : kLessons) {
    CAPTURE(lesson);
    std::ifstream source("cmd/lessons/" + lesson + ".cc");
    REQUIRE(source.good());
    size_t lines = 0, longest = 0;
    bool insecure = false;
    for (std::string line; std::getline(source, line); ++lines) {
      longest = std::max(longest, line.size());
      insecure = insecure || line.find("say_insecure(") != std::string::npos ||
                 line.find("INSECURE") != std::string::npos;
    }
    CHECK(lines <= 100);
    CHECK(longest <= 90);
    CHECK(insecure);
  }
}

}  // namespace psm::cmd
