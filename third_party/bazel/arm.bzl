"""Debian's cross compiler for 64-bit ARM, for --config=arm (.bazelrc)."""

load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")
load("@rules_cc//cc:defs.bzl", "cc_toolchain")

_ARM64 = ["@platforms//cpu:aarch64", "@platforms//os:linux"]
_TOOLS = ["ar", "cpp", "gcc", "gcov", "ld", "llvm-cov", "nm", "objdump", "strip"]

def arm_toolchain():
    """The platform `arm64` and its `toolchain`."""
    native.platform(name = "arm64", constraint_values = _ARM64)
    native.toolchain(
        name = "toolchain",
        target_compatible_with = _ARM64,
        toolchain = ":compiler",
        toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    )
    native.filegroup(name = "nothing")
    cc_toolchain(
        name = "compiler",
        all_files = ":nothing",
        compiler_files = ":nothing",
        dwp_files = ":nothing",
        linker_files = ":nothing",
        objcopy_files = ":nothing",
        strip_files = ":nothing",
        toolchain_config = ":config",
    )
    cc_toolchain_config(
        name = "config",
        abi_libc_version = "glibc",
        abi_version = "gcc",
        compile_flags = ["-fstack-protector"],
        compiler = "gcc",
        cpu = "aarch64",
        cxx_builtin_include_directories = [
            "/usr/aarch64-linux-gnu/include",
            "/usr/include/doctest",
            "/usr/lib/gcc-cross/aarch64-linux-gnu",
        ],
        host_system_name = "local",
        link_libs = ["-lstdc++", "-lm"],
        opt_compile_flags = ["-O2", "-DNDEBUG"],
        target_libc = "glibc",
        target_system_name = "aarch64-linux-gnu",
        tool_paths = {tool: "/usr/bin/aarch64-linux-gnu-" + tool for tool in _TOOLS},
        toolchain_identifier = "arm64",
    )
