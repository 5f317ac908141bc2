"""A brace scanner for C++: where functions are, how long, how deep. Not a parser."""

import re
from dataclasses import dataclass

# Comments, raw strings, strings, characters, preprocessor lines: whatever may hide a brace.
_OPAQUE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
_TYPE = re.compile(r"\b(class|struct|union|enum)\b(?!.*\)\s*(const|noexcept|override|final)?\s*$)",
                   re.DOTALL)
_SCOPE = re.compile(r'\bnamespace\b|\bextern\s*$')
_NO_PARAMETERS = re.compile(r"\b(?:decltype|alignas|explicit|noexcept|__attribute__)\s*\(")
_INIT_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")
_OPENS_BLOCK = re.compile(
    r"(?:^|[;}){:\]]|\b(?:else|do|try|mutable|noexcept|const|constexpr)|->[^;{}=]*)\s*$")


@dataclass(frozen=True)
class Function:
    name: str
    line: int  # of the first line of its head
    lines: int  # head to closing brace
    parameters: int
    nesting: int  # blocks inside one another below the body


def blank(text):
    """Returns `text` with comments, literals and directives emptied, every line where it was."""
    def empty(match):
        token = match.group(0)
        return ('""' if token[0] in "\"'R" else "") + "\n" * token.count("\n")
    return _OPAQUE.sub(empty, text)


def _group(text, start):
    """Returns what stands between the parenthesis at `start` and its partner."""
    depth, end = 1, start + 1
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return text[start + 1:end - 1]


def _signature(head):
    """Returns (name, number of parameters) of a function's head."""
    head = head.replace("operator()", "operator_call")
    while match := _NO_PARAMETERS.search(head):
        inner = _group(head, match.end() - 1)
        head = head[:match.start()] + head[match.end() + len(inner) + 1:]
    opening = head.find("(")
    name = re.search(r"([\w:~]*(?:operator\W+)?)\s*$", head[:opening]).group(1) or "lambda"
    parameters, depth, commas = _group(head, opening), 0, 0
    for c in parameters:
        depth += (c in "(<[{") - (c in ")>]}")
        commas += c == "," and depth == 0
    return name, commas + 1 if parameters.strip() not in ("", "void") else 0


def _kind(head, parent):
    """Says what a `{` after `head` opens: scope, function, block or init."""
    if parent == "init":
        return "init"
    if parent in ("function", "block"):
        return "block" if _OPENS_BLOCK.search(head) else "init"
    if _SCOPE.search(head) or _TYPE.search(head):
        return "scope"
    if "(" not in head or (_INIT_LIST.search(head) and re.search(r"[\w>]\s*$", head)):
        return "init"
    return "function"


class _Scanner:
    """The open braces and the text since the last statement began."""

    def __init__(self):
        self.found = []
        self.open = []  # [kind, head, line of the head, open parentheses, deepest block below]
        self.head, self.head_line, self.parentheses = "", 1, 0

    def enter(self):
        kind = _kind(self.head, self.open[-1][0] if self.open else "scope")
        self.open.append([kind, self.head, self.head_line, self.parentheses, 0])
        self.head, self.parentheses = "", 0

    def leave(self, line):
        kind, head, first, self.parentheses, deepest = self.open.pop()
        if kind == "function":
            name, parameters = _signature(head)
            self.found.append(Function(name, first, line - first + 1, parameters, deepest))
        elif self.open:
            self.open[-1][4] = max(self.open[-1][4], deepest + (kind == "block"))
        # An initialiser, or a lambda among arguments, is part of a statement that goes on.
        self.head = head + "{}" if kind == "init" or self.parentheses else ""
        self.head_line = first

    def other(self, c, line):
        self.parentheses += (c == "(") - (c == ")")
        access = c == ":" and self.head.strip() in ("public", "private", "protected")
        if access or (c == ";" and self.parentheses == 0):
            self.head = ""
        else:
            if not self.head.strip():
                self.head, self.head_line = "", line
            self.head += c


def functions(text):
    """Returns the functions defined in `text`, in the order of their closing braces."""
    scanner, line = _Scanner(), 1
    for c in blank(text):
        line += c == "\n"
        if c == "{":
            scanner.enter()
        elif c == "}" and scanner.open:
            scanner.leave(line)
        else:
            scanner.other(c, line)
    return scanner.found
