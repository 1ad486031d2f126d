#!/bin/sh
# What commands link (third_party/bazel/links.bzl), their tests and data apart. Arguments: the rooms of the core. Clients
# link the core alone, servers neither the secret key nor clients nor models, and trainings no encryption. What holds a
# secret key has to be read by whoever trusts it, so growth is a decision: raise a budget here, and say why.
set -eu
core=$(echo "$@" | tr ' ' '|')
cd "$TEST_SRCDIR/$TEST_WORKSPACE/cmd"
ours='^//(ckks|approx|nn|attention|train|cmd)[/:]'
bad=0

# A command must link nothing that matches; another one does, or the pattern would prove nothing.
never() {  # command, pattern, one that links such a thing
  if grep -E "$2" "$1_links"; then
    echo "//cmd:$1 links this, which matches $2"
    bad=1
  fi
  if ! grep -qE "$2" "$3_links"; then
    echo "//cmd:$3 links nothing that matches $2, so that of //cmd:$1 proves nothing"
    bad=1
  fi
}
for server in audit infer serve; do
  never $server '^//(ckks/scheme|ckks/wire|cmd|cmd/generation)/client[:/]' generate
  never $server '^//(attention|nn|approx|train|cmd/compiler)[/:]' compile
done
for client in keygen encrypt decrypt generate; do
  never $client '^//(approx|train|attention/(files|encrypted)|ckks/(engine|bootstrap|program)|cmd/compiler)[/:]' compile
done
for client in decrypt keygen; do never $client '^//nn[/:]' encrypt; done
# Who encrypts talks to no program: //cmd:compare does, as a process of its own.
never encrypt '^//cmd/client:twin_process' generate
# Commands on models in the clear link no encryption: of ckks the base, and how a series is evaluated.
for clear in train evaluate import tokenizer; do
  never $clear '^//ckks/(ring/|ring:ring|scheme/(chain:chain|public|encoding|client|server)|engine|linalg|bootstrap|program|wire/|wire:[^bt]|device)' compile
done
for clear in train import tokenizer; do never $clear '^//(approx:approx|ckks/poly)' compile; done

# Clients link the core alone.
for client in keygen encrypt decrypt generate; do
  if grep -E "$ours" "${client}_links" | grep -vE "^//($core):"; then
    echo "//cmd:$client links this, which is outside the core"
    bad=1
  fi
done
if ! grep -E "$ours" compile_links | grep -qvE "^//($core):"; then
  echo "the core has everything that //cmd:compile links"
  bad=1
fi

while read -r command budget; do
  files=$(grep -E "$ours.*\.(h|cc)\$" "${command}_links" | sed -e 's|^//||' -e 's|:|/|')
  lines=$(cd .. && cat $files | wc -l)
  echo "$command links $lines lines; at most $budget"
  if [ "$lines" -gt "$budget" ] || [ "$lines" -lt 1000 ]; then bad=1; fi
done <<BUDGETS
keygen 7850
encrypt 10950
demo 47850
decrypt 8500
generate 15400
infer 26000
serve 24800
show 21050
train 17450
evaluate 21750
BUDGETS
exit $bad
