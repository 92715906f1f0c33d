"""What the bundled pipelines add to an installation: source types, runner options, checks of corrections.

The only module outside `pipelines` that names a domain.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stateward import pipelines, telemetry
from stateward.core.model import Fields, Micros, Record
from stateward.settings import Settings
from stateward.workers.sdk import Job

if TYPE_CHECKING:
    from stateward.pipelines.contracts.extraction import Extraction
    from stateward.pipelines.contracts.options import ContractOptions
    from stateward.pipelines.contracts.rules import Rules, Vertical
    from stateward.pipelines.kit.documents import TextDocument


class Domains:
    """What the settings say to the bundled pipelines, and what these answer."""

    def __init__(self, settings: Settings, *, clock: Callable[[], Micros]) -> None:
        self.settings = settings
        self.clock = clock

    def source_types(self, machine: str) -> dict[str, str]:
        """The source types that a machine knows, each with the format its files must have ("" for any).

        A machine that knows none takes any name.
        """
        if machine != "upload":
            return {}
        from stateward.pipelines.statements.options import SOURCE_TYPES

        known = SOURCE_TYPES | {
            each.name: {"format": each.format or ""}
            for each in self.settings.statements.source_types
        }
        return {name: str(hints.get("format") or "") for name, hints in known.items()}

    def format_of(self, machine: str, path: Path) -> str:
        """What a document is by its content; a `StageFailure` where no runner of the machine could read it."""
        if machine != "upload":
            return ""
        from stateward.pipelines.statements.arrival import format_of

        return format_of(path)

    def judge(
        self, record: Record, items: Sequence[Fields], named: Sequence[str]
    ) -> tuple[Sequence[Fields], Sequence[tuple[str, str]]]:
        """What a reviewer's values are under the rules of their machine, and what is wrong with them."""
        vertical = record.fields.get("vertical") or record.labels.get("vertical")
        if record.machine != "contract" or vertical not in self.contracts.rules.verticals:
            return items, ()
        from stateward.pipelines.contracts.corrections import corrected

        return corrected(items, named=named, vertical=str(vertical), rules=self.contracts.rules)

    def extract_terms(
        self, document: "TextDocument", vertical: "Vertical", rules: "Rules"
    ) -> "Extraction":
        """What the contract extractor of the settings finds in a text; for whoever measures it."""
        from stateward.pipelines.contracts.stages import Options, extracted

        job = Job(record_id="measured", stage="extract", options=self.contracts.extract())
        return extracted(job, document, vertical, rules, Options.of(job))

    @property
    def offline_runners(self) -> tuple[str, ...]:
        """Runners that may open no connection, because these settings give them nobody to ask."""
        return ("contract.extract",) if self.settings.contracts.extractor == "offline" else ()

    @cached_property
    def runner_options(self) -> Mapping[str, Fields]:
        """What the settings say to the runners of a machine."""
        from stateward.pipelines.contracts.options import Live

        statements = self._statement_options
        return Live({"upload": lambda: statements, **self.contracts.by_runner})

    @cached_property
    def contracts(self) -> "ContractOptions":
        """The section `contracts` of the settings, live; a file of it that is wrong is refused here."""
        from stateward.pipelines.contracts.options import ContractOptions

        own = self.settings.contracts
        return ContractOptions(own, clock=self.clock, warn=telemetry.log("contracts").warning)

    @cached_property
    def _statement_options(self) -> Fields:
        """The section `statements` of the settings as its runners get it; a wrong file of rules is refused here."""
        own = self.settings.statements
        types: Fields = {
            each.name: {
                key: value
                for key, value in msgspec.structs.asdict(each).items()
                if key != "name" and value
            }
            for each in own.source_types
        }
        return {
            "ambiguous_dates": own.ambiguous_dates,
            "date_order": own.date_order or "",
            "inflated_bytes_max": own.inflated_bytes_max,
            "pages_max": own.pages_max,
            "source_types": types,
            "rules": {} if own.rules is None else pipelines.read_rules(Path(own.rules)),
            "passwords": [] if own.passwords is None else pipelines.read_lines(Path(own.passwords)),
        }
