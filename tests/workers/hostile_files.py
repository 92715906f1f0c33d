"""Runners that save files, and change them behind the worker's back. Children of the tests load this file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from stateward.workers.sdk import Job, runner


@runner("good.save_files")
def save_files(job: Job) -> dict[str, Any]:
    found = [path.name for path in (job.scratch / ".derived").glob("*")]
    job.save_file("a.txt", b"first", media_type="text/plain")
    (job.scratch / "second").write_bytes(b"second")
    job.save_file("b.txt", job.scratch / "second", media_type="text/plain")
    return {"found": found}


@runner("good.read_file")
def read_file(job: Job) -> dict[str, Any]:
    return {"text": job.file("resize", "a.txt").read_text()}


def _save_and(job: Job, change: Callable[[Path], object]) -> None:
    job.save_file("a.txt", b"first", media_type="text/plain")
    change(job.file(job.stage, "a.txt"))


@runner("bad.file_is_a_link")
def file_is_a_link(job: Job) -> None:
    def turn(path: Path) -> None:
        path.unlink()
        path.symlink_to("/etc/passwd")

    _save_and(job, turn)


@runner("bad.file_folder_is_a_link")
def file_folder_is_a_link(job: Job) -> None:
    def turn(path: Path) -> None:
        path.unlink()
        path.parent.rmdir()
        path.parent.symlink_to("/etc")

    _save_and(job, turn)


@runner("bad.file_is_a_pipe")
def file_is_a_pipe(job: Job) -> None:
    def turn(path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    _save_and(job, turn)


@runner("bad.file_changed")
def file_changed(job: Job) -> None:
    _save_and(job, lambda path: path.write_bytes(b"other"))


@runner("bad.file_grew")
def file_grew(job: Job) -> None:
    _save_and(job, lambda path: path.write_bytes(b"first and more"))


@runner("bad.file_gone")
def file_gone(job: Job) -> None:
    _save_and(job, lambda path: path.unlink())


@runner("bad.file_name")
def file_name(job: Job) -> None:
    job.save_file("a.txt", b"first", media_type="text/plain")
    file, path = job._saved_files["a.txt"]
    job._saved_files["a.txt"] = (msgspec.structs.replace(file, name="../a"), path)
