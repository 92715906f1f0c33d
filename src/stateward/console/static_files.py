"""The files that pages load, as they lie in this package, and addresses that are known without the pages."""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from stateward.definition.draw import stylesheet

BASE = "/console"
MACHINE_SHEET = "machine.css"


def link_address(url: str, token: str) -> str:
    """The address that signs in once; `url` is that of the service."""
    return f"{url.rstrip('/')}{BASE}/enter/{token}"


@cache
def assets() -> dict[str, bytes]:
    """Every static file by its path."""
    found = {MACHINE_SHEET: stylesheet(dark_within='[data-theme="dark"]').encode()}
    folders = [("", files(__package__) / "static")]
    for prefix, folder in folders:
        for each in folder.iterdir():
            if each.is_dir():
                folders.append((f"{prefix}{each.name}/", each))
            else:
                found[prefix + each.name] = each.read_bytes()
    return found


@cache
def static_base() -> str:
    """Where static files are: the address changes with their content, so that browsers may keep them for ever."""
    digest = sha256()
    for name, content in sorted(assets().items()):
        digest.update(name.encode() + b"\x00" + content)
    return f"{BASE}/static/{digest.hexdigest()[:12]}"
