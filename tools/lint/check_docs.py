#!/usr/bin/env python3
"""Checks Markdown: one title, links that lead somewhere, code that equals its file.

Usage: check_docs.py [ROOT]. A block below the line `<!-- verbatim: PATH -->` must equal PATH.
"""

import re
import sys
from pathlib import Path

from check_tree import source_files

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)")
VERBATIM = re.compile(
    r"^<!-- verbatim: (\S+) -->\n+```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARKED = re.compile(r"^<!-- verbatim:", re.MULTILINE)


def blanked(pattern, text):
    return pattern.sub(lambda match: "\n" * match.group(0).count("\n"), text)


def anchors(text):
    """Returns the anchors of the headings of `text`, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", blanked(FENCE, text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def title_problems(path, prose):
    lines = prose.splitlines()
    titles = [i for i, line in enumerate(lines, 1) if line.startswith("# ")]
    if len(titles) != 1 or any(line.strip() for line in lines[:titles[0] - 1]):
        yield f"{path}:{titles[-1] if titles else 1}: a page has one `# Title`, on its first line"


def link_problems(root, path, prose):
    for number, line in enumerate(blanked(INLINE_CODE, prose).splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            page = (root / path).parent / name if name else root / path
            if not page.exists():
                yield f"{path}:{number}: {target} leads nowhere"
            elif anchor and anchor not in anchors(page.read_text()):
                yield f"{path}:{number}: {target}: no such heading"


def verbatim_problems(root, path, text):
    blocks = list(VERBATIM.finditer(text))
    if len(blocks) != len(MARKED.findall(text)):
        yield f"{path}:1: a verbatim mark is not followed by a fenced block"
    for block in blocks:
        source = root / block.group(1)
        number = text.count("\n", 0, block.start()) + 1
        if not source.exists() or source.read_text() != block.group(2):
            yield f"{path}:{number}: the block below differs from {block.group(1)}"


def check(root):
    problems = []
    for path in (p for p in source_files(root) if p.suffix == ".md"):
        text = (root / path).read_text()
        prose = blanked(FENCE, text)
        problems += title_problems(path, prose)
        problems += link_problems(root, path, prose)
        problems += verbatim_problems(root, path, text)
    return problems


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) or "docs: ok")
    sys.exit(1 if found else 0)
