"""The rules every BUILD file of this repository uses: one place to touch on an upgrade.

Targets are small: one concept, one library, its test beside it.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")

# -ffp-contract=off: results of floating point do not depend on where the compiler finds a fused multiply-add;
# kernels that want one ask for it by intrinsic.
_COPTS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffp-contract=off",
    "-fopenmp",
]

_OPENMP = "//third_party/openmp"

# Everything links statically, so each file is compiled once.
_LINKSTATIC = True

def psm_library(name, copts = [], deps = [], **kwargs):
    """A C++20 library with warnings as errors and OpenMP."""
    cc_library(
        name = name,
        copts = _COPTS + copts,
        linkstatic = _LINKSTATIC,
        deps = deps + [_OPENMP],
        **kwargs
    )

def psm_test(name, srcs = None, copts = [], deps = [], **kwargs):
    """A doctest test: `name.cc` beside the code it tests; the main function is shared."""
    cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        copts = _COPTS + copts,
        linkstatic = _LINKSTATIC,
        deps = deps + [_OPENMP, "//third_party/doctest:main"],
        **kwargs
    )

def psm_binary(name, copts = [], deps = [], **kwargs):
    """A command: `bazel run //cmd:name`."""
    cc_binary(
        name = name,
        copts = _COPTS + copts,
        linkstatic = _LINKSTATIC,
        deps = deps + [_OPENMP],
        **kwargs
    )
