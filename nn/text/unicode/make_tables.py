"""Prints unicode_tables.inc. Needs `pip install unicodedata2==16.0.0` and perl, which knows what is in 9.0.

Decompositions and combining classes never change once they are in Unicode, so those of any later version, taken of the
characters of 9.0 alone, are those of 9.0.
"""

import subprocess
import unicodedata2 as u

BASE, FIRST, LINE = 47, 33, 110


def number(n):  # lowest digit first; digits that others follow are the upper half of the printable characters
    text = ""
    while n >= BASE:
        text += chr(FIRST + BASE + n % BASE)
        n //= BASE
    return text + chr(FIRST + n)


def signed(n):
    return number(2 * n if n >= 0 else -2 * n - 1)


def ranges(codes, kind):  # of what kind() is not 0: (first, last, kind) in order
    found = []
    for c in codes:
        k = kind(c)
        if k and found and found[-1][1] == c - 1 and found[-1][2] == k:
            found[-1][1] = c
        elif k:
            found.append([c, c, k])
    return found


def packed_ranges(found):
    text, end = "", 0
    for first, last, kind in found:
        text += number(first - end) + number(last - first) + number(kind)
        end = last + 1
    return text


def packed_decompositions(rows):
    text, before = "", (0, 0, 0)
    for row in rows:
        text += number(2 * (row[0] - before[0]) + (row[2] != 0)) + signed(row[1] - before[1])
        if row[2]:
            text += signed(row[2] - before[2])
        before = (row[0], row[1], row[2] or before[2])
    return text


def packed_lower_cases(rows):  # runs of every character or every second one, with one distance
    runs = []
    for c, low in rows:
        last = runs[-1] if runs else None
        step = c - last[1] if last else 0
        if last and low - c == last[3] and step in (1, 2) and (last[0] == last[1] or step == last[2]):
            last[1], last[2] = c, step
        else:
            runs.append([c, c, 1, low - c])
    text, end = "", 0
    for first, last, step, distance in runs:
        text += number(first - end) + number(2 * ((last - first) // step) + step - 1) + signed(distance)
        end = last
    return text


def text_class(c):  # as TextClass counts
    category = u.category(chr(c))[0]
    return {"L": 1, "N": 2, "Z": 3}.get(category, 3 if c in (9, 10, 11, 12, 13, 133) else 0)


# Characters whose category is another one since 8.0.
CHANGED = {0x166D: "Po", 0x1734: "Mn", 0x1885: "Lo", 0x1886: "Lo", 0xA9BD: "Mc", 0x111C9: "Po", 0x1171E: "Mn"}


def bert_class(c):  # as BertClass counts
    category = CHANGED.get(c, u.category(chr(c)))
    if c < 128 and chr(c).isprintable() and not chr(c).isalnum() and c != 32:
        return 3
    if c == 0xFFFD or category in ("Cc", "Cf", "Co") and c not in (9, 10, 13):
        return 1
    return 2 if category == "Mn" else 3 if category[0] == "P" else 0


def present_in(version):
    perl = "for (0..0xD7FF, 0xE000..0x10FFFF) { print \"$_ \" if chr =~ /\\p{Co}|\\p{Present_In: %s}/ }" % version
    return sorted(map(int, subprocess.run(["perl", "-e", perl], capture_output=True, text=True).stdout.split()))


# Lower cases of Python 3.11 (Unicode 14.0), and those of 15.0 to 17.0.
lower = {c: ord(chr(c).lower()) for c in range(0x110000) if len(chr(c).lower()) == 1 and chr(c).lower() != chr(c)}
for first, last, step, distance in [
    (0x1C89, 0x1C89, 1, 1), (0xA7CB, 0xA7CB, 1, -0xA567), (0xA7CC, 0xA7CE, 2, 1), (0xA7D2, 0xA7D4, 2, 1),
    (0xA7DA, 0xA7DA, 1, 1), (0xA7DC, 0xA7DC, 1, -0xA641), (0x10D50, 0x10D65, 1, 32), (0x16EA0, 0x16EB8, 1, 27)]:
    lower.update({c: c + distance for c in range(first, last + 1, step)})

old = present_in("9.0")
composites, others = [], []
for c in old:
    d = u.decomposition(chr(c)).split()
    if d and d[0][0] != "<":
        row = (c, int(d[0], 16), int(d[1], 16) if len(d) > 1 else 0)
        (composites if row[2] and u.normalize("NFC", chr(c)) == chr(c) else others).append(row)

for name, text in [
    ("kTextClasses", packed_ranges(ranges(range(0x110000), text_class))),
    ("kBertClasses", packed_ranges(ranges(present_in("8.0"), bert_class))),
    ("kLowerCases", packed_lower_cases(sorted(lower.items()))),
    ("kCombiningClasses", packed_ranges(ranges(old, lambda c: u.combining(chr(c))))),
    ("kComposites", packed_decompositions(composites)),
    ("kOtherDecompositions", packed_decompositions(others)),
]:
    lines = [text[i:i + LINE] for i in range(0, len(text), LINE)]
    print("inline constexpr char %s[] = R\"table(\n%s\n)table\";\n" % (name, "\n".join(lines)))
