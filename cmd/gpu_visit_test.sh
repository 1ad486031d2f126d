#!/usr/bin/env bash
# The script of a visit, on the emulated device: whole, and what it says where there is no GPU.
set -u -o pipefail
folder=$TEST_TMPDIR/visit
mkdir -p "$folder"
tar -xf cmd/gpu_visit_folder.tar -C "$folder"

answer=$("$folder/gpu_visit.sh" --device emulated) || { echo "the visit failed: $answer" && exit 1; }
for part in '"device": "emulated"' '"name": "engine", "result": "passed"' \
  '"name": "bootstraps", "result": "passed"' '"name": "program bits", "result": "passed"' \
  '"name": "memcheck", "result": "skipped' '"name": "bench", "result": "passed"' '"op"' 'bootstrap_full'; do
  grep -qF "$part" <<< "$answer" || { echo "no $part in: $answer" && exit 1; }
done
if grep -qE '"result": "failed"|"same_bits": ?false' <<< "$answer"; then echo "$answer" && exit 1; fi

# A step that fails is named, and is the script's exit status.
printf '#!/bin/sh\nexit 1\n' > "$folder/program_bits_test"
for quick in device_engine_test device_bootstrap_test; do
  printf '#!/bin/sh\nexit 0\n' > "$folder/$quick"
done
answer=$("$folder/gpu_visit.sh" --device emulated 2> /dev/null)
[ $? -eq 1 ] || { echo "a failed step is no failure" && exit 1; }
grep -qF '"name": "program bits", "result": "failed"' <<< "$answer" || { echo "not named: $answer" && exit 1; }

# One line where there is no such device.
said=$("$folder/gpu_visit.sh" --device abacus 2>&1 > /dev/null)
[ $? -eq 2 ] && [ "$(wc -l <<< "$said")" -eq 1 ] && grep -q "abacus is not known" <<< "$said" || { echo "said: $said" && exit 1; }
if ! nvidia-smi > /dev/null 2>&1; then
  said=$("$folder/gpu_visit.sh" 2>&1 > /dev/null)
  [ $? -eq 2 ] && [ "$(wc -l <<< "$said")" -eq 1 ] && grep -q "^error: .*\(GPU\|CUDA\)" <<< "$said" || { echo "said: $said" && exit 1; }
fi
