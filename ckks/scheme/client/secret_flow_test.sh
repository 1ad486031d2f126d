#!/bin/sh
# No branch and no address depends on a secret, seen by valgrind's memcheck in the compiled code
# (secret_flow.cc). The two programs that leak on purpose must be caught first.
set -u
program="$TEST_SRCDIR/$TEST_WORKSPACE/ckks/scheme/client/secret_flow"
if ! command -v valgrind >/dev/null; then
  echo "skipped: valgrind is not installed"
  exit 0
fi
memcheck() { valgrind --quiet --error-exitcode=9 "$program" "$1"; }
for leak in branch address; do
  memcheck "$leak" >"$TEST_TMPDIR/$leak" 2>&1
  if [ $? -ne 9 ]; then
    cat "$TEST_TMPDIR/$leak"
    echo "valgrind did not see the leak in '$leak', so it would see none elsewhere"
    exit 1
  fi
done
memcheck scheme
