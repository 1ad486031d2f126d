#!/usr/bin/env bash
# A visit to a machine with a GPU, without Bazel: every check of the CUDA backend and every figure, as one JSON on
# standard output. What it runs stands next to it (//cmd:gpu_visit_folder):
#
#     gpu_visit.sh [--device cuda|emulated] [--pass] [--limit SECONDS]
#
# conformance    each operation of the engine, in every size of ring, bootstraps and the demonstration's program, on
#                small rings and with a GPU also at N = 2^16: bit by bit the processor's
# bench          //cmd:bench --suite device; --pass: passes of Pythia 70M too, and the model in the clear
# sanitisers     compute-sanitizer's memcheck and racecheck at N = 2^12, where that tool stands
#
# A step that takes longer than the limit, 600 s unless given, fails.
#
# --device emulated goes the same way on the processor and at N = 2^12, to test this script. Says one line and ends
# with 2 where there is no GPU, with 1 if a step failed.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
device=cuda pass=no limit=600
while [ $# -gt 0 ]; do
  case $1 in
    --device) device=${2:-} && shift ;;
    --pass) pass=yes ;;
    --limit) limit=${2:-} && shift ;;
    *) echo "error: $1 is not known; there are: --device cuda|emulated, --pass, --limit SECONDS" >&2 && exit 2 ;;
  esac
  shift
done
case $limit in
  "" | *[!0-9]*) echo "error: --limit takes seconds, not '$limit'" >&2 && exit 2 ;;
esac
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

small="--log-n 12 --insecure --repetitions 1"
size=$small
[ "$device" = cuda ] && size=
export PSM_DEVICE=$device TEST_SRCDIR=$here TEST_WORKSPACE=powersoftmax LD_LIBRARY_PATH=$here/lib
# One line where the device is not known or not there.
"$here/bench" --suite device --device "$device" --log-n 11 --insecure --repetitions 1 > "$logs/first" 2>&1 || {
  grep -m 1 '^error: ' "$logs/first" >&2 || tail -n 1 "$logs/first" >&2
  exit 2
}

steps= failed=0
# step NAME COMMAND...: its result joins the JSON; what it says goes to standard error if it fails.
step() {
  local name=$1 begin=$SECONDS result=passed
  shift
  echo "== $name" >&2
  timeout "$limit" "$@" > "$logs/step" 2>&1 || { result=failed && failed=1 && tail -n 40 "$logs/step" >&2; }
  steps="$steps${steps:+, }{\"name\": \"$name\", \"result\": \"$result\", \"seconds\": $((SECONDS - begin))}"
}
skip() { steps="$steps${steps:+, }{\"name\": \"$1\", \"result\": \"skipped: $2\"}"; }

step "engine" "$here/device_engine_test"
step "bootstraps" "$here/device_bootstrap_test"
step "program bits" "$here/program_bits_test"
if [ "$device" = cuda ]; then
  step "bootstraps at 2^16" env PSM_FULL_SIZE=1 "$here/device_bootstrap_test"
  step "program bits at 2^16" env PSM_FULL_SIZE=1 "$here/program_bits_test"
fi

echo null > "$logs/bench.json"
cp "$logs/bench.json" "$logs/pass.json"
# shellcheck disable=SC2086
step "bench" "$here/bench" --suite device --device "$device" $size --json "$logs/bench.json"
step "bits of bench" bash -c "! grep -q '\"same_bits\": false' '$logs/bench.json'"
if [ "$pass" = yes ]; then
  step "pass" "$here/bench" --suite model --shape pythia-70m --tokens 128 --device "$device" --json "$logs/pass.json"
fi

sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2> /dev/null)
for tool in memcheck racecheck; do
  if [ "$device" != cuda ]; then
    skip "$tool" "no kernels run on a GPU"
  elif [ -z "$sanitizer" ]; then
    skip "$tool" "compute-sanitizer is not installed"
  else
    # shellcheck disable=SC2086
    step "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 "$here/bench" --suite device --device cuda $small
  fi
done

gpu=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,memory.total --format=csv,noheader 2> /dev/null | head -n 1)
printf '{"device": "%s", "gpu": "%s", "steps": [%s],\n"bench": %s,\n"pass": %s}\n' \
  "$device" "${gpu//\"/}" "$steps" "$(cat "$logs/bench.json")" "$(cat "$logs/pass.json")"
exit $failed
