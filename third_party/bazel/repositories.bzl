"""External repositories, all from the local machine.

Bazel 4 to 7 in WORKSPACE mode refers to rules_java, rules_proto, rules_cc, platforms and
remote_coverage_tools even for a pure C++ build. Debian packages some of them below
/usr/share/bazel; where such a folder exists it is linked, otherwise a stub with just
enough for a C++ build takes its place.
"""

def _link_or_stub_impl(ctx):
    for path in ctx.attr.paths:
        folder = ctx.path(path)
        if folder.exists:
            for entry in folder.readdir():
                if entry.basename not in ["WORKSPACE", "WORKSPACE.bazel"]:
                    ctx.symlink(entry, entry.basename)
            ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
            return
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    for path, content in ctx.attr.stub.items():
        ctx.file(path, content)

_link_or_stub = repository_rule(
    implementation = _link_or_stub_impl,
    local = True,
    attrs = {"paths": attr.string_list(), "stub": attr.string_dict()},
)

_CC_DEFS = """
cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
cc_import = native.cc_import
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_toolchain_alias = native.cc_toolchain_alias
"""

_JAVA_DEFS = """
java_binary = native.java_binary
java_import = native.java_import
java_library = native.java_library
java_test = native.java_test
java_package_configuration = native.java_package_configuration
java_plugin = native.java_plugin
java_runtime = native.java_runtime
java_toolchain = native.java_toolchain
"""

# The names that Bazel's own tools refer to.
_CPUS = [
    "aarch32", "aarch64", "all", "arm", "arm64", "arm64_32", "arm64e", "armv6-m", "armv7", "armv7-m", "armv7e-m",
    "armv7e-mf", "armv7k", "armv8-m", "i386", "mips64", "ppc", "ppc32", "ppc64le", "riscv32", "riscv64", "s390x",
    "wasm32", "wasm64", "x86_32", "x86_64",
]

_SYSTEMS = [
    "android", "emscripten", "freebsd", "fuchsia", "ios", "linux", "macos", "netbsd", "none", "openbsd", "osx", "qnx",
    "tvos", "visionos", "wasi", "watchos", "windows",
]

def _constraints(setting, values):
    lines = ['package(default_visibility = ["//visibility:public"])', 'constraint_setting(name = "%s")' % setting]
    for value in values:
        lines.append('constraint_value(name = "%s", constraint_setting = ":%s")' % (value, setting))
    return "\n".join(lines) + "\n"

def _system_headers_impl(ctx):
    for folder in ctx.attr.folders:
        header = ctx.path(folder + "/" + ctx.attr.header)
        if header.exists:
            ctx.symlink(header, "include/" + ctx.attr.header)
            ctx.file("WORKSPACE", "")
            ctx.file("BUILD", """
cc_library(
    name = "{name}",
    hdrs = ["include/{header}"],
    includes = ["include"],
    visibility = ["//visibility:public"],
)
""".format(name = ctx.name, header = ctx.attr.header))
            return
    fail("%s not found below %s: install the package %s" %
         (ctx.attr.header, ctx.attr.folders, ctx.attr.package))

system_headers = repository_rule(
    implementation = _system_headers_impl,
    local = True,
    attrs = {
        "folders": attr.string_list(default = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"]),
        "header": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
    },
)

def _cuda_toolkit_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME", "/usr/local/cuda")
    found = ctx.path(home + "/bin/nvcc").exists
    runtime = ctx.path(home + "/lib64/libcudart_static.a")
    ctx.file("WORKSPACE", "workspace(name = %r)\n" % ctx.name)
    ctx.file("toolkit.bzl", "CUDA_FOUND = %r\nNVCC = %r\n" % (found, home + "/bin/nvcc"))
    if found:
        ctx.symlink(runtime, "libcudart_static.a")
    ctx.file("BUILD", """
cc_library(
    name = "runtime",
    srcs = %r,
    linkopts = ["-ldl", "-lpthread", "-lrt"],
    visibility = ["//visibility:public"],
)
""" % (["libcudart_static.a"] if found else []))

_cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    local = True,
    environ = ["CUDA_HOME"],
)

def cuda_repository():
    """@cuda: the toolkit in CUDA_HOME, else in its usual place; CUDA_FOUND tells whether there is one."""
    _cuda_toolkit(name = "cuda")

def doctest_repository():
    system_headers(name = "doctest", header = "doctest/doctest.h", package = "doctest-dev")

def host_repositories():
    """Declares every external repository of the WORKSPACE build."""
    root = "/usr/share/bazel/"
    _link_or_stub(
        name = "rules_java",
        paths = [root + "rules/java"],
        stub = {"java/BUILD": "", "java/defs.bzl": _JAVA_DEFS},
    )
    _link_or_stub(
        name = "rules_proto",
        paths = [root + "rules/proto"],
        stub = {"proto/BUILD": "", "proto/defs.bzl": "proto_library = native.proto_library\n"},
    )
    _link_or_stub(
        name = "rules_cc",
        stub = {"cc/BUILD": "", "cc/defs.bzl": _CC_DEFS, "BUILD": ""},
    )
    _link_or_stub(
        name = "remote_coverage_tools",
        stub = {"BUILD": 'filegroup(name = "coverage_report_generator", srcs = ["coverage.sh"], visibility = ["//visibility:public"])\n', "coverage.sh": ""},
    )
    _link_or_stub(
        name = "platforms",
        paths = [root + "tools/platforms"],
        stub = {
            "BUILD": "",
            "cpu/BUILD": _constraints("cpu", _CPUS),
            "os/BUILD": _constraints("os", _SYSTEMS),
        },
    )
    doctest_repository()
    cuda_repository()
