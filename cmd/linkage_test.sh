#!/bin/sh
# What the server runs must not link the secret key. Two queries of the build graph: the path from //cmd:infer to the
# secret key must not exist; the one from //cmd:decrypt must, or the first query would prove nothing.
set -eu
cd "$TEST_SRCDIR/powersoftmax/cmd"
if [ -s infer_to_secret_key ]; then
  echo "//cmd:infer depends on the secret key:"
  cat infer_to_secret_key
  exit 1
fi
if ! grep -q '^//ckks/scheme/client:client$' decrypt_to_secret_key; then
  echo "the query finds no path from //cmd:decrypt to the secret key, so it would find none from //cmd:infer either"
  exit 1
fi
