"""Takes descriptions of pvData types apart, as the pvAccess specification has them, for read_segment.py."""

from typing import Any

CODES = bytes.fromhex("00 20 24 21 25 22 26 23 27 42 43 60 83")  # the last is a text of bounded length
TYPES = dict(zip(CODES, "? i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 text text".split(), strict=True))


def leaves(of: Any, path: str) -> list[tuple[str, str, int]]:
    """Of a pvData type, depth first: path, type, whether it is an array."""
    code = of.number()
    below: list[tuple[str, str, int]] = []
    if code in (0x88, 0x89):  # of structures and of unions in arrays the type follows
        leaves(of, path)
    if code & 0x10 or code == 0x83:  # of bounded arrays and texts, and of arrays of one length, that follows
        of.number()
    if code in (0x80, 0x81):
        of.read(of.number())
        for _ in range(of.number()):
            below += leaves(of, f"{path}.{of.read(of.number()).decode()}".lstrip("."))
    array = int(0 < code & 0x18 and code < 0x80)
    return below if code == 0x80 else [(path, TYPES.get(code & 0xE7, "structure"), array)]
