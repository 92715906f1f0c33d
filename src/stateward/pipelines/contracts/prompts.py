"""What a model is told, as files with versions: one for each vertical, and for providers and products with own words.

A file with labels (`trial`) is used only where the settings name one of them, so that a new version can be tried beside
the one in use; of several versions for one thing the highest counts.

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
LABEL_CHARS_MAX = 40
HASH_CHARS = 16

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=TEXT_CHARS_MAX)]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_CHARS_MAX)]
PromptKey = tuple[str | None, str | None, str | None]  # vertical, provider, product type


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Without `vertical` it is for all, without `provider` and `product_type` for all of the vertical."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    system: Text
    instructions: Text
    vertical: str | None = None
    provider: str | None = None
    product_type: str | None = None
    labels: list[Label] = []

    @property
    def key(self) -> "PromptKey":
        """What it is for."""
        return self.vertical, self.provider, self.product_type


class ChosenPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, with the name of its file, and the label for which it was chosen."""

    id: str
    prompt: Prompt
    label: str = ""

    @property
    def about(self) -> Fields:
        """Name, version, hash and label of the prompt: an edit without a new version changes the hash."""
        texts = f"{self.prompt.system}\0{self.prompt.instructions}"
        digest = hashlib.sha256(texts.encode()).hexdigest()[:HASH_CHARS]
        about: Fields = {"id": self.id, "version": self.prompt.version, "sha256": digest}
        return {**about, "label": self.label} if self.label else about

    def system(self, values: Mapping[str, str]) -> str:
        """The system message."""
        return Template(self.prompt.system).substitute(values).strip()

    def instructions(self, values: Mapping[str, str]) -> str:
        """The instructions of the user message."""
        return Template(self.prompt.instructions).substitute(values).strip()


class Prompts:
    """All prompts; the most specific one is chosen."""

    def __init__(self, prompts: Mapping[str, Prompt]) -> None:
        self._versions: dict[tuple[PromptKey, str], ChosenPrompt] = {}
        for name, each in sorted(prompts.items(), key=lambda pair: pair[1].version):
            for label in each.labels or [""]:  # the highest version comes last and stays
                chosen = ChosenPrompt(id=name, prompt=each, label=label)
                self._versions[each.key, label] = chosen

    def choose(
        self,
        vertical: str,
        provider: str | None,
        *,
        product_type: str | None = None,
        label: str = "",
    ) -> ChosenPrompt:
        """The prompt of the provider and product, else of one of them, else of the vertical, else the general one.

        Of each, one with the label comes before one without any.
        """
        keys: tuple[PromptKey, ...] = (
            (vertical, provider, product_type),
            (vertical, provider, None),
            (vertical, None, product_type),
            (vertical, None, None),
            (None, None, None),
        )
        for key in keys:
            for wanted in (label, ""):
                if (key, wanted) in self._versions:
                    return self._versions[key, wanted]
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
def default_prompts() -> Prompts:
    """The prompts that come with the package."""
    return prompts_of({})


def prompts_of(own: Mapping[str, str]) -> Prompts:
    """Own prompts, by the name of their file, over the shipped ones; raises `DeclarationError` with every fault."""
    faults: list[Fault] = []
    prompts: dict[str, Prompt] = {}
    holders: dict[tuple[PromptKey, str, int], str] = {}
    own_keys: set[PromptKey] = set()
    for name, text in (dict(own) | shipped_texts()).items():
        try:
            document = read_yaml(text, source=name)
        except DeclarationError as error:
            faults += error.faults
            continue
        prompt, wrong = convert(document, Prompt)
        faults += wrong if prompt is None else _faults(prompt, document)
        if prompt is None or (name not in own and prompt.key in own_keys):
            continue
        prompts[_id(name)] = prompt
        if name in own and not prompt.labels:
            own_keys.add(prompt.key)
        for label in prompt.labels or [""]:
            holder = holders.setdefault((prompt.key, label, prompt.version), name)
            if holder != name:
                said = f"{holder} is for the same vertical and provider with the same version; keep one of them"
                faults.append(document.fault(("vertical",), said))
    if faults:
        raise DeclarationError(faults)
    return Prompts(prompts)


def _faults(prompt: Prompt, document: Document) -> list[Fault]:
    """Faults of a prompt that types cannot express."""
    faults = []
    if prompt.provider is not None and prompt.vertical is None:
        faults.append(document.fault(("provider",), "a provider needs its vertical beside it"))
    if prompt.product_type is not None and prompt.vertical is None:
        said = "a product type needs its vertical beside it"
        faults.append(document.fault(("product_type",), said))
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
