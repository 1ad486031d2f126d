"""The rules every BUILD file of this repository uses: one place to touch on an upgrade.

Targets are small: one concept, one library, its test beside it (`test_srcs` of the same name).
"""

_WARNINGS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unknown-pragmas",
    "-ffp-contract=off",
    "-fopenmp",
]

def psm_library(name, copts = [], deps = [], linkopts = [], **kwargs):
    """A C++20 library with warnings as errors and OpenMP."""
    native.cc_library(
        name = name,
        copts = _WARNINGS + copts,
        linkopts = ["-fopenmp", "-lpthread"] + linkopts,
        deps = deps,
        **kwargs
    )

def psm_test(name, srcs = None, copts = [], deps = [], **kwargs):
    """A doctest test: `name.cc` beside the code it tests; the main function is shared."""
    native.cc_test(
        name = name,
        srcs = srcs or [name + ".cc"],
        copts = _WARNINGS + copts,
        linkopts = ["-fopenmp", "-lpthread"],
        deps = deps + ["//third_party/doctest:main"],
        **kwargs
    )

def psm_binary(name, copts = [], deps = [], **kwargs):
    """A command: `bazel run //cmd:name`."""
    native.cc_binary(
        name = name,
        copts = _WARNINGS + copts,
        linkopts = ["-fopenmp", "-lpthread"],
        deps = deps,
        **kwargs
    )
