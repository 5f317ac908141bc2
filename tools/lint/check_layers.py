#!/usr/bin/env python3
"""Checks who includes whom (CONTRIBUTING.md, "Layers"). Usage: check_layers.py [ROOT]"""

import re
import sys
from pathlib import Path

# Module -> modules it may include besides itself and the public headers.
LAYERS = {
    "base": "",
    "chunk": "base",
    "cache": "base",
    "route": "base",
    "model": "base",
    "trace": "base",
    "core": "base chunk cache route",
    "io": "base",
    "tier": "base chunk cache io",
    "engine": "base chunk cache route core io tier",
    "sim": "base chunk cache route core model trace",
    "cli": "base trace sim model route cache io chunk",
    "kvsim": "base trace sim model route cache cli",
}
# Single headers of a module that is closed otherwise.
EXTRA_HEADERS = {"sim": {"io/io_backend.h"}}
# No clock, thread, system call or log: time, randomness and sizes come as arguments.
PURE = {"chunk", "cache", "route", "model", "core"}

# First part of a third-party header's name -> modules that may include it.
EVERYWHERE = set(LAYERS)
THIRD_PARTY = {
    "fmt": EVERYWHERE,
    "tl": EVERYWHERE | {"include"},
    "liburing.h": {"io"},
    "simdjson.h": {"trace"},
    "zlib.h": {"trace"},
    "openssl": {"chunk"},
    "isa-l": {"chunk"},
    "isa-l.h": {"chunk"},
    "CLI": {"cli", "kvsim"},
    "toml++": {"cli", "kvsim"},
    "nlohmann": {"cli", "kvsim"},
}
TESTS_ONLY = {"gtest", "gmock", "benchmark"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SYSTEM = re.compile(
    r"(sys|linux|netinet|asm)/|(unistd|fcntl|poll|signal|sched|time|errno|dirent|pthread|dlfcn|"
    r"getopt|spawn|immintrin|nmmintrin|cpuid)\.h$")
EFFECTS = re.compile(
    r"(thread|mutex|shared_mutex|condition_variable|semaphore|latch|barrier|future|random|iostream|"
    r"fstream|syncstream|cstdio|ctime)$")
CLOCK = re.compile(r"_clock::now\s*\(|\b(?:gettimeofday|clock_gettime|getenv)\s*\(")


def owner(path):
    """Returns the module that the file at `path` (relative to the root) belongs to, or None."""
    parts = path.parts
    if path.name.endswith(("_test.cc", "_test_util.h", "_fuzz.cc")):
        return "test"
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    top = {"include": "include", "examples": "example", "bench": "test", "tests": "test"}
    return top.get(parts[0])


def quoted_problem(module, name):
    """Says what is wrong with `#include "name"` in `module`, or None."""
    target = name.split("/")[0]
    if module == "test" or target in ("kvstream", module):
        return None
    if "/" not in name:
        return f'"{name}": project headers are named from src/ or include/'
    if target in LAYERS.get(module, "").split() or name in EXTRA_HEADERS.get(module, ()):
        return None
    return f"{module} may not include {target}"


def angled_problem(module, name):
    """Says what is wrong with `#include <name>` in `module`, or None."""
    target = name.split("/")[0]
    if module in PURE and (SYSTEM.match(name) and "mmintrin" not in name or EFFECTS.match(name)):
        return f"{module} is pure and may not include <{name}>"
    if module == "test" or SYSTEM.match(name) or re.fullmatch(r"[a-z0-9_]+", name):
        return None
    if target in TESTS_ONLY:
        return f"{module} may not include <{name}>: for tests and benchmarks only"
    if target == "kvstream":
        return f'<{name}>: write "{name}"'
    if target not in THIRD_PARTY:
        return f"<{name}> is not in the list of third-party headers (tools/lint/check_layers.py)"
    return None if module in THIRD_PARTY[target] else f"{module} may not include <{name}>"


def check_file(root, path):
    module = owner(path)
    if path.parts[0] == "src" and module not in {*LAYERS, "test"}:
        yield f"{path}:1: module {module} is not in the table of layers"
        return
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            check = quoted_problem if match.group(1) == '"' else angled_problem
            if problem := check(module, match.group(2)):
                yield f"{path}:{number}: {problem}"
        elif module in PURE and CLOCK.search(line.split("//")[0]):
            yield f"{path}:{number}: {module} is pure and may not ask for the time"


def check(root):
    files = (p for top in ("include", "src", "bench", "tests", "examples")
             for p in sorted((root / top).rglob("*")) if p.suffix in (".h", ".cc"))
    return [problem for path in files for problem in check_file(root, path.relative_to(root))]


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems) or "layers: ok")
    sys.exit(1 if problems else 0)
