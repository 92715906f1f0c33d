"""A text is read in the encoding that its bytes show."""

from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit.encoding import HEAD_BYTES, find_encoding


def encoding_of(folder: Path, data: bytes, hint: str = "") -> str:
    path = folder / "text"
    path.write_bytes(data)
    found = find_encoding(path, hint=hint)
    assert find_encoding(path, hint=hint, head=data[:HEAD_BYTES]) == found
    return found.name


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("Müller".encode(), "utf-8"),
        ("Müller".encode("utf-8-sig"), "utf-8-sig"),
        ("Müller".encode("utf-16"), "utf-16"),
        ("Müller".encode("utf-32"), "utf-32"),
        ("Betrag in EUR;".encode("utf-16-le"), "utf-16-le"),
        ("Betrag in EUR;".encode("utf-16-be"), "utf-16-be"),
        ("Betrag in € und £;".encode("utf-16-le"), "utf-16-le"),
        ("Müller; 5 €".encode("cp1252"), "cp1252"),
        ("Kowalski; Łódź; żółć".encode("cp1250"), "cp1250"),
        ("Überweisung äöü ß € ".encode() * 20 + b"\xff", "utf-8"),
        (b"a" * HEAD_BYTES + "Müller".encode(), "utf-8"),
        (b"a" * HEAD_BYTES + "Müller; 5 €".encode("cp1252"), "cp1252"),
    ],
)
def test_an_encoding_is_found(tmp_path: Path, data: bytes, name: str) -> None:
    assert encoding_of(tmp_path, data) == name


def test_a_hint_gives_way_to_a_byte_order_mark_only(tmp_path: Path) -> None:
    assert encoding_of(tmp_path, b"M\xfcller", hint="latin-1") == "iso8859-1"
    assert encoding_of(tmp_path, "Müller".encode("utf-16"), hint="latin-1") == "utf-16"


def test_an_unknown_hint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FatalFailure, match="klingon") as caught:
        encoding_of(tmp_path, b"x", hint="klingon")

    assert caught.value.code == "BAD_HINT"


def test_accents_inside_of_names_are_no_chinese(tmp_path: Path) -> None:
    """Of names that a program damaged each accent became two bytes, which are a common character of GB 18030."""
    path = tmp_path / "names.csv"
    names = (b"Pen\xcc\xa9lope,Madrid\n", b"Jos\xcc\xa9phine,Paris\n", b"Br\xcc\xb1hlen,Berlin\n")
    path.write_bytes(b"name,town\n" + b"".join(names) * 8)

    assert find_encoding(path).name not in ("gb18030", "euc_kr", "big5", "cp932")
