"""Zip archives for tests."""

import io
import zipfile


def zipped(files: dict[str, bytes], *, password: bool = False) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    packed = bytearray(made.getvalue())
    if password:  # the flag of the first local header and of its entry in the directory
        packed[6] |= 1
        packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)
