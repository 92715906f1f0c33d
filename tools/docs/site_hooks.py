"""Hooks of the documentation site: links to files of the repository lead to copies that the site carries.

Pages link to files outside docs/ (deploy/, README.md ...), which works where the repository is browsed. The site has
no repository beside it, so each such file is copied below `source/` and the link is rewritten; a file that does not
exist is left alone, and `mkdocs build --strict` then fails on it.
"""

import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?P<path>(?:\.\./)+[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: object) -> str:  # noqa: ANN401
    """Rewrite links that lead out of docs/ to files of the repository."""
    from mkdocs.structure.files import File

    here = PurePosixPath("docs") / page.file.src_uri

    def rewrite(match: re.Match[str]) -> str:
        target = (ROOT / here.parent / match["path"]).resolve()
        if not target.is_relative_to(ROOT) or target.is_relative_to(ROOT / "docs"):
            return match[0]
        if not target.is_file():
            return match[0]
        uri = f"source/{target.relative_to(ROOT).as_posix()}"
        if target.suffix == ".md":
            uri += ".txt"  # a page that is added this late would not be rendered
        if files.get_file_from_path(uri) is None:
            files.append(File.generated(page_config(page), uri, abs_src_path=str(target)))
        depth = len(PurePosixPath(page.file.src_uri).parent.parts)
        return f"]({'../' * depth}{uri}{match['anchor'] or ''})"

    return LINK.sub(rewrite, markdown)


def on_config(config: Any, **_: object) -> Any:  # noqa: ANN401
    """Remember the configuration, which generated files need."""
    global _CONFIG  # noqa: PLW0603 - mkdocs calls hooks as plain functions
    _CONFIG = config
    return config


_CONFIG: Any = None


def page_config(_: object) -> Any:  # noqa: ANN401
    """The configuration of this build."""
    return _CONFIG
