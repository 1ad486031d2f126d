#!/bin/sh
# Runs the demonstration's model in a small ring and has every bit computed again by the second implementation; then
# alters one residue of a prompt, which must be noticed.
set -eu
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2> /dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
  echo "skipped: there is no Python 3 with numpy"
  exit 0
fi
cd "$TEST_SRCDIR/$TEST_WORKSPACE"
name=$TEST_TMPDIR/recall keys=$TEST_TMPDIR/keys
cmd/tools/compile --model testdata/recall.safetensors --out "$name" --insecure --log-n 11
cmd/client/keygen --client "$name.client" --out "$keys" --insecure
cmd/client/encrypt --client "$name.client" --keys "$keys" --sample 1 --out "$name.prompts" --insecure
cmd/server/infer --program "$name.program" --keys "$keys/evaluation.keys" --in "$name.prompts" --out "$name.answers" \
  --digests "$name.digests" --insecure
cmd/client/decrypt --client "$name.client" --keys "$keys" --in "$name.answers" --logits "$name.logits" --insecure
replay() {
  "$python" testdata/replay/replay.py --program "$name.program" --client "$name.client" --keys "$keys" \
    --prompts "$1" --digests "$name.digests" --answers "$name.answers" --logits "$name.logits"
}
replay "$name.prompts"

# The last bit of the first residue of the first ciphertext, with a checksum that fits.
"$python" - "$name.prompts" "$name.altered" << 'EOF'
import struct
import sys
sys.path.insert(0, 'testdata/replay')
from files import crc64
data = bytearray(open(sys.argv[1], 'rb').read())
at = 108 + struct.unpack_from('<I', data, 96)[0]  # the note
at += 20 + struct.unpack_from('<Q', data, at + 4)[0]
size = struct.unpack_from('<Q', data, at + 4)[0]
data[at + 12 + 12 + (32 if data[at] == 3 else 0)] ^= 1
struct.pack_into('<Q', data, at + 12 + size, crc64(data[at:at + 12 + size]))
open(sys.argv[2], 'wb').write(data)
EOF
if replay "$name.altered" 2> "$TEST_TMPDIR/said"; then
  echo "a residue was altered, and nothing was noticed"
  exit 1
fi
cat "$TEST_TMPDIR/said"
grep -q '^error: instruction [0-9]*, input .* has other bits than infer had$' "$TEST_TMPDIR/said"
