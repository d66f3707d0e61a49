#!/bin/bash
# a scratch clone of main with the renaming applied
rm -rf /work/h/rename_try; git clone -q /work/main /work/h/rename_try
python3 /work/h/rename_program/apply.py /work/h/rename_try "$@" > /tmp/apply.txt 2>&1
grep -v "^PROBLEM" /tmp/apply.txt | head -${LINES_SHOWN:-12}; cd /work/h/rename_try
/work/h/venv/bin/ruff check -q . --output-format concise > /tmp/ruff.txt; wc -l < /tmp/ruff.txt
