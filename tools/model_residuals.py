#!/usr/bin/env python3
"""Compares kvsim with every value of the paper that was read off, good and bad alike.

    tools/model_residuals.py --program build/release/src/kvsim/kvsim     prints the table
    tools/model_residuals.py --program … --write                         puts it into docs/model.md
    tools/model_residuals.py --program … --check                         exit 1 if it differs

The values come from numbers.json in the folder that KVSTREAM_PAPER names, or in ../shared/paper
beside the checkout. They are not part of this repository; without them this program does nothing
and exits 2. It asks kvsim about sixty questions, half a minute on one core.
"""

import argparse
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from residuals import scenarios, table  # noqa: E402

PAGE = ROOT / "docs" / "model.md"


def paper_file():
    folder = Path(os.environ.get("KVSTREAM_PAPER", ROOT.parent / "shared" / "paper"))
    return folder / "numbers.json"


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the kvsim to ask")
    parser.add_argument("--only", default="", help="values whose place contains this text")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    action.add_argument("--check", action="store_true", help="compare with what is there")
    options = parser.parse_args(arguments)
    if options.only and (options.write or options.check):
        parser.error("--only makes a part of the table, which is printed only")
    return options


def main():
    options = parse(sys.argv[1:])
    path = paper_file()
    if not path.is_file():
        print(f"{path} is not there: KVSTREAM_PAPER names the folder with the paper's values, "
              "without which there is nothing to compare with", file=sys.stderr)
        return 2
    entries = json.loads(path.read_text())["numbers"]
    kvsim = scenarios.Kvsim(options.program, lambda text: print(text, file=sys.stderr, flush=True))
    try:
        made = table.make(kvsim, [e for e in entries if options.only in e["ref"]])
    except scenarios.Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    if options.check:
        same = made == table.current(PAGE.read_text())
        print("docs/model.md: " + ("as kvsim says" if same else "not what kvsim says; --write"))
        return 0 if same else 1
    if options.write:
        PAGE.write_text(table.replaced(PAGE.read_text(), made))
    else:
        print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
