#!/usr/bin/env python3
"""Checks sizes, leftovers and files outside the build. Usage: check_tree.py [ROOT]"""

import os
import re
import sys
from pathlib import Path

import cpp_scan

SKIPPED_FOLDERS = re.compile(r"build.*|dist|shared|__pycache__|\..*")
TEXT_SUFFIXES = {
    ".h", ".cc", ".py", ".sh", ".cmake", ".in", ".txt", ".md", ".toml", ".json", ".cff"}
LINES_MAX = {"test": 800, ".h": 250, ".cc": 500, ".py": 500}
FUNCTION_LINES_MAX, PARAMETERS_MAX, NESTING_MAX = 70, 6, 4

# Spelled in two parts, so that a search for the words does not find this file.
UNOWNED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(issue \d+\): \S)")
DISABLED = re.compile(r"\bDIS" r"ABLED_|^\s*#\s*if\s+0\b")
DEAD_CODE = re.compile(
    r"^\s*//\s*(?:[^/].*[=(].*;|return\b.*;|.*[)\w]\s*\{|\}|"
    r"#\s*(?:include|if|endif|define)\b.*)\s*$")


def source_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f == ".ci" or not SKIPPED_FOLDERS.fullmatch(f))
        yield from (Path(folder, name).relative_to(root) for name in sorted(names))


def is_test(path):
    return path.parts[0] == "tests" or path.name.endswith("_test.cc") or (
        path.name.startswith("test_"))


def oversized(path, text):
    """Yields (rule, place, line, value, limit) for everything over a limit."""
    lines = text.count("\n")
    limit = LINES_MAX.get(path.suffix, lines)
    if is_test(path):
        limit = max(limit, LINES_MAX["test"])
    if lines > limit:
        yield "file-lines", str(path), 1, lines, limit
    if path.suffix not in (".h", ".cc"):
        return
    for f in cpp_scan.functions(text):
        for rule, value, most in (("function-lines", f.lines, FUNCTION_LINES_MAX),
                                  ("parameters", f.parameters, PARAMETERS_MAX),
                                  ("nesting", f.nesting, NESTING_MAX)):
            if value > most:
                yield rule, f"{path}:{f.name}", f.line, value, most


def read_ratchet(path):
    entries = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line and not line.startswith("#"):
            rule, place, value = line.split()
            entries[rule, place] = int(value)
    return entries


def size_problems(path, text, ratchet):
    """Reports what is over its limit, and takes the entries it needed out of `ratchet`."""
    for rule, place, line, value, limit in oversized(path, text):
        limit = max(limit, ratchet.pop((rule, place), 0))
        if value > limit:
            yield f"{path}:{line}: {rule} {value} of {place.split(':', 1)[-1]} is over {limit}"


def leftover_problems(path, text):
    if text and not text.endswith("\n"):
        yield f"{path}:{text.count(chr(10)) + 1}: no newline at the end"
    code = path.suffix in (".h", ".cc")
    for number, line in enumerate(text.splitlines(), 1):
        for found, says in ((line != line.rstrip(), "space at the end of the line"),
                            ("\t" in line, "tab"),
                            (UNOWNED.search(line), "unfinished work that names no issue"),
                            (path.suffix == ".py" and len(line) > 100, "over 100 columns"),
                            (code and DISABLED.search(line), "switched-off code"),
                            (code and DEAD_CODE.match(line), "commented-out code")):
            if found:
                yield f"{path}:{number}: {says}"


def build_problems(root, files):
    """Reports sources that no CMakeLists.txt names and headers that nobody includes."""
    named, included = set(), set()
    for path in files:
        text = (root / path).read_text() if path.suffix in (".h", ".cc", ".txt") else ""
        if path.name == "CMakeLists.txt":
            text = re.sub(r"#[^\n]*|[()\"]", " ", text).replace("${PROJECT_SOURCE_DIR}", str(root))
            named |= {os.path.normpath(root / path.parent / word) for word in text.split()}
        elif path.suffix in (".h", ".cc"):
            included |= set(re.findall(r'^\s*#\s*include\s*"(?:.*/)?([^"/]+)"', text, re.MULTILINE))
    for path in files:
        if path.suffix == ".cc" and str(root / path) not in named:
            yield f"{path}:1: no CMakeLists.txt names this file, so nobody builds it"
        if path.suffix == ".h" and path.name not in included | {"kvstream.h"}:
            yield f"{path}:1: nobody includes this header"


def check(root):
    root = root.resolve()
    files = [p for p in source_files(root) if p.suffix in TEXT_SUFFIXES]
    ratchet = read_ratchet(root / "tools/lint/ratchet.txt")
    problems = list(build_problems(root, files))
    for path in files:
        text = (root / path).read_text(errors="replace")
        problems += size_problems(path, text, ratchet)
        problems += leftover_problems(path, text)
    unused = (" ".join(entry) for entry in ratchet)
    return problems + [f"tools/lint/ratchet.txt:1: no longer needed: {entry}" for entry in unused]


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "tree: ok")
    sys.exit(1 if found else 0)
