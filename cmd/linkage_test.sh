#!/bin/sh
# What the servers run must link neither the secret key nor what clients know of their prompts, and nothing of models;
# clients must link nothing that computes a program. Two queries of the build graph each: the path
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
  check $server decrypt secret_key //ckks/scheme/client:secret_key
  check $server decrypt client //cmd/client:client
  check $server compile model_files //attention/files:files
  check $server compile encrypted_models //attention/encrypted:encrypted
  check $server compile compiler //cmd/compiler:compiler
  check $server encrypt nn //nn/text:text
done
check decrypt encrypt nn //nn/text:text
check serve generate text_client //cmd/generation/client:client
for client in keygen encrypt decrypt generate; do
  check $client compile encrypted_models //attention/encrypted:encrypted
  check $client compile programs //ckks/program:program
  check $client compile compiler //cmd/compiler:compiler
done
check generate compile model_files //attention/files:files
