"""What the locked dependencies are, and what is known against them.

    python tools/supply_chain/supply_chain.py sbom build/sbom.cdx.json
    python tools/supply_chain/supply_chain.py advisories

`sbom` writes the lock as a CycloneDX document, which scanners read. `advisories` asks an index what is known against
each locked version and fails if there is something. The index is the JSON API that pip-audit asks as well; ADVISORIES
in the environment is its address, such as https://index.example/pypi/{name}/{version}/json. Where none is named or it
cannot be asked, that is said and fails nothing: a check that was not made must not look like one that was.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

LOCK = Path(__file__).parents[2] / "requirements" / "run.txt"
VARIABLE = "ADVISORIES"
TIMEOUT_S = 10.0
AT_ONCE = 8
NOT_FOUND = 404
UNKNOWN_SHARE_MAX = 0.1  # a mirror that answers for little is no index of advisories
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Ask = Callable[[str], bytes]


class Dependency(NamedTuple):
    """One line of the lock."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def purl(self) -> str:
        """Its name in every registry of packages."""
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def dependencies(lock: str) -> Iterator[Dependency]:
    """Every pinned distribution of a lock."""
    for entry in re.split(r"\n(?=\S)", lock):
        if match := _PINNED.match(entry):
            yield Dependency(match[1], match[2], tuple(_HASH.findall(entry)))


def sbom(found: list[Dependency]) -> dict[str, Any]:
    """A CycloneDX document. Its serial number is made of its content: the same lock gives the same file."""
    components = [
        {
            "type": "library",
            "bom-ref": each.purl,
            "name": each.name,
            "version": each.version,
            "purl": each.purl,
            "hashes": [{"alg": "SHA-256", "content": one} for one in each.hashes],
        }
        for each in found
    ]
    digest = sha256(json.dumps(components).encode()).hexdigest()
    serial = f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "stateward"}},
        "components": components,
    }


def advisories(found: list[Dependency], index: str, ask: Ask) -> list[str]:
    """A line for each thing that is known and not withdrawn; `OSError` or `ValueError` if the index cannot say."""

    def of(each: Dependency) -> list[str] | None:
        try:
            told = json.loads(ask(index.format(name=each.name, version=each.version)))
        except HTTPError as error:
            if error.code == NOT_FOUND:
                return None
            raise
        known = [one for one in told["vulnerabilities"] if not one.get("withdrawn")]
        return [
            f"{each.name} {each.version}: {one['id']}, fixed in {', '.join(one['fixed_in']) or 'none'}"
            for one in known
        ]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(of, found))
    unknown = [each.name for each, answer in zip(found, answers, strict=True) if answer is None]
    if len(unknown) > UNKNOWN_SHARE_MAX * len(found):
        raise ValueError(f"the index does not know {len(unknown)} of {len(found)}")
    return [line for answer in answers for line in answer or ()]


def over_https(url: str) -> bytes:
    """The answer of the index."""
    with urlopen(url, timeout=TIMEOUT_S) as answer:  # noqa: S310 - the address is the caller's own
        content: bytes = answer.read()
        return content


def main(args: list[str], *, index: str = "", ask: Ask = over_https) -> int:
    """The command; its exit code."""
    found = list(dependencies(LOCK.read_text("utf-8")))
    match args:
        case ["sbom", path]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(sbom(found), indent=1) + "\n", "utf-8")
            print(f"{len(found)} dependencies are named in {path}")
            return 0
        case ["advisories"]:
            if not index:
                print(f"advisories were NOT checked: name an index in {VARIABLE}")
                return 0
            try:
                lines = advisories(found, index, ask)
            except (OSError, URLError, ValueError, KeyError) as error:
                print(f"advisories were NOT checked: no answer ({type(error).__name__})")
                return 0
            print("\n".join(lines) or f"nothing is known against {len(found)} dependencies")
            return 1 if lines else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], index=os.environ.get(VARIABLE, "")))
