"""The set-up of a checkout, as far as it can be seen without installing anything."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BOOTSTRAP = Path(__file__).parents[2] / "tools" / "bootstrap" / "bootstrap.py"


def test_a_folder_whose_name_the_locale_cannot_write_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    script = tmp_path / "Prüfstand" / "tools" / "bootstrap" / BOOTSTRAP.name
    script.parent.mkdir(parents=True)
    shutil.copy(BOOTSTRAP, script)

    done = subprocess.run(
        [sys.executable, "-I", str(script), "run"],
        env={**os.environ, "LC_ALL": "POSIX"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Pr\\xfcfstand' has letters that this locale" in done.stderr
    assert "LC_ALL=C.UTF-8" in done.stderr
    assert not (tmp_path / "Prüfstand" / ".venv").exists()
