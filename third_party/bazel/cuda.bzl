"""CUDA without rules from outside: the toolkit where it is installed, and one rule for one .cu file.

Without a toolkit everything builds as with one, but for what asks for CUDA (--config=cuda), which says what is missing.
"""

load("@cuda//:toolkit.bzl", "CUDA_FOUND", "NVCC")

# One arithmetic with the host: no fused multiply-adds, constexpr functions on both sides. Code for compute
# capability 9.0, and in a form that drivers compile for later ones.
_NVCC_OPTIONS = [
    "-std=c++20",
    "-O3",
    "-fmad=false",
    "--expt-relaxed-constexpr",
    "-gencode",
    "arch=compute_90,code=[sm_90,compute_90]",
    "-Xcompiler",
    "-ffp-contract=off",
    "-Xptxas",
    "-v",
]

def _cuda_archive_impl(ctx):
    if not CUDA_FOUND:
        fail("--config=cuda needs the CUDA toolkit: install it, or set CUDA_HOME to where it is")
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    archive = ctx.actions.declare_file("lib%s.a" % ctx.label.name)
    resources = ctx.actions.declare_file("%s.resources" % ctx.label.name)
    ctx.actions.run_shell(
        inputs = depset([ctx.file.src] + ctx.files.hdrs, transitive = [headers]),
        outputs = [archive, resources],
        command = """
            "$1" "${@:5}" -I. -c "$2" -o "$3.o" > "$4" 2>&1 || { cat "$4" >&2; exit 1; }
            ar rcsD "$3" "$3.o"
        """,
        arguments = [NVCC, ctx.file.src.path, archive.path, resources.path] + _NVCC_OPTIONS,
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc" % ctx.file.src.short_path,
        use_default_shell_env = True,
    )
    return [
        DefaultInfo(files = depset([archive])),
        OutputGroupInfo(resources = depset([resources])),
    ]

_cuda_archive = rule(
    implementation = _cuda_archive_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)

def cuda_archive(name, **kwargs):
    """A static library of one .cu file, and `name`_resources, what nvcc says about its kernels.

    Where there is no toolkit only what asks for the library is an error, and there are no resources.
    """
    _cuda_archive(name = name, tags = [] if CUDA_FOUND else ["manual"], **kwargs)
    native.filegroup(
        name = name + "_resources",
        srcs = [":" + name] if CUDA_FOUND else [],
        output_group = "resources",
    )
