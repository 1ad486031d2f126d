"""What commands are made of, for //cmd:links_test."""

_Linked = provider(fields = {
    "labels": "of targets and of files, one line each",
    "files": "the sources",
})

_ATTRIBUTES = ["deps", "hdrs", "srcs"]

def _aspect(target, ctx):
    used = [dep for name in _ATTRIBUTES for dep in getattr(ctx.rule.attr, name, [])]
    files = [file for dep in used for file in dep.files.to_list() if file.is_source and not file.owner.workspace_name]
    labels = [target.label] + [file.owner for file in files]
    linked = [dep[_Linked] for dep in used if _Linked in dep]
    return [_Linked(
        labels = depset(
            ["//%s:%s" % (label.package, label.name) for label in labels if not label.workspace_name],
            transitive = [of.labels for of in linked],
        ),
        files = depset(files, transitive = [of.files for of in linked]),
    )]

_linked_aspect = aspect(implementation = _aspect, attr_aspects = _ATTRIBUTES)

def _rule(ctx):
    linked = ctx.attr.command[_Linked]
    labels = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(labels, "\n".join(sorted(linked.labels.to_list())) + "\n")
    return [DefaultInfo(
        files = depset([labels]),
        runfiles = ctx.runfiles([labels], transitive_files = linked.files),
    )]

# A file of labels: all that a command links as it is configured. Its runfiles are the sources. What is in the command's
# data is not linked.
links = rule(
    implementation = _rule,
    attrs = {"command": attr.label(aspects = [_linked_aspect])},
)
