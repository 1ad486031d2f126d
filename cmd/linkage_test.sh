#!/bin/sh
# What the servers run must link neither the secret key nor what clients know of their prompts. Two queries of the build graph
# each: the path from a server's command must not exist; the one from a client's must, or the first query would prove nothing.
set -eu
cd "$TEST_SRCDIR/$TEST_WORKSPACE/cmd"
check() {  # server, client, query, label
  if [ -s "$1_to_$3" ]; then
    echo "//cmd:$1 depends on $4:"
    cat "$1_to_$3"
    exit 1
  fi
  if ! grep -q "^$4\$" "$2_to_$3"; then
    echo "the query finds no path from //cmd:$2 to $4, so it would find none from //cmd:$1 either"
    exit 1
  fi
}
for server in infer serve; do
  check $server decrypt secret_key //ckks/scheme/client:client
  check $server decrypt client //cmd/deployment/client:client
done
check serve generate generation_client //cmd/generation/client:client
# Where weights are encrypted, nothing that reads a model either; the server of plaintext ones does.
check serve_encrypted decrypt secret_key //ckks/scheme/client:client
check serve_encrypted generate generation_client //cmd/generation/client:client
check serve_encrypted serve model_files //attention/files:files
check serve_encrypted serve deployment //cmd/deployment:deployment
