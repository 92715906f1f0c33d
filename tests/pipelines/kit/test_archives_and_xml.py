"""Archives and XML from strangers are opened within limits, or refused with a code."""

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from stateward.core.errors import FatalFailure
from stateward.pipelines.kit import archives
from stateward.pipelines.kit.archive_repair import readable_path, repaired_archive
from stateward.pipelines.kit.xml import local_name, parse_xml
from stateward.workers.sdk import Job

LAUGHS = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><a>&c;</a>'


def an_archive(folder: Path, **parts: bytes) -> Path:
    path = folder / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def entries_of(path: Path) -> list[zipfile.ZipInfo]:
    with archives.open_archive(path) as archive:
        return archive.infolist()


def test_an_archive_within_the_limit_is_opened(tmp_path: Path) -> None:
    path = an_archive(tmp_path, a=b"hello" * 10)

    with archives.open_archive(path) as archive:
        archives.check_sizes(archive.infolist(), bytes_max=50)
        archives.check_inflated(path, archive.infolist(), bytes_max=50)

        assert archives.read_entry(archive, "a", bytes_max=50) == b"hello" * 10


def test_an_archive_beyond_the_limit_names_the_setting(tmp_path: Path) -> None:
    entries = entries_of(an_archive(tmp_path, a=bytes(1000)))

    with pytest.raises(FatalFailure, match=r"more than 999 .*setting some\.limit") as caught:
        archives.check_sizes(entries, bytes_max=999, setting="some.limit")

    assert caught.value.code == "HOSTILE_FILE"


def test_a_directory_that_lies_about_sizes_is_found_out(tmp_path: Path) -> None:
    path = an_archive(tmp_path, a=bytes(100_000))
    entries = entries_of(path)
    entries[0].file_size = 10

    archives.check_sizes(entries, bytes_max=50_000)
    with pytest.raises(FatalFailure, match="inflates beyond"):
        archives.check_inflated(path, entries, bytes_max=50_000)


def test_what_is_no_archive_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\x03\x04 and nothing else")

    with pytest.raises(FatalFailure) as caught, archives.open_archive(path):
        pytest.fail("it was opened")

    assert caught.value.code == "CORRUPT_FILE"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_entities_are_refused_in_every_encoding(encoding: str) -> None:
    with pytest.raises(FatalFailure) as caught:
        parse_xml(LAUGHS.encode(encoding))

    assert caught.value.code == "HOSTILE_FILE"


def test_the_words_of_a_document_type_may_stand_in_the_text() -> None:
    root = parse_xml(b"<?xml version='1.0'?><a><![CDATA[<!DOCTYPE html>]]></a>")

    assert (local_name(root), root.text) == ("a", "<!DOCTYPE html>")


def test_cut_xml_is_corrupt() -> None:
    with pytest.raises(FatalFailure) as caught:
        parse_xml(b"<a><b>")

    assert caught.value.code == "CORRUPT_FILE"


def test_a_deflated_bomb_is_not_inflated_whole() -> None:
    data = BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(30 * archives.MIB))
        entries = archive.infolist()

    with pytest.raises(FatalFailure, match="as only a zip bomb does"):
        archives.check_sizes(entries, bytes_max=archives.INFLATED_BYTES_MAX)


TYPES = (
    b'<Types><Override PartName="/word/document.xml"/><Override PartName="/word/a.xml"/></Types>'
)


def an_office_file(folder: Path) -> bytes:
    names = {"[Content_Types].xml": TYPES, "word/document.xml": b"<d/>" * 50, "word/a.xml": b"<a/>"}
    return an_archive(folder, **names).read_bytes()


def test_an_archive_without_its_directory_is_put_together_again_on_a_retry(tmp_path: Path) -> None:
    whole = an_office_file(tmp_path)
    path = tmp_path / "cut.docx"
    path.write_bytes(whole[: whole.index(b"PK\x01\x02") + 7])
    job = Job(record_id="A", stage="parse", path=path, scratch=tmp_path)

    assert readable_path(job, path) == path  # a first attempt takes it as it is
    job.retry_count = 1
    repaired = readable_path(job, path)

    with archives.open_archive(repaired) as archive:
        assert archive.read("word/document.xml") == b"<d/>" * 50
    (tmp_path / "sound.docx").write_bytes(whole)
    assert repaired_archive(tmp_path / "sound.docx", tmp_path) is None


@pytest.mark.parametrize("damage", ["cut", "bit", "encrypted"])
def test_an_archive_that_has_lost_a_part_stays_damaged(tmp_path: Path, damage: str) -> None:
    whole = bytearray(an_office_file(tmp_path))
    at = whole.index(b"word/document.xml") + len("word/document.xml")
    if damage == "cut":
        del whole[whole.index(b"word/a.xml") :]
    elif damage == "bit":
        whole[at + 3] ^= 0x10
    else:
        whole[whole.rindex(b"PK\x03\x04", 0, at) + 6] |= 1
    path = tmp_path / "broken.docx"
    path.write_bytes(whole[: whole.index(b"PK\x01\x02")] if damage != "cut" else whole)

    assert repaired_archive(path, tmp_path) is None
