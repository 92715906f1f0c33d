"""Text of page images: words with boxes and confidence, by rapidocr and onnxruntime, offline.

    page = Recognizer().read(picture)      # a Pillow image, upright by its EXIF data
    page.lines[0].words[0].box             # in pixels of the picture as it was given

The models are in rapidocr's wheel; every path is given, so that nothing is ever downloaded. Memory is bounded whatever
the size of the picture: text is looked for in bands of the page, which overlap so that each line is whole in one of
them, and lines are read one at a time. A page that lies on its side or on its head is turned first. What is recognised
is a function of the pixels alone: one thread, no randomness.
"""

import contextlib
import ctypes
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import msgspec

from stateward.extras import missing_extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Pixels: TypeAlias = NDArray[np.uint8]

# What the one recognition model of the wheel was trained on; others would be read as look-alikes.
LANGUAGES = frozenset(
    "af az bs ca cs cy da de en es et eu fi fr ga gl hr hu id is it la lb lt lv mi ms mt nl no oc pl pt qu rm ro sk sl"
    " sq sv sw tl tr uz vi zh ja".split()
)
BROAD_SCRIPTS = frozenset({"zh", "ja"})
DETECTION, RECOGNITION, DIRECTION = (
    "PP-OCRv6_det_small.onnx",
    "PP-OCRv6_rec_small.onnx",
    "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
)
BAND_PIXELS = 400_000  # of one detection: each costs about 190 bytes of memory
OVERLAP = 96  # pixels that two bands share: lines that are higher are found by the survey
# Pages are reduced for detection, not for reading: 1280 pixels are an A4 page at 155 dpi. Pages that are wider in
# inches have small letters too, so that they are reduced less.
WIDTH_FULL, WIDTH_MAX, REDUCED_MIN = 1280, 1984, 0.6
SIDE_MIN = 736  # a smaller picture is enlarged for detection, at most twice
SCALE_MAX = 2.0
# Of the first look at the whole page: is it upright, has it very large letters.
SURVEY_PIXELS = 400_000
LARGE = 0.5  # of the overlap: text that high is taken from the survey, as bands might cut it
RUNS_DOWN = 1.5  # a box so many times higher than wide holds a line that runs downwards
VOTES_MAX = 9  # lines that are asked whether they stand on their head
VOTE_SCORE_MIN = 0.9
SCORE_MIN = 0.5  # of a line: below it are shapes that are no text
GRID = 32  # the detector takes multiples of it
PART_RATIO = 24  # width by height of a piece of a line that is read at once: about 70 letters
PART_REACH = 0.35  # of a piece: how far from its end a blank is looked for
BLANK_SHARE = 0.25  # of the contrast of a line: columns with less are blank
GAP_MIN = 2.0  # of the width of a letter: a gap that wide is a blank
MARKS = ":;,)]"
NEXT_MAX = 0.36  # of the way from letter to letter: how far a word may reach towards the next one
LINES_MAX = 3000
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # of malloc.h
SIDE_PIXELS_MIN = 4  # of a line: less cannot be read
# Wide punctuation, which the model confuses with the narrow one: a Latin text has none of it.
NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x3002: "."}

Quad = tuple[tuple[float, float], ...]  # the corners of a line: top left, clockwise as it is read
Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels


class OcrWord(msgspec.Struct, frozen=True):
    """A word, its box, and how sure its least sure character is, from 0 to 100."""

    text: str
    box: Box
    confidence: int


class OcrLine(msgspec.Struct, frozen=True):
    """What was found in one piece: a line of text, or a cell of a table. `base` is where it stands, skew removed."""

    text: str
    box: Box
    confidence: int
    words: list[OcrWord]
    base: float = 0.0


class OcrPage(msgspec.Struct, frozen=True):
    """The lines of a page from the top. `turn` says by how many degrees, clockwise, it had to be turned to be read.

    Size and boxes are those of the turned page; `given_box` leads back to the picture as it was given.
    """

    width: int
    height: int
    turn: int
    lines: list[OcrLine]

    def given_box(self, box: Box) -> Box:
        """A box of this page on the picture as it was given."""
        left, top, right, bottom = box
        if self.turn == 90:
            return top, self.width - right, bottom, self.width - left
        if self.turn == 180:
            return self.width - right, self.height - bottom, self.width - left, self.height - top
        if self.turn == 270:
            return self.height - bottom, left, self.height - top, right
        return box


class _WordInfo(Protocol):
    """Of a line: the column of every character that is no blank, all columns, and the confidence of every character."""

    word_cols: Sequence[Sequence[int]]
    line_txt_len: float
    confs: Sequence[float]


class _Steps(Protocol):
    """What the engine found: boxes, or the direction of a line, or its text."""

    boxes: Any
    cls_res: Sequence[tuple[str, float]]
    txts: Sequence[str] | None
    scores: Sequence[float]
    word_results: Sequence[_WordInfo]


class _Engine(Protocol):
    """The part of rapidocr that is used here."""

    def __call__(self, img_content: "Pixels", **steps: bool) -> _Steps: ...

    def crop_text_regions(
        self, img: "Pixels", det_boxes: Sequence["NDArray[np.float32]"]
    ) -> "list[Pixels]": ...


class Recognizer:
    """Reads page images. It holds two models (about 250 MB of address space with their libraries)."""

    def __init__(self, languages: Sequence[str] = ("en",)) -> None:
        self._is_broad = not BROAD_SCRIPTS.isdisjoint(languages)
        self._engine = _engine()

    def read(self, picture: "Image") -> OcrPage:
        """The text of a picture; a page without text has no lines."""
        pixels = _pixels(picture)
        if _is_blank(pixels):
            height, width = pixels.shape[:2]
            return OcrPage(width, height, 0, [])
        survey = self._survey(pixels)
        turn = self._turn(pixels, survey)
        if turn:
            pixels = _turn_pixels(pixels, turn)
            survey = self._survey(pixels)
        quads = self._quads(pixels, survey)[:LINES_MAX]
        slope = median(map(_slope, quads)) if quads else 0.0
        lines = [line for quad in quads if (line := self._line(pixels, quad, slope))]
        height, width = pixels.shape[:2]
        return OcrPage(width, height, turn, sorted(lines, key=lambda line: line.base))

    def _survey(self, pixels: "Pixels") -> list[Quad]:
        """The lines of the whole page at a glance, reduced so that they cost no more than a band."""
        height, width = pixels.shape[:2]
        return self._detect(pixels, min(1.0, math.sqrt(SURVEY_PIXELS / (height * width))))

    def _turn(self, pixels: "Pixels", quads: Sequence[Quad]) -> int:
        """By how many degrees the page must be turned, by the majority of its lines."""
        if not quads:
            return 0
        lying = sum(max(_size(quad)) for quad in quads if _runs_down(quad))
        # Turned by 270 degrees, a line that runs downwards runs to the right.
        turn = 270 if lying * 2 > sum(max(_size(quad)) for quad in quads) else 0
        longest = sorted(quads, key=lambda quad: -max(_size(quad)))[:VOTES_MAX]
        votes = sum(self._is_on_its_head(self._crop(pixels, quad)) for quad in longest)
        return (turn + 180) % 360 if votes * 2 > len(longest) else turn

    def _is_on_its_head(self, crop: "Pixels") -> bool:
        found = self._ask(crop, use_det=False, use_cls=True, use_rec=False)
        label, score = found.cls_res[0]
        return bool(label == "180" and score >= VOTE_SCORE_MIN)

    def _quads(self, pixels: "Pixels", survey: Sequence[Quad]) -> list[Quad]:
        """Where text is: large letters by the survey, which bands might cut; the rest band by band."""
        height, width = pixels.shape[:2]
        scale = _detection_scale(width, height)
        step = max(OVERLAP, int(BAND_PIXELS / (width * scale)) - OVERLAP) / scale
        margin = OVERLAP / 2 / scale
        large = [quad for quad in survey if min(_size(quad)) > LARGE * OVERLAP / scale]
        found = list(large)
        bands = max(1, math.ceil((height - 2 * margin) / step))
        for number in range(bands):
            top = round(number * step)
            bottom = height if number == bands - 1 else round(top + step + 2 * margin)
            core = (
                -1.0 if number == 0 else top + margin,
                height + 1.0 if number == bands - 1 else bottom - margin,
            )
            for quad in self._detect(pixels[top:bottom], scale):
                moved = tuple((x, y + top) for x, y in quad)
                middle = sum(y for _, y in moved) / 4
                if core[0] <= middle < core[1] and not any(_covers(one, moved) for one in large):
                    found.append(moved)
        return found

    def _detect(self, pixels: "Pixels", scale: float) -> list[Quad]:
        """The text of a part of a page, in its own pixels."""
        found = self._ask(_fit_to_grid(pixels, scale), use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        height, width = pixels.shape[:2]
        return [
            tuple(
                (min(max(float(x) / scale, 0.0), width), min(max(float(y) / scale, 0.0), height))
                for x, y in quad
            )
            for quad in found.boxes
        ]

    def _crop(self, pixels: "Pixels", quad: Quad) -> "Pixels":
        import numpy as np

        return self._engine.crop_text_regions(pixels, [np.array(quad, dtype=np.float32)])[0]

    def _line(self, pixels: "Pixels", quad: Quad, slope: float) -> OcrLine | None:
        """One line as it is read; None for what is no text."""
        if min(_size(quad)) < SIDE_PIXELS_MIN:
            return None
        crop = self._crop(pixels, quad)
        words = [word for part in _parts(crop) for word in self._words(crop, quad, part)]
        if not words:
            return None
        middle_x, middle_y = (sum(corner) / 4 for corner in zip(*quad, strict=True))
        half = 0.0 if _runs_down(quad) else _size(quad)[1] / 2
        return OcrLine(
            text=" ".join(word.text for word in words),
            box=_around(quad),
            confidence=round(sum(word.confidence for word in words) / len(words)),
            words=words,
            base=round(middle_y - slope * middle_x + half, 1),
        )

    def _words(self, crop: "Pixels", quad: Quad, part: tuple[int, int]) -> list[OcrWord]:
        found = self._ask(crop[:, part[0] : part[1]], use_det=False, use_cls=False, use_rec=True)
        if not found.txts or not found.txts[0].strip() or found.scores[0] < SCORE_MIN:
            return []
        width = crop.shape[1]
        along = _Along(quad, part[0] / width, part[1] / width)
        return list(_words(found.txts[0], found.word_results[0], along, self._is_broad))

    def _ask(self, pixels: "Pixels", **steps: bool) -> "_Steps":
        """Run some steps of the engine, which says that there is no memory in words of its own."""
        try:
            return self._engine(pixels, **steps)
        except Exception as error:
            if "bad_alloc" in str(error) or "Failed to allocate" in str(error):
                raise MemoryError from error
            raise


def require_languages(languages: Sequence[str]) -> str:
    """Why these languages cannot be read; "" if they can."""
    unknown = sorted(set(languages) - LANGUAGES)
    return (
        f"{', '.join(unknown)} cannot be read by the model that ships; it reads: {' '.join(sorted(LANGUAGES))}"
        if unknown
        else ""
    )


@lru_cache(maxsize=1)
def _engine() -> "_Engine":
    """The models, loaded once in a process; two threads would cost twice the memory and give another result."""
    try:
        # When it is loaded it looks for graphics cards, which a child may not, and warns of that in the log of the
        # document. What goes wrong with it is an exception.
        with _without_stderr():
            import_module("onnxruntime")
        from rapidocr import RapidOCR
    except ImportError as error:
        raise missing_extra(error) or error from error
    import cv2

    _return_memory()
    cv2.setNumThreads(0)
    models = files("rapidocr") / "models"
    own = "EngineConfig.onnxruntime"
    engine: Any = RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.return_word_box": True,
            "Global.use_preprocess_img": False,
            "Global.use_vertical_padding": False,
            # Where a path is given, nothing is looked up or downloaded.
            "Det.model_path": str(models / DETECTION),
            "Rec.model_path": str(models / RECOGNITION),
            "Cls.model_path": str(models / DIRECTION),
            "Det.limit_side_len": GRID,
            "Rec.rec_batch_num": 1,
            "Cls.cls_batch_num": 1,
            f"{own}.intra_op_num_threads": 1,
            f"{own}.inter_op_num_threads": 1,
            f"{own}.enable_cpu_mem_arena": False,
        }
    )
    return cast("_Engine", engine)


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Drop what C code writes to the standard error meanwhile."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _return_memory() -> None:
    """Have the allocator of glibc give large blocks back at once, and keep one heap.

    Otherwise each thread reserves 128 MB of address space, and blocks of up to 32 MB stay with the process: on top of
    the libraries and models, a page would not fit into what a child may use by default.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library has no mallopt
        library = ctypes.CDLL(None)
        library.mallopt(M_ARENA_MAX, 1)
        library.mallopt(M_MMAP_THRESHOLD, 1 << 20)


def _pixels(picture: "Image") -> "Pixels":
    """Blue, green and red, as the models were trained; what is transparent is white."""
    import numpy as np
    from PIL import Image

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        paper = Image.new("RGB", picture.size, "white")
        paper.paste(picture, mask=picture.convert("RGBA").getchannel("A"))
        picture = paper
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])


def _is_blank(pixels: "Pixels") -> bool:
    """Whether all are of one colour, as where nothing of a page can be drawn. Detection takes seconds for that."""
    colours = pixels.reshape(-1, 3)
    return bool((colours.min(axis=0) == colours.max(axis=0)).all())


def _turn_pixels(pixels: "Pixels", turn: int) -> "Pixels":
    import numpy as np

    return np.ascontiguousarray(np.rot90(pixels, -turn // 90))


def _fit_to_grid(pixels: "Pixels", scale: float) -> "Pixels":
    """Pixels in the size for detection, with a margin of paper up to the next multiple of the grid."""
    import cv2
    import numpy as np

    height, width = (max(1, round(side * scale)) for side in pixels.shape[:2])
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    resized = pixels if scale == 1 else cv2.resize(pixels, (width, height), interpolation=way)
    paper = np.median(resized[:: max(1, height // 64), :: max(1, width // 64)], axis=(0, 1))
    shape = (math.ceil(height / GRID) * GRID, math.ceil(width / GRID) * GRID, 3)
    page = np.full(shape, paper.astype(np.uint8), dtype=np.uint8)
    page[:height, :width] = resized
    return page


def _detection_scale(width: int, height: int) -> float:
    if width > WIDTH_FULL:
        return min(1.0, max(WIDTH_FULL / width, REDUCED_MIN), WIDTH_MAX / width)
    return max(1.0, min(SCALE_MAX, SIDE_MIN / min(width, height), WIDTH_FULL / width))


def _parts(crop: "Pixels") -> list[tuple[int, int]]:
    """Columns of a line from blank to blank, none much longer than can be read at once.

    The recognizer compares every column of a line with every other, so that a line of 150 letters would cost four
    times the memory of two halves.
    """
    height, width = crop.shape[:2]
    parts = math.ceil(width / (PART_RATIO * height))
    if parts == 1:
        return [(0, width)]
    ink = crop.max(axis=(0, 2)).astype(int) - crop.min(axis=(0, 2)).astype(int)
    reach = round(width / parts * PART_REACH)
    cuts = [_blank(ink, round(width * number / parts), reach) for number in range(1, parts)]
    return list(itertools.pairwise([0, *cuts, width]))


def _blank(ink: "NDArray[np.int_]", near: int, reach: int) -> int:
    """The middle of the widest blank around a column: between words it is wider than between letters."""
    low = ink.min() + BLANK_SHARE * (int(ink.max()) - int(ink.min()))
    best, start = (0, near), None
    for at in range(max(1, near - reach), min(len(ink), near + reach)):
        if ink[at] <= low:
            start = at if start is None else start
            best = max(best, (at - start + 1, (start + at) // 2))
        else:
            start = None
    return int(best[1])


def _words(text: str, info: "_WordInfo", at: "_Along", is_broad: bool) -> Iterator[OcrWord]:
    """The words of a line, each where its characters were seen.

    The recognizer looks at a line in columns of equal width: `word_cols` says for each character that is no blank in
    which one it was, `confs` how sure each character is, blanks included.
    """
    columns = [float(column) for cols in info.word_cols for column in cols]
    columns += columns[-1:] * (len("".join(text.split())) - len(columns))
    span = max(float(info.line_txt_len), 1.0)
    pitch = _pitch(columns)
    seen = at_char = 0
    for blank_free in text.split():
        at_char = text.index(blank_free, at_char)
        for part in _apart(blank_free, columns[seen:], pitch):
            own = columns[seen : seen + len(part)] or [0.0]
            sure = info.confs[at_char : at_char + len(part)] or [0.0]
            # Half a letter beyond the middle of the outer ones, but never up to the next word.
            before = own[0] - columns[seen - 1] if columns[:seen] else span
            after = (columns[seen + len(part) :] or [own[-1] + span])[0] - own[-1]
            left = (own[0] + 0.5 - min(pitch / 2, NEXT_MAX * before)) / span
            right = (own[-1] + 0.5 + min(pitch / 2, NEXT_MAX * after)) / span
            yield OcrWord(
                text=part if is_broad else part.translate(NARROW),
                box=at.box(max(0.0, left), min(1.0, right)),
                confidence=round(100 * min(map(float, sure))),
            )
            seen += len(part)
            at_char += len(part)


def _apart(text: str, columns: Sequence[float], pitch: float) -> list[str]:
    """A run without blanks in words: the recognizer misses blanks beside figures and after marks, as in `9.50SR`."""
    cuts = [
        at
        for at in range(1, min(len(text), len(columns)))
        if columns[at] - columns[at - 1] >= GAP_MIN * pitch and _may_part(text[at - 1], text[at])
    ]
    return [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]


def _may_part(before: str, after: str) -> bool:
    return after.isalnum() and (before in MARKS or (before.isdigit() and after.isalpha()))


def _pitch(columns: Sequence[float]) -> float:
    """How many columns a character takes, in the middle."""
    steps = [after - before for before, after in itertools.pairwise(columns)]
    return median(steps) if steps else 4.0


class _Along:
    """Places along a part of a line, from 0 at its beginning to 1 at its end."""

    def __init__(self, quad: Quad, start: float = 0.0, end: float = 1.0) -> None:
        self._start, self._span = start, end - start
        top_left, top_right, bottom_right, bottom_left = quad
        # A line that runs downwards begins at its top edge.
        self._edges = (
            ((top_left, bottom_left), (top_right, bottom_right))
            if _runs_down(quad)
            else ((top_left, top_right), (bottom_left, bottom_right))
        )

    def box(self, start: float, end: float) -> Box:
        """The box around a part of the line."""
        start, end = (self._start + self._span * share for share in (start, end))
        return _around(
            [
                (first[0] + (last[0] - first[0]) * share, first[1] + (last[1] - first[1]) * share)
                for first, last in self._edges
                for share in (start, end)
            ]
        )


def _around(corners: Sequence[tuple[float, float]]) -> Box:
    xs, ys = zip(*corners, strict=True)
    return round(min(xs), 1), round(min(ys), 1), round(max(xs), 1), round(max(ys), 1)


def _size(quad: Quad) -> tuple[float, float]:
    """Width and height."""
    return (
        max(math.dist(quad[0], quad[1]), math.dist(quad[3], quad[2])),
        max(math.dist(quad[0], quad[3]), math.dist(quad[1], quad[2])),
    )


def _runs_down(quad: Quad) -> bool:
    width, height = _size(quad)
    return bool(height >= RUNS_DOWN * max(width, 1))


def _slope(quad: Quad) -> float:
    """How far a line sinks for each pixel to the right."""
    run = quad[1][0] - quad[0][0]
    return (quad[1][1] - quad[0][1]) / run if run > 0 and not _runs_down(quad) else 0.0


def _covers(large: Quad, quad: Quad) -> bool:
    """Whether the middle of a box lies in a larger one."""
    left, top, right, bottom = _around(large)
    x, y = (sum(corner) / 4 for corner in zip(*quad, strict=True))
    return bool(left <= x <= right and top <= y <= bottom)
