"""Prints unicode_tables.h's strings. Needs `pip install unicodedata2==16.0.0` and perl, which knows what is in 9.0.

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


def text_class(c):  # as TextClass counts
    category = u.category(chr(c))[0]
    return {"L": 1, "N": 2, "Z": 3}.get(category, 3 if c in (9, 10, 11, 12, 13, 133) else 0)


perl = "for (0..0xD7FF, 0xE000..0x10FFFF) { print \"$_ \" if chr =~ /\\p{Present_In: 9.0}/ }"
old = sorted(map(int, subprocess.run(["perl", "-e", perl], capture_output=True, text=True).stdout.split()))
composites, others = [], []
for c in old:
    d = u.decomposition(chr(c)).split()
    if d and d[0][0] != "<":
        row = (c, int(d[0], 16), int(d[1], 16) if len(d) > 1 else 0)
        (composites if row[2] and u.normalize("NFC", chr(c)) == chr(c) else others).append(row)

for name, text in [
    ("kTextClasses", packed_ranges(ranges(range(0x110000), text_class))),
    ("kCombiningClasses", packed_ranges(ranges(old, lambda c: u.combining(chr(c))))),
    ("kComposites", packed_decompositions(composites)),
    ("kOtherDecompositions", packed_decompositions(others)),
]:
    lines = [text[i:i + LINE] for i in range(0, len(text), LINE)]
    print("inline constexpr char %s[] = R\"table(\n%s\n)table\";\n" % (name, "\n".join(lines)))
