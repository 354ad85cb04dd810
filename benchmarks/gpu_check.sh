#!/usr/bin/env bash
# What can only be checked on a GPU, in under five minutes and without a network: the gpu tier of the tests, a latency
# session, and fine-tuning throughput against the device's measured bfloat16 peak. Prints one table; without a GPU it
# says "not measured".
#
#     benchmarks/gpu_check.sh [FOLDER_OF_WHEELS]
#
# With a folder, the wheels in it are installed into a temporary place for this call, whatever else is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_NO_INDEX=1 HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error WANDB_MODE=disabled TOKENIZERS_PARALLELISM=false
export BAKEOFF_CACHE="$work/cache" BAKEOFF_RUNS="$work/runs"
python=${PYTHON:-python3}
path="$PWD/src:$PWD/tests"
if [ $# -gt 0 ]; then
  "$python" -m pip install --quiet --no-deps --no-compile --target "$work/site" "$1"/*.whl
  path="$path:$work/site"
fi
export PYTHONPATH="$path${PYTHONPATH:+:$PYTHONPATH}"
"$python" benchmarks/gpu_check.py "$work"
