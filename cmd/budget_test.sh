#!/bin/sh
# How many lines of this repository a command links, tests and data apart. What holds a secret key has to be read by
# whoever trusts it, so growth is a decision: raise a budget here, and say why.
set -eu
here=$(dirname "$(readlink -f "$0")")
root=$(dirname "$here")
if [ ! -f "$root/WORKSPACE" ]; then
  echo "skipped: the sources are not beside this test"
  exit 0
fi
cd "$TEST_SRCDIR/$TEST_WORKSPACE/cmd"
over=0
while read -r command budget; do
  files=$(grep -E '^//(ckks|approx|nn|attention|train|cmd)[/:].*\.(h|cc)$' "${command}_sources" | sed -e 's|^//||' -e 's|:|/|')
  lines=$(cd "$root" && cat $files | wc -l)
  echo "$command links $lines lines; at most $budget"
  if [ "$lines" -gt "$budget" ] || [ "$lines" -lt 1000 ]; then over=1; fi
done <<BUDGETS
keygen 10400
encrypt 15900
decrypt 11600
infer 26000
generate 18300
serve 26000
show 20700
BUDGETS
exit $over
