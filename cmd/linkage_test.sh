#!/bin/sh
# What the server runs must link neither the secret key nor the client's record of its prompts. Two queries of the build graph
# each: the path from //cmd:infer must not exist; the one from //cmd:decrypt must, or the first query would prove nothing.
set -eu
cd "$TEST_SRCDIR/powersoftmax/cmd"
check() {  # query, label
  if [ -s "infer_to_$1" ]; then
    echo "//cmd:infer depends on $2:"
    cat "infer_to_$1"
    exit 1
  fi
  if ! grep -q "^$2\$" "decrypt_to_$1"; then
    echo "the query finds no path from //cmd:decrypt to $2, so it would find none from //cmd:infer either"
    exit 1
  fi
}
check secret_key //ckks/scheme/client:client
check client //cmd/deployment/client:client
