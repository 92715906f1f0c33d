"""What a model is told, as files with versions: one for each vertical, and for a provider that needs its own words.

A prompt says how to read. It cannot say what may be answered (the schema is made from the rules), what counts as good
enough (the thresholds are rules too), or where the document stands (the program adds it): so neither an edit nor a
document can change those. Files that ship come first; one of one's own for the same vertical and provider takes the
place of the shipped one.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Annotated

import msgspec

from stateward.core.errors import DeclarationError, Fault
from stateward.core.model import Fields
from stateward.definition.plain_values import Document
from stateward.definition.yaml_source import convert
from stateward.definition.yaml_text import read_yaml

PLACES = frozenset({"vertical", "provider", "fields"})
TEXT_CHARS_MAX = 20_000
HASH_CHARS = 16

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=TEXT_CHARS_MAX)]


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Without `vertical` it is for all, without `provider` for all providers of the vertical."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    system: Text
    instructions: Text
    vertical: str | None = None
    provider: str | None = None


class ChosenPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, with the name of its file."""

    id: str
    prompt: Prompt

    @property
    def about(self) -> Fields:
        """Name, version and hash of the prompt: an edit without a new version changes the hash."""
        texts = f"{self.prompt.system}\0{self.prompt.instructions}"
        digest = hashlib.sha256(texts.encode()).hexdigest()[:HASH_CHARS]
        return {"id": self.id, "version": self.prompt.version, "sha256": digest}

    def system(self, values: Mapping[str, str]) -> str:
        """The system message."""
        return Template(self.prompt.system).substitute(values).strip()

    def instructions(self, values: Mapping[str, str]) -> str:
        """The instructions of the user message."""
        return Template(self.prompt.instructions).substitute(values).strip()


class Prompts:
    """All prompts; the most specific one is chosen."""

    def __init__(self, prompts: Mapping[str, Prompt]) -> None:
        self._chosen: dict[tuple[str | None, str | None], ChosenPrompt] = {
            (each.vertical, each.provider): ChosenPrompt(id=name, prompt=each)
            for name, each in prompts.items()
        }

    def choose(self, vertical: str, provider: str | None) -> ChosenPrompt:
        """The prompt of the provider, else of the vertical, else the general one."""
        for key in ((vertical, provider), (vertical, None), (None, None)):
            if key in self._chosen:
                return self._chosen[key]
        fault = Fault(
            source="prompts",
            line=0,
            path=vertical,
            sentence="there is no prompt for it, and none for any vertical",
        )
        raise DeclarationError([fault])


def shipped_texts() -> dict[str, str]:
    """The files that come with the package, by name."""
    folder = files(__package__) / "prompts"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".yaml"))
    return {name: (folder / name).read_text("utf-8") for name in names}


@cache
def shipped() -> Prompts:
    """The prompts that come with the package."""
    return prompts_of({})


def prompts_of(own: Mapping[str, str]) -> Prompts:
    """Own prompts, by the name of their file, over the shipped ones; raises `DeclarationError` with every fault."""
    faults: list[Fault] = []
    prompts: dict[str, Prompt] = {}
    holders: dict[tuple[str | None, str | None], str] = {}
    for name, text in (shipped_texts() | dict(own)).items():
        try:
            document = read_yaml(text, source=name)
        except DeclarationError as error:
            faults += error.faults
            continue
        prompt, wrong = convert(document, Prompt)
        faults += wrong if prompt is None else _faults(prompt, document)
        if prompt is None:
            continue
        prompts[_id(name)] = prompt
        holder = (
            holders.setdefault((prompt.vertical, prompt.provider), name) if name in own else name
        )
        if holder != name:
            said = f"{holder} is for the same vertical and provider; keep one of them"
            faults.append(document.fault(("vertical",), said))
    if faults:
        raise DeclarationError(faults)
    return Prompts(prompts)


def _faults(prompt: Prompt, document: Document) -> list[Fault]:
    """Faults of a prompt that types cannot express."""
    faults = []
    if prompt.provider is not None and prompt.vertical is None:
        faults.append(document.fault(("provider",), "a provider needs its vertical beside it"))
    for key in ("system", "instructions"):
        template = Template(getattr(prompt, key))
        if not template.is_valid():
            said = "it contains a single $; write $$ for the sign itself"
            faults.append(document.fault((key,), said))
            continue
        for name in sorted(set(template.get_identifiers()) - PLACES):
            said = f"there is no ${name}; there are $fields, $vertical and $provider"
            faults.append(document.fault((key,), said))
    if "fields" not in Template(prompt.instructions).get_identifiers():
        said = "$fields is missing: the model would not know what to give"
        faults.append(document.fault(("instructions",), said))
    return faults


def _id(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".yaml").removesuffix(".yml")
