#!/usr/bin/env python3
"""Measures how the Rust code is built: import cycles, names used twice, sizes, and what holds what it should not know.

    tools/house.py                  a line a crate, then the figures of the whole workspace
    tools/house.py --cycles store   the modules of each cycle of one crate, and the imports that tie them
    tools/house.py --root DIR       another checkout, to compare with this one

Test code is left out: `tests/`, `benches/`, `fuzz/`, modules under `#[cfg(test)]`. A `pub use` is a signpost, not an
import: a name is counted for the module that defines it. Only imports that are written as paths are seen
(`use crate::a::B`, `super::a::B`, `crate::a::b()`), so a call of a method whose type comes by another way is not.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

TEST_MODULE = re.compile(
    r"^#\[cfg\((?:all\()?test\b[^\n]*\]\n(?:#\[[^\n]*\]\n)*(?:pub(?:\([^)]*\))? )?mod (\w+) ?(;|\{)", re.M
)
DEFINES = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|type|union) (\w+)", re.M)
FUNCTION = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?fn (\w+)", re.M)
HTTP_TYPES = re.compile(r"&(?:mut )?Call\b|\bParts\b|\bRequest<|\bHeaderMap\b|\bUri\b|\bMethod\b|&Query\b|\bResponse\b")
HTTP_CRATES = re.compile(r"\b(?:axum|hyper|http)::|\bcall::")
HANDLER = re.compile(r"\(\w+: &Call\) -> Answer")
CONCRETE_STORE = re.compile(r"\bstore::\{?[^;]*?\b(?:Reader|Store|Engine)\b|(?<![\w:])&?Reader\b")


@dataclass
class Module:
    """One source file as a module of its crate."""

    path: tuple[str, ...]
    file: Path
    text: str
    defines: set[str]
    signposts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # name -> path within the crate
    imports: dict[tuple[str, ...], set[str]] = field(default_factory=lambda: defaultdict(set))


def without_comments(text: str) -> str:
    """The text with comments and the insides of strings blanked, lines kept."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    code = re.compile(r'//[^\n]*|/\*.*?\*/|r#".*?"#|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
    return code.sub(blank, text)


def expand(tree: str) -> list[tuple[str, ...]]:
    """`a::{b, c::{D, E as F}}` as the paths `a::b`, `a::c::D`, `a::c::E`."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [tuple(part.strip() for part in tree.split(" as ")[0].split("::") if part.strip())] if tree else []
    lead = tuple(part.strip() for part in tree[:brace].split("::") if part.strip())
    inner, depth, piece, pieces = tree[brace + 1 : tree.rfind("}")], 0, "", []
    for character in inner:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += character
    return [lead + path for part in [*pieces, piece] for path in expand(part)]


def absolute(path: tuple[str, ...], at: tuple[str, ...], children: set[str]) -> tuple[str, ...] | None:
    """A path as seen from the crate's root, or none if it leads out of the crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return at + path[1:]
    if path[0] == "super":
        base = at
        while path and path[0] == "super":
            base, path = base[:-1], path[1:]
        return base + path
    return at + path if path[0] in children else None


def modules_of(source: Path, roots: list[str]) -> dict[tuple[str, ...], Module]:
    """Every module of a crate, without those that are tests."""
    found: dict[tuple[str, ...], Module] = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        path = () if len(parts) == 1 and parts[0] in roots else parts[:-1] if parts[-1] == "mod" else parts
        found[path] = Module(path, file, without_comments(file.read_text()), set())
    tests: set[tuple[str, ...]] = set()
    for path, module in found.items():
        for match in TEST_MODULE.finditer(module.text):
            if match.group(2) == ";":
                tests.add((*path, match.group(1)))
        inline = [match.start() for match in TEST_MODULE.finditer(module.text) if match.group(2) == "{"]
        if inline:
            module.text = module.text[: min(inline)]
    kept = {path: module for path, module in found.items() if not any(path[: len(test)] == test for test in tests)}
    for module in kept.values():
        module.defines = set(DEFINES.findall(module.text)) | {name for _, name in FUNCTION.findall(module.text)}
        read_imports(module, kept)
    return kept


def read_imports(module: Module, all_modules: dict[tuple[str, ...], Module]) -> None:
    """Fills in what a module imports, and where its signposts lead."""
    children = {path[-1] for path in all_modules if path and path[:-1] == module.path}
    rest = module.text
    for match in re.finditer(r"^( *)(pub(?:\([^)]*\))? )?use ([^;]+);", module.text, re.M):
        rest = rest.replace(match.group(), "")
        for path in expand(re.sub(r"\s+", " ", match.group(3))):
            if match.group(1) and path[:1] == ("super",):
                path = ("self", *path[1:])  # of a module written inside the file
            target = absolute(path, module.path, children)
            if target is None:
                continue
            if match.group(2) and not match.group(1):
                module.signposts[target[-1]] = target
            else:
                module.imports[target].add(target[-1] if target else "crate")
    for match in re.finditer(r"\b((?:crate|super|self)(?:::\w+)+)", rest):
        target = absolute(tuple(match.group(1).split("::")), module.path, children)
        if target:
            module.imports[target].add(target[-1])
    for match in re.finditer(r"(?<![:\w])(\w+)((?:::\w+)+)", rest):
        if match.group(1) in children:
            module.imports[(*module.path, match.group(1), *match.group(2).split("::")[1:])].add(match.group(2)[2:])


def home(target: tuple[str, ...], all_modules: dict[tuple[str, ...], Module]) -> tuple[str, ...]:
    """The module that defines what a path names."""
    for _ in range(8):
        at = target
        while at and at not in all_modules:
            at = at[:-1]
        rest = target[len(at) :]
        module = all_modules.get(at)
        if module is None or not rest or rest[0] in module.defines or rest[0] not in module.signposts:
            return at
        target = module.signposts[rest[0]] + rest[1:]
    return at


def arrows(all_modules: dict[tuple[str, ...], Module]) -> dict[tuple[str, ...], dict[tuple[str, ...], set[str]]]:
    """Which module imports which, and what."""
    drawn: dict[tuple[str, ...], dict[tuple[str, ...], set[str]]] = {path: defaultdict(set) for path in all_modules}
    for path, module in all_modules.items():
        for target, names in module.imports.items():
            to = home(target, all_modules)
            if to != path and to in all_modules:
                drawn[path][to] |= names
    return drawn


def cycles(graph: dict[tuple[str, ...], dict[tuple[str, ...], set[str]]]) -> list[list[tuple[str, ...]]]:
    """The strongly connected groups of more than one module, largest first."""
    reached: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for start in graph:
        seen: set[tuple[str, ...]] = set()
        todo = list(graph[start])
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo.extend(graph[at])
        reached[start] = seen
    groups: list[list[tuple[str, ...]]] = []
    done: set[tuple[str, ...]] = set()
    for start in graph:
        if start in done or start not in reached[start]:
            continue
        group = sorted(other for other in reached[start] if start in reached[other])
        done.update(group)
        if len(group) > 1:
            groups.append(group)
    return sorted(groups, key=len, reverse=True)


def percentile(numbers: list[int], share: float) -> int:
    """The number below which a share of all lies."""
    return sorted(numbers)[min(len(numbers) - 1, int(len(numbers) * share))] if numbers else 0


def function_lengths(text: str) -> list[int]:
    """How many lines each function has, from its name to its closing brace."""
    lines, lengths = text.split("\n"), []
    for match in FUNCTION.finditer(text):
        first = text.count("\n", 0, match.start())
        close = match.group(1) + "}"
        for number in range(first, len(lines)):
            if lines[number] == close or (number == first and lines[number].endswith("}")):
                lengths.append(number - first + 1)
                break
            if (
                lines[number].startswith(match.group(1))
                and lines[number].endswith(";")
                and "{" not in "".join(lines[first : number + 1])
            ):
                break
    return lengths


def signatures(text: str) -> list[str]:
    """Each function's words from `fn` to its body."""
    return [re.sub(r"\s+", " ", text[match.start() :].split("{", 1)[0]) for match in FUNCTION.finditer(text)]


def http_functions(modules: Iterable[Module]) -> list[str]:
    """The words of functions that name a type of HTTP; types that have such a name from elsewhere do not count."""
    speaking = (module for module in modules if HTTP_CRATES.search(module.text))
    return [words for module in speaking for words in signatures(module.text) if HTTP_TYPES.search(words)]


def crates(root: Path) -> dict[str, Path]:
    """The source folder of each crate."""
    found = {
        folder.name: folder / "src"
        for folder in sorted((root / "crates").rglob("*"))
        if (folder / "Cargo.toml").is_file()
    }
    return {**found, "pvark": root / "src"}


def main() -> None:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--cycles", metavar="CRATE", help="the cycles of one crate, with what ties them")
    asked = parser.parse_args()
    houses = {name: modules_of(source, ["lib", "main"]) for name, source in crates(asked.root).items()}
    if asked.cycles:
        show_cycles(houses[asked.cycles])
        return
    print(f"{'crate':<10} {'modules':>7} {'lines':>6} {'in the largest cycle':>20} {'share of lines':>14}")
    for name, house in houses.items():
        lines = {path: module.text.count("\n") for path, module in house.items()}
        largest = next(iter(cycles(arrows(house))), [])
        share = sum(lines[path] for path in largest) / max(sum(lines.values()), 1)
        print(f"{name:<10} {len(house):>7} {sum(lines.values()):>6} {len(largest):>20} {share:>13.0%}")
    show_whole({name: house for name, house in houses.items() if name != "lab"})


def show_cycles(house: dict[tuple[str, ...], Module]) -> None:
    """Prints each cycle of a crate."""
    graph = arrows(house)
    for number, group in enumerate(cycles(graph), 1):
        print(f"cycle {number}: {len(group)} modules")
        for path in group:
            for to, names in sorted(graph[path].items()):
                if to in group:
                    print(f"  {'::'.join(path) or 'crate'} -> {'::'.join(to) or 'crate'}: {', '.join(sorted(names))}")


def show_whole(houses: dict[str, dict[tuple[str, ...], Module]]) -> None:
    """Prints the figures of the program: everything but the laboratory."""
    files = [module for house in houses.values() for module in house.values()]
    types: dict[str, int] = defaultdict(int)
    for module in files:
        for name in set(DEFINES.findall(module.text)):
            types[name] += 1
    twice = sum(1 for count in types.values() if count > 1)
    lengths = [module.text.count("\n") for module in files]
    functions = [length for module in files for length in function_lengths(module.text)]
    above = [name for name in houses if name in {"query", "service", "web"}]
    http = {name: http_functions(houses[name].values()) for name in above}
    handlers = sum(1 for name in above for words in http[name] if HANDLER.search(words))
    others = {name: sum(1 for words in http[name] if not HANDLER.search(words)) for name in above}
    concrete = {
        name: sum(len(CONCRETE_STORE.findall(module.text)) for module in houses[name].values()) for name in above
    }
    print(f"type names defined in more than one file: {twice} of {len(types)} ({twice / len(types):.0%})")
    print(
        f"lines of a file: median {percentile(lengths, 0.5)}, p95 {percentile(lengths, 0.95)}, largest {max(lengths)}"
    )
    long = sum(lines > 70 for lines in functions)
    print(f"lines of a function: p95 {percentile(functions, 0.95)}, largest {max(functions)}, above 70: {long}")
    counts = ", ".join(f"{name} {count}" for name, count in others.items())
    print(f"functions whose words name an HTTP type: {handlers} handlers, and besides {counts}")
    print(f"uses of the concrete store: {', '.join(f'{name} {count}' for name, count in concrete.items())}")


if __name__ == "__main__":
    main()
