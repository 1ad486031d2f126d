"""The rules every BUILD file of this repository uses: one place to touch on an upgrade.

A room is a folder with one purpose. psm_room() makes of it one library, named like the folder, and one test for
each file that ends in _test.cc.
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

def psm_test(name, srcs = None, size = "small", copts = [], deps = [], external = False, tags = [], **kwargs):
    """A doctest test: `name.cc` beside the code it tests; the main function is shared.

    `external`: cases of the suite "external" need files outside the repository (ckks/base/testing/shared_data.h). They
    are a test of their own, `name`_external, whose tag .bazelrc leaves out.
    """
    srcs = srcs or [name + ".cc"]
    deps = deps + [_OPENMP, "//third_party/doctest:main"]
    if not external:
        cc_test(
            name = name,
            size = size,
            srcs = srcs,
            copts = _COPTS + copts,
            linkstatic = _LINKSTATIC,
            deps = deps,
            tags = tags,
            **kwargs
        )
        return
    cc_library(
        name = name + "_cases",
        testonly = True,
        srcs = srcs,
        copts = _COPTS + copts,
        linkstatic = _LINKSTATIC,
        deps = deps,
        alwayslink = True,
    )
    data = kwargs.pop("data", [])

    # The header is how a test finds the repository, and what stands next to it.
    beside = ["//ckks/base/testing:shared_data.h"]
    for suffix, filter, more_tags, more_data in [("", "--test-suite-exclude=external", [], []), ("_external", "--test-suite=external", ["external"], beside)]:
        cc_test(
            name = name + suffix,
            size = size,
            args = [filter],
            linkstatic = _LINKSTATIC,
            deps = [name + "_cases"],
            tags = tags + more_tags,
            data = data + more_data,
            **kwargs
        )

def psm_binary(name, srcs = None, copts = [], deps = [], **kwargs):
    """A command, `bazel run //cmd:name`, whose main function is in `name.cc`."""
    cc_binary(
        name = name,
        srcs = srcs or [name + ".cc"],
        copts = _COPTS + copts,
        linkstatic = _LINKSTATIC,
        deps = deps + [_OPENMP],
        **kwargs
    )

def psm_room(deps = [], test_deps = [], tests = {}, exclude = [], testonly = False, **kwargs):
    """The library of a folder and its tests.

    Args:
      deps: the rooms that its files include.
      test_deps: further rooms that its tests include.
      tests: attributes of tests that need any, by name; a test whose source is not `name.cc` says `srcs`.
      exclude: files that belong to other targets of the folder.
      testonly: whether tests alone may use it.
      **kwargs: further attributes of the library.
    """
    name = native.package_name().split("/")[-1]
    psm_library(
        name = name,
        testonly = testonly,
        srcs = native.glob(["*.cc"], exclude = ["*_test.cc"] + exclude),
        hdrs = native.glob(["*.h"], exclude = exclude),
        deps = deps,
        **kwargs
    )
    names = [file[:-len(".cc")] for file in native.glob(["*_test.cc"])]
    for test in names + [test for test in tests if test not in names]:
        psm_test(
            name = test,
            deps = [":" + name] + deps + test_deps,
            **tests.get(test, {})
        )
