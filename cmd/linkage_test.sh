#!/bin/sh
# What the servers run must link neither the secret key nor what clients know of their prompts, and the server of programs
# nothing of models; clients of programs must link nothing that computes one. Two queries of the build graph each: the path
# from the one command must not exist; that from the other must, or the first query would prove nothing.
set -eu
cd "$TEST_SRCDIR/$TEST_WORKSPACE/cmd"
check() {  # command, one that has the path, query, label
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
  check $server generate client //cmd/deployment/client:client
done
check infer decrypt program_client //cmd/client:client
check infer compile model_files //attention/files:files
check infer compile encrypted_models //attention/encrypted:encrypted
check infer decrypt nn //nn/text:text
for client in keygen encrypt decrypt; do
  check $client compile encrypted_models //attention/encrypted:encrypted
  check $client compile programs //ckks/program:program
  check $client compile compiler //cmd/compiler:compiler
done
check serve generate generation_client //cmd/generation/client:client
# Where weights are encrypted, nothing that reads a model either; the server of plaintext ones does.
check serve_encrypted decrypt secret_key //ckks/scheme/client:client
check serve_encrypted generate generation_client //cmd/generation/client:client
check serve_encrypted serve model_files //attention/files:files
check serve_encrypted serve deployment //cmd/deployment:deployment
