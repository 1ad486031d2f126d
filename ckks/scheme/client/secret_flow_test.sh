#!/bin/sh
# usage: secret_flow_test.sh PROGRAM [ARGUMENT]
# No branch and no address depends on a secret, seen by valgrind's memcheck in the compiled code of PROGRAM, such as
# secret_flow.cc. Its two ways to leak on purpose must be caught first.
set -u
cd "$TEST_SRCDIR/$TEST_WORKSPACE" || exit 1
if ! command -v valgrind >/dev/null; then
  echo "skipped: valgrind is not installed"
  exit 0
fi
memcheck() { valgrind --quiet --error-exitcode=9 "$@"; }
for leak in branch address; do
  memcheck ckks/scheme/client/secret_flow "$leak" >"$TEST_TMPDIR/$leak" 2>&1
  if [ $? -ne 9 ]; then
    cat "$TEST_TMPDIR/$leak"
    echo "valgrind did not see the leak in '$leak', so it would see none elsewhere"
    exit 1
  fi
done
memcheck "$@"
