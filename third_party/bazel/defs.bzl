"""The rules every BUILD file of this repository uses: one place to touch on an upgrade.

A room is a folder with one purpose. psm_room() makes of it one library, named like the folder, its parts, and one
test for each file that ends in _test.cc. A room is visible to the rooms after it in the order ckks, approx, nn,
attention, train, cmd; everything else is private. Every room stands on //ckks/base, the core on //ckks/base:core.
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
    "-Wno-subobject-linkage",  # GCC 12 takes the joined files (_joined) for headers
    "-fopenmp",
]

_OPENMP = "//third_party/openmp"

_TOP = ["ckks", "approx", "nn", "attention", "train", "cmd"]

def users_of_this_room():
    """The rooms after this one."""
    top = native.package_name().split("/")[0]
    return ["//third_party/bazel:after_" + top] if top in _TOP else []

def room_groups():
    """For each top folder the group of packages that may use it."""
    for i, top in enumerate(_TOP):
        native.package_group(
            name = "after_" + top,
            packages = ["//"] + ["//%s/..." % later for later in _TOP[i:]],
        )

# What a client's command is made of, which is what whoever trusts it has to read.
CORE = [
    "attention/ends",
    "attention/shape",
    "ckks/base",
    "ckks/base/files",
    "ckks/base/random",
    "ckks/ring",
    "ckks/ring/arithmetic",
    "ckks/ring/kernels",
    "ckks/scheme/chain",
    "ckks/scheme/client",
    "ckks/scheme/encoding",
    "ckks/scheme/public",
    "ckks/wire",
    "ckks/wire/client",
    "cmd/client",
    "cmd/generation",
    "cmd/generation/client",
    "cmd/prompts",
    "cmd/protocol",
    "cmd/terminal",
    "nn/inputs",
    "nn/text",
    "nn/text/bpe",
    "nn/text/unicode",
]

def _with_common(deps):
    in_base = native.package_name() == "ckks/base" or not users_of_this_room()
    base = [] if in_base else ["//ckks/base:core" if native.package_name() in CORE else "//ckks/base"]
    deps = deps + base + [_OPENMP]
    return depset(deps).to_list() if type(deps) == "list" else deps

# Everything links statically, so each file is compiled once.
_LINKSTATIC = True

def _joined(name, sources, testonly):
    """The files of a library as one, which parses the headers they share once: they take most of the compiler's time."""
    if len(sources) < 2:
        return sources
    native.genrule(
        name = name + "_joined",
        srcs = sources,
        outs = [name + "_joined.cc"],
        cmd = "for file in $(SRCS); do echo \"#line 1 \\\"$$file\\\"\"; cat $$file; done > $@",
        testonly = testonly,
        visibility = ["//visibility:private"],
    )
    return [name + "_joined"]

def _copts(copts, test = False):
    # Commands and tests call what computes and compute little themselves: with -O1 they compile in three quarters of the
    # time. GCC 12 then warns of std::variant without cause.
    calls = test or native.package_name().split("/")[0] == "cmd"
    asserts = ["-DDOCTEST_CONFIG_SUPER_FAST_ASSERTS"] if test else []  # an assertion calls a function
    return _COPTS + (["-O1", "-Wno-maybe-uninitialized"] if calls else []) + asserts + copts

def psm_library(name, copts = [], deps = [], **kwargs):
    """A C++20 library with warnings as errors and OpenMP."""
    cc_library(
        name = name,
        copts = _copts(copts),
        linkstatic = _LINKSTATIC,
        deps = _with_common(deps),
        **kwargs
    )

def psm_test(name, srcs = None, size = "small", copts = [], deps = [], external = False, tags = [], **kwargs):
    """A doctest test: `name.cc` beside the code it tests; the main function is shared.

    `external`: cases of the suite "external" need files outside the repository (ckks/base/testing/shared_data.h). They
    are a test of their own, `name`_external, whose tag .bazelrc leaves out.
    """
    srcs = srcs or [name + ".cc"]
    kwargs = dict(kwargs, visibility = users_of_this_room())
    deps = _with_common(deps + ["//ckks/base/testing:aids", "//third_party/doctest:main"])
    if not external:
        cc_test(
            name = name,
            size = size,
            srcs = srcs,
            copts = _copts(copts, test = True),
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
        copts = _copts(copts, test = True),
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
        visibility = users_of_this_room(),
        copts = _copts(copts),
        linkstatic = _LINKSTATIC,
        deps = _with_common(deps),
        **kwargs
    )

def _files(stems, ending):
    return native.glob([stem + ending for stem in stems])

def _attributes(given):
    return {"deps": given} if type(given) == "list" else given

def psm_room(deps = [], parts = {}, binaries = {}, test_deps = [], tests = {}, exclude = [], visibility = None, **kwargs):
    """The library of a folder, its parts, its commands and its tests. Folders named `testing` are for tests only.

    Args:
      deps: the rooms that its files include, without those that another of them brings.
      parts: libraries that can be used without the rest, by name: attributes, and the `files` without endings (if
        they are not one file of that name). The room does not depend on them by itself. Options of the compiler are
        the room's.
      binaries: attributes of commands, by name: their main function is in `name.cc`. A list in place of the attributes
        of a part, a command or a test is its `deps`.
      test_deps: further rooms that its tests include.
      tests: attributes of tests that need any, by name: `deps` are further ones, and a test whose source is not
        `name.cc` says `srcs`.
      exclude: files that belong to other targets of the folder.
      visibility: who may use it, if not the rooms after it.
      **kwargs: further attributes of the library.
    """
    name = native.package_name().split("/")[-1]
    visibility = visibility or users_of_this_room()
    testonly = name == "testing"
    exclude = exclude + ["*_test.cc"] + [binary + ".cc" for binary in binaries]
    for part, attributes in parts.items():
        attributes = _attributes(attributes)
        files = attributes.get("files", [part])
        exclude = exclude + [stem + ending for stem in files for ending in [".cc", ".h"]]
        psm_library(
            name = part,
            srcs = _joined(part, _files(files, ".cc"), testonly),
            hdrs = _files(files, ".h"),
            visibility = attributes.get("visibility", visibility),
            testonly = testonly,
            copts = kwargs.get("copts", []) + attributes.get("copts", []),
            **{key: value for key, value in attributes.items() if key not in ["copts", "files", "visibility"]}
        )
    sources = native.glob(["*.cc"], exclude = exclude)
    headers = native.glob(["*.h"], exclude = exclude)
    if sources or headers or deps:
        psm_library(
            name = name,
            testonly = testonly,
            srcs = _joined(name, sources, testonly),
            hdrs = headers,
            deps = deps,
            visibility = visibility,
            **kwargs
        )
        deps = [":" + name] + deps
    for binary, attributes in binaries.items():
        psm_binary(name = binary, **_attributes(attributes))
    names = [file[:-len(".cc")] for file in native.glob(["*_test.cc"])]
    for test in names + [test for test in tests if test not in names]:
        attributes = dict(_attributes(tests.get(test, {})))
        psm_test(
            name = test,
            deps = deps + test_deps + attributes.pop("deps", []),
            **attributes
        )
