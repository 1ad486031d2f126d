"""The module extension of MODULE.bazel: only Bazel with modules loads this file."""

load("//third_party/bazel:repositories.bzl", "cuda_repository", "doctest_repository")

def _host_impl(_ctx):
    doctest_repository()
    cuda_repository()

host = module_extension(implementation = _host_impl)
