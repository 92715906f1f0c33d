"""Verdicts on drawn boards, whatever the camera did: good ones pass, broken ones fail, and the rest has no verdict."""

from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from lab.documents.inspection.boards import board, jpeg, photographed, png, with_defects
from stateward.core.errors import FatalFailure, StageFailure
from stateward.core.model import Fields, Json
from stateward.pipelines.inspection.comparison import Light, light_of
from stateward.pipelines.inspection.evaluate import RUNNERS
from stateward.pipelines.inspection.registration import register
from stateward.pipelines.inspection.stages import OVERLAY, Defect, analyze, scan
from stateward.pipelines.kit.evaluation import StagesRun, run_stages
from stateward.workers.sdk import Job

HOLE = ((60, 124, 76, 140), "missing")
SPLASH = ((60, 175, 74, 189), "extra")
# What is said of a picture that shows something else; light is compared where the template has material.
UNLIKE = {"NOT_REGISTERED", "LOW_CONTRAST", "NOT_COMPARABLE", "BLURRED", "TOO_DARK"}
LABELS: Fields = {"part_number": "B-7"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "B-7.png").write_bytes(png(board()))
    return tmp_path


def run(data: bytes, folder: Path, **thresholds: Json) -> StagesRun:
    """A picture through both stages."""
    path = folder / "picture"
    path.write_bytes(data)
    options: Fields = {"templates": str(folder), "thresholds": thresholds}
    return run_stages(path, RUNNERS, now=lambda: 0, labels=LABELS, options=options)


def judged(data: bytes, folder: Path, **thresholds: Json) -> tuple[bool, list[Defect]]:
    """The verdict and the defects."""
    found = run(data, folder, **thresholds)
    assert found.failure is None, found.failure
    is_good = found.completed["analyze"].facts["is_good"] is True
    return is_good, [msgspec.convert(each, Defect) for each in found.items("analyze")]


def refused(data: bytes, folder: Path) -> str:
    """The code with which there is no verdict."""
    failure = run(data, folder).failure
    assert failure is not None
    return failure.code


CAMERAS: dict[str, dict[str, Any]] = {
    "still": {},
    "moved": {"shift": (7.3, -5.6)},
    "turned back": {"rotation": -2.2, "shift": (4.0, 3.0)},
    "turned as far as it may be": {"rotation": 3.02},
    "dim and noisy": {"gain": 0.5, "noise": 30},
    "all of it": {"shift": (-4.5, 6.2), "rotation": 0.9, "gain": 0.7, "noise": 12, "blur": 1.0},
}


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_good_board_passes_however_it_was_taken(camera: str, folder: Path) -> None:
    is_good, defects = judged(jpeg(photographed(board(), **CAMERAS[camera])), folder)

    assert (is_good, defects) == (True, [])


@pytest.mark.parametrize("camera", CAMERAS)
def test_defects_are_found_in_their_place_however_it_was_taken(camera: str, folder: Path) -> None:
    broken = with_defects(board(), [HOLE, SPLASH])

    is_good, defects = judged(jpeg(photographed(broken, **CAMERAS[camera])), folder)

    assert not is_good
    assert {each.kind for each in defects} == {"missing", "extra"}
    for box, kind in (HOLE, SPLASH):
        assert any(each.kind == kind and overlaps(each.box, box) for each in defects)
    assert all(any(overlaps(each.box, box) for box, _ in (HOLE, SPLASH)) for each in defects)


def overlaps(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    return (
        min(one[2], other[2]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[1], other[1])
    )  # fmt: skip


def test_a_defect_says_where_it_is_how_large_and_how_sure(folder: Path) -> None:
    data = png(with_defects(board(), [SPLASH]))
    _, (defect,) = judged(data, folder)
    overlay = Image.open(BytesIO(run(data, folder).files[f"analyze/{OVERLAY}"]))

    left, top, right, bottom = defect.box
    assert abs(left - 60) <= 2
    assert abs(bottom - 190) <= 2
    assert 0 < defect.area <= (right - left) * (bottom - top)
    assert 80 <= defect.score <= 100
    assert defect.where == {"file": f"analyze/{OVERLAY}", "page": 1, "box": list(defect.box)}
    assert overlay.getpixel((left - 4, (top + bottom) // 2)) == (225, 29, 72)


def test_the_same_picture_gives_the_same_files(folder: Path) -> None:
    data = jpeg(photographed(with_defects(board(), [HOLE]), shift=(2, 3), rotation=0.7))

    first, second = run(data, folder), run(data, folder)

    assert first.files == second.files
    assert list(first.items("analyze")) == list(second.items("analyze"))


# Thresholds


def test_thresholds_of_a_part_stand_beside_its_template(folder: Path) -> None:
    data = png(with_defects(board(), [SPLASH]))
    strict = judged(data, folder)[0]
    (folder / "B-7.yaml").write_text("defects_max: 1\n")

    assert not strict
    assert judged(data, folder)[0]


def test_a_zone_may_be_left_out(folder: Path) -> None:
    (folder / "B-7.yaml").write_text("ignore: [[50, 165, 84, 199]]\n")

    assert judged(png(with_defects(board(), [SPLASH])), folder)[0]
    assert not judged(png(with_defects(board(), [SPLASH, HOLE])), folder)[0]


def test_where_material_is_dark_the_kinds_change_places(folder: Path) -> None:
    _, (defect,) = judged(png(with_defects(board(), [SPLASH])), folder, material="dark")

    assert defect.kind == "missing"


@pytest.mark.parametrize("text", ["toleranze_px: 1\n", "tolerance_px: many\n", "- 1\n", "a: [\n"])
def test_a_file_of_thresholds_that_is_wrong_is_refused(text: str, folder: Path) -> None:
    (folder / "B-7.yaml").write_text(text)

    assert refused(png(board()), folder) == "BAD_THRESHOLDS"


# No verdict


def test_a_picture_of_another_size_has_no_verdict(folder: Path) -> None:
    assert refused(png(board().resize((200, 200))), folder) == "SIZE_DIFFERS"


def test_a_picture_in_the_dark_has_no_verdict(folder: Path) -> None:
    assert refused(png(photographed(board(), gain=0.1)), folder) == "TOO_DARK"
    assert refused(png(Image.new("L", (300, 300), 0)), folder) == "TOO_DARK"
    assert refused(png(Image.new("L", (300, 300), 255)), folder) == "LOW_CONTRAST"


def test_another_part_has_no_verdict_or_fails_but_never_passes(folder: Path) -> None:
    for seed in (2, 3):
        found = run(png(board(seed).rotate(90)), folder)
        if found.failure is None:
            assert found.completed["analyze"].facts["is_good"] is False
        else:
            assert found.failure.code in UNLIKE


def test_a_picture_that_is_turned_or_moved_too_far_never_passes(folder: Path) -> None:
    cameras: list[dict[str, Any]] = [{"rotation": 8.0}, {"rotation": 45.0}, {"shift": (60, 40)}]

    assert {refused(png(photographed(board(), **each)), folder) for each in cameras} <= UNLIKE


def test_a_blurred_picture_has_no_verdict(folder: Path) -> None:
    assert refused(png(photographed(board(), blur=5)), folder) in {"BLURRED", "LOW_CONTRAST"}


def test_a_template_with_nothing_on_it_is_refused(folder: Path) -> None:
    (folder / "B-7.png").write_bytes(png(Image.new("L", (300, 300), 90)))

    assert refused(png(board()), folder) == "LOW_CONTRAST"


def test_a_damaged_picture_is_never_judged_in_part(folder: Path) -> None:
    data = jpeg(board())[:9000]
    job = Job.for_test(data, labels=LABELS, options={"templates": str(folder)}, retry_count=2)

    with pytest.raises(StageFailure) as failure:
        scan(job)

    assert failure.value.code == "IMAGE_TRUNCATED"


@pytest.mark.parametrize("number", ["", "../B-7", "B-7/..", ".hidden", "x" * 200])
def test_a_label_that_is_no_part_number_is_refused(number: str, folder: Path) -> None:
    with pytest.raises(FatalFailure) as failure:
        scan(
            Job.for_test(
                png(board()), labels={"part_number": number}, options={"templates": str(folder)}
            )
        )

    assert failure.value.code == "NO_PART_NUMBER"


def test_a_part_without_a_template_and_one_with_a_broken_template_are_refused(folder: Path) -> None:
    (folder / "B-9.png").write_bytes(b"no picture")

    codes = []
    for number in ("B-8", "B-9"):
        with pytest.raises(FatalFailure) as failure:
            scan(
                Job.for_test(
                    png(board()), labels={"part_number": number}, options={"templates": str(folder)}
                )
            )
        codes.append(failure.value.code)

    assert codes == ["NO_TEMPLATE", "BAD_TEMPLATE"]


def test_a_template_that_was_exchanged_between_the_stages_is_noticed(folder: Path) -> None:
    options: Fields = {"templates": str(folder)}
    scanned = scan(Job.for_test(png(board()), labels=LABELS, options=options))
    (folder / "B-7.png").write_bytes(png(board(2)))
    job = Job.for_test(png(board()), labels=LABELS, options=options, items={"scan": scanned.items})

    with pytest.raises(FatalFailure) as failure:
        analyze(job)

    assert failure.value.code == "TEMPLATE_CHANGED"


def test_what_the_picture_does_not_show_is_noted(folder: Path) -> None:
    picture = photographed(board(), shift=(15, 0))

    outcome = scan(Job.for_test(png(picture), labels=LABELS, options={"templates": str(folder)}))

    assert str(outcome.facts["notes"]).removeprefix("['").startswith("EDGE_NOT_SEEN: 3.1 %")


# Registration and light


@pytest.mark.parametrize(("shift", "rotation"), [((0, 0), 0), ((9.5, -3.2), 0), ((2, 5), 1.2)])
def test_shift_and_rotation_are_measured(shift: tuple[float, float], rotation: float) -> None:
    template = np.asarray(board())
    picture = np.asarray(photographed(board(), shift=shift, rotation=rotation))

    found = register(template, picture, shift_max_px=24)

    assert abs(found.shift_px - float(np.hypot(*shift))) < 0.3
    assert abs(abs(found.rotation_deg) - rotation) < 0.1
    assert abs(found.scale - 1) < 0.002


def test_light_is_that_of_what_is_bright_and_dark_in_the_template() -> None:
    template = np.asarray(board())

    assert light_of(template, template) == Light(bright=235, dark=25)
    assert light_of(template, (template // 2).astype(np.uint8)) == Light(bright=117, dark=12)
