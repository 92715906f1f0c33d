"""The recognizer with its models, on pictures of a few words; and its parts without them."""

import socket

import numpy as np
import pytest
from PIL import Image

from lab.documents.scans import page_picture
from stateward.pipelines.kit import ocr
from stateward.pipelines.kit.ocr import Recognizer, require_languages

NOTE = ("Delivery note 4711", "Posted in Weimar 12,50")


def test_a_page_on_its_side_is_read_upright_without_any_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the recognizer wants to connect")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    upright = page_picture(NOTE, width=420)

    page = Recognizer(("en", "de")).read(upright.rotate(90, expand=True))

    assert page.turn == 90
    assert (page.width, page.height) == upright.size
    assert [line.text for line in page.lines] == list(NOTE)
    assert all(line.confidence > 90 for line in page.lines)
    amount = page.lines[1].words[-1]
    assert amount.text == "12,50"
    # Seen where it is dark: the box holds nearly all ink right of the words before it.
    left, top, right, bottom = map(round, amount.box)
    ink = np.asarray(upright) < 128
    assert ink[top:bottom, left:right].sum() >= 0.9 * ink[top:bottom, left - 8 :].sum() > 0


@pytest.mark.long
def test_text_is_whole_wherever_the_bands_of_a_long_picture_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ocr, "BAND_PIXELS", 60_000)
    lines = [f"line {number} of six" for number in range(1, 7)]
    picture = page_picture(lines, letter=22, width=300)

    page = Recognizer().read(picture)

    assert [line.text for line in page.lines] == lines


def test_a_picture_without_text_has_no_lines() -> None:
    picture = Image.new("L", (90, 20), 255)
    picture.paste(0, (10, 9, 80, 11))

    assert Recognizer().read(picture).lines == []


@pytest.mark.parametrize(("mode", "colour"), [("L", 255), ("RGB", (250, 248, 240)), ("LA", (0, 0))])
def test_a_picture_of_one_colour_is_not_searched(
    mode: str, colour: int | tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the picture was searched")

    monkeypatch.setattr(Recognizer, "_detect", refuse)

    page = Recognizer().read(Image.new(mode, (1240, 1754), colour))

    assert (page.width, page.height, page.turn, page.lines) == (1240, 1754, 0, [])


def test_lines_that_are_too_long_are_cut_between_words() -> None:
    crop = np.asarray(page_picture(["word " * 12], width=900, letter=16, margin=4).convert("RGB"))
    crop = crop[: crop.shape[0] // 2 + 8]

    parts = ocr._parts(crop)

    assert parts[0][0] == 0
    assert parts[-1][1] == 900
    assert len(parts) >= 2
    for _, cut in parts[:-1]:
        assert crop[:, cut - 1 : cut + 1].min() > 200


def test_words_that_stand_apart_are_parted_where_the_recognizer_saw_no_blank() -> None:
    assert ocr._apart("9.50SR", [0, 2, 4, 6, 11, 13], 2.0) == ["9.50", "SR"]
    assert ocr._apart("Tel:030", [0, 2, 4, 5, 10, 12, 14], 2.0) == ["Tel:", "030"]
    assert ocr._apart("Grand", [0, 5, 7, 9, 11], 2.0) == ["Grand"]


def test_a_language_without_a_model_is_named() -> None:
    assert require_languages(["de", "en"]) == ""
    assert "ar, ru cannot be read" in require_languages(["ru", "de", "ar"])
