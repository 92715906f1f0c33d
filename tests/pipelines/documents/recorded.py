"""Pages as the recognizer gave them, for tests that need no models: words on lines, in boxes of even letters."""

from stateward.pipelines.kit.ocr import OcrLine, OcrPage, OcrWord

LETTER, HEIGHT, STEP = 12.0, 24.0, 40.0


def recorded_page(*lines: str, turn: int = 0, confidence: int = 99) -> OcrPage:
    """A page of these lines; two blanks or more put what follows into a box of its own, further right."""
    found: list[OcrLine] = []
    for number, text in enumerate(lines):
        left = 20.0
        for piece in text.split("  "):
            if not piece.strip():
                left += 100
                continue
            found.append(_line(piece.strip(), left, 20 + STEP * number, confidence))
            left = found[-1].box[2] + 100
    return OcrPage(800, max(100, int(60 + STEP * len(lines))), turn, found)


def _line(text: str, left: float, top: float, confidence: int) -> OcrLine:
    words: list[OcrWord] = []
    at = left
    for word in text.split():
        words.append(OcrWord(word, (at, top, at + LETTER * len(word), top + HEIGHT), confidence))
        at += LETTER * (len(word) + 1)
    return OcrLine(text, (left, top, at - LETTER, top + HEIGHT), confidence, words, top + HEIGHT)
