"""Where records, documents and the history are stored: database, artifacts, mirrored ledger, backups."""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from msgspec import Meta

from stateward.core.field_docs import about
from stateward.definition import plain_values
from stateward.definition.section import (
    MIB,
    PLAIN_ADDRESS,
    Bytes,
    FilePath,
    Name,
    Problem,
    Seconds,
    Section,
    has_host,
    is_plain_address,
    is_url,
)

BUCKETS = ("s3", "gs", "az")
MAILTO = "mailto:"
TIMESTAMP = "rfc3161+"  # before the address of an authority that signs times


class StoreSettings(Section, frozen=True, kw_only=True):
    """The database."""

    url: Annotated[
        str,
        about(
            "`sqlite:` (a file in the data folder), `sqlite:///path`, "
            "`postgresql://user:password@host/name` or `memory:`."
        ),
    ] = "sqlite:"
    lanes: Annotated[
        Annotated[int, Meta(ge=1, le=256)] | None,
        Meta(
            description="Into how many lanes the history of a new store is divided; commits on different lanes do not "
            "wait for each other. A store that has a history keeps its number. null: 1 on SQLite, 16 on PostgreSQL."
        ),
    ] = None

    dump_before_migration: Annotated[
        bool,
        about(
            "Whether a newer Stateward dumps a PostgreSQL database into the data folder (`pg_dump`) before "
            "it changes its schema, and leaves it as it is where it cannot. false: you make backups in another way."
        ),
    ] = True

    secret_key_file: Annotated[
        FilePath | None,
        about(
            "The file with the keys that secrets are sealed with, relative to the settings file; null: "
            "`secret.keys` in the data folder, made with the first secret. Where several machines share a database, "
            "each needs the same file. No backup set contains it."
        ),
    ] = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the database is on another machine, by its address: then its clock is another one, too."""
        host = urlsplit(self.url).hostname if self.url.startswith("postgresql:") else None
        return host not in (None, "localhost", "::1") and not str(host).startswith("127.")

    def problems(self) -> Iterator[Problem]:
        """One sentence about the first thing that is wrong with the URL."""
        scheme, colon, rest = self.url.partition(":")
        wrong = None
        if not colon or scheme not in ("sqlite", "postgresql", "memory"):
            wrong = f"url must begin with sqlite:, postgresql:// or memory:, not with {scheme!r}"
        elif scheme == "memory" and rest:
            wrong = "nothing may follow memory:"
        elif scheme == "sqlite" and (rest.endswith("/") or rest.startswith(":")):
            wrong = "sqlite: must be followed by nothing or by the path of a file"
        elif scheme == "sqlite" and rest.startswith("//") and not rest.startswith("///"):
            wrong = (
                "an absolute path has three slashes before it, as in sqlite:///var/lib/stateward.db"
            )
        elif scheme == "postgresql" and not (rest.startswith("//") and is_url(self.url)):
            wrong = "url must have the form postgresql://user:password@host:port/name"
        if wrong:
            yield ("url",), wrong


class ArtifactSettings(Section, frozen=True, kw_only=True):
    """Where documents and derived files are stored. The short form `artifacts: s3://bucket/prefix` sets `url` alone."""

    short_form: ClassVar = "url"

    url: Annotated[
        str,
        about(
            "`folder:` (in the data folder), or object storage: `s3://bucket/prefix`, "
            "`gs://bucket/prefix`, `az://container/prefix`. Credentials come from the environment, as the vendors' own "
            "tools read them (`AWS_ACCESS_KEY_ID`, …, or the role of the machine)."
        ),
    ] = "folder:"
    endpoint: Annotated[
        str | None,
        about(
            "The http or https address of a server that speaks the protocol of S3; null: that of the "
            "vendor, or what `AWS_ENDPOINT_URL` says."
        ),
    ] = None
    region: Annotated[
        Annotated[str, Meta(pattern=r"\A[a-z0-9-]+\Z", title="a region like eu-central-1")] | None,
        Meta(description="The region of the bucket; null: what `AWS_REGION` says."),
    ] = None
    timeout_seconds: Annotated[
        Seconds, about("For one request; a document is sent and read in parts of 8 MiB.")
    ] = 30.0
    link_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=604_800)],
        Meta(
            description="How long a presigned link to a download is valid: the API and the console then send browsers "
            "and clients to the bucket to save a file. 0: all bytes go through the service."
        ),
    ] = 0.0
    cache_bytes_max: Annotated[
        Bytes,
        about(
            "How many bytes of copies each machine has in `artifacts-cache` of its data folder. A copy "
            "that was used in the last ten minutes stays in any case."
        ),
    ] = 10 * 1024 * MIB

    @property
    def is_folder(self) -> bool:
        """Whether documents are in the data folder."""
        return self.url == "folder:"

    def problems(self) -> Iterator[Problem]:
        """One sentence about the first thing that is wrong with an address."""
        parts = urlsplit(self.url) if is_url(self.url) else None
        if not self.is_folder and (
            parts is None or parts.scheme not in ("s3", "gs", "az") or not parts.hostname
        ):
            yield (
                ("url",),
                "url must be folder:, s3://bucket/prefix, gs://bucket/prefix or az://container/prefix",
            )
        elif parts is not None and (parts.query or parts.fragment or "@" in parts.netloc):
            yield ("url",), "url may hold a bucket and a prefix only; credentials come elsewhere"
        if self.endpoint is not None and not is_plain_address(self.endpoint):
            yield ("endpoint",), f"endpoint must be {PLAIN_ADDRESS}"


class LedgerSettings(Section, frozen=True, kw_only=True):
    """A copy of the history as a ledger of plain files."""

    mirror: Annotated[
        FilePath | None,
        about(
            "The folder of the ledger that every transition is mirrored to, relative to the settings "
            "file; null: none."
        ),
    ] = None
    batch_max: Annotated[
        int, about("Transitions mirrored together, in one durable write.", ge=1, le=100_000)
    ] = 1000
    compact: Annotated[
        bool, about("Whether the mirror is compacted every night, at `compact_at`.")
    ] = True
    compact_at: Annotated[
        str,
        about(
            "The time of day for that, in the machine's time zone; checkpoints are made then too.",
            title="a time of day like 03:30",
            pattern=r"\A([01][0-9]|2[0-3]):[0-5][0-9]\Z",
        ),
    ] = "00:00"
    checkpoint_destinations: Annotated[
        tuple[
            Annotated[str, Meta(min_length=1, extra={"is_path": lambda text: "://" not in text})],
            ...,
        ],
        Meta(
            max_length=16,
            description="Where a checkpoint is exported every night: folders on other machines (relative to the "
            "settings file) and http or https addresses.",
        ),
    ] = ()
    origin: Annotated[
        Annotated[str, Meta(pattern=r"\A[^\s+]+\Z", title="one word without +")] | None,
        Meta(description="The name of the log in its checkpoints; null: that of the key."),
    ] = None
    signing_key: Annotated[
        FilePath | None,
        about(
            "The file with the key that signs checkpoints (`stateward key signing create`); null: none."
        ),
    ] = None
    webhook_secret: Annotated[
        FilePath | None,
        about(
            "The file with the `whsec_…` secret that signs posted checkpoints (Standard Webhooks); null: "
            "none."
        ),
    ] = None

    def problems(self) -> Iterator[Problem]:
        """What has a scheme is an address; anything else is a folder."""
        for place, target in enumerate(self.checkpoint_destinations):
            if "://" in target and not is_plain_address(target):
                message = f"{PLAIN_ADDRESS}, or a folder, not {plain_values.quote_value(target)}"
                yield ("checkpoint_destinations", place), f"a destination must be {message}"


class BackupSettings(Section, frozen=True, kw_only=True):
    """Where and how often backup sets are made by the service itself."""

    folder: Annotated[
        Annotated[str, Meta(min_length=1, extra={"is_path": lambda value: "://" not in value})]
        | None,
        Meta(
            description="The folder that `stateward up` and `stateward coordinator` make backup sets in, relative to "
            "the settings file, or object storage (`s3://bucket/prefix`, `gs://`, `az://`); null: none. It must not be "
            "in the data folder."
        ),
    ] = None
    every_hours: Annotated[float, about("How often a set is made there.", gt=0, le=8760)] = 24.0
    keep: Annotated[int, about("How many sets stay; the oldest are removed.", ge=1, le=100_000)] = (
        14
    )
    warn_after_hours: Annotated[
        float, about("The age of the last set from which `doctor` complains.", gt=0, le=8760)
    ] = 48.0


class RetentionRule(Section, frozen=True, kw_only=True):
    """What is deleted of records that have long ended."""

    pipeline: Annotated[Name, about("The pipeline whose records it is about.")]
    status: Annotated[
        str,
        about(
            "The status that they ended in; `*`: every final one, and those of failures.",
            min_length=1,
        ),
    ] = "*"
    older_than_days: Annotated[float, about("How long they must have been in it.", gt=0, le=36_500)]
    delete: Annotated[
        tuple[Literal["documents", "items", "logs", "contents"], ...],
        about(
            "What is deleted: documents, items (with derived files and search entries), logs, contents "
            "(labels, file names, notes, messages and all other text). The proof of what happened stays.",
            min_length=1,
        ),
    ]


class RetentionSettings(Section, frozen=True, kw_only=True):
    """What is deleted by itself when it is old. Records on hold are left alone."""

    rules: Annotated[
        tuple[RetentionRule, ...],
        about("The rules, each by itself; none: nothing is deleted.", max_length=100),
    ] = ()
    every_hours: Annotated[
        float,
        about("How often `stateward up` and `stateward coordinator` apply them.", gt=0, le=8760),
    ] = 24.0


def is_anchor_address(target: str) -> bool:
    """Whether it is an address that checkpoints can be handed to."""
    if target.startswith(TIMESTAMP):
        return is_plain_address(target.removeprefix(TIMESTAMP))
    if target.startswith(MAILTO):
        return re.fullmatch(r"[^@\s]+@[^@\s]+", target.removeprefix(MAILTO)) is not None
    is_bucket = has_host(target, *BUCKETS) and "@" not in target
    return is_bucket or is_plain_address(target)


def _is_folder(target: str) -> bool:
    return "://" not in target and not target.startswith(MAILTO)


class AnchorSettings(Section, frozen=True, kw_only=True):
    """Where checkpoints of the history are handed to, so that not even the owner of this machine can rewrite it."""

    destinations: Annotated[
        tuple[
            Annotated[str, Meta(min_length=1, extra={"is_path": _is_folder})],
            ...,
        ],
        Meta(
            max_length=16,
            description="Folders on other machines (relative to the settings file), http or https addresses, object "
            "storage (`s3://bucket/prefix`, `gs://`, `az://`), `mailto:` addresses (by `notifications.smtp_url`) and "
            "authorities for time stamps (`rfc3161+https://…`; tokens are stored in `timestamps` of the data folder). "
            "Signed with `ledger.signing_key`, posts also with `ledger.webhook_secret`. In the profiles business and "
            "enterprise, none means: by mail to `notifications.admin_email`, where mail can be sent, and into "
            "`checkpoints` of `backup.folder`, where that is named.",
        ),
    ] = ()
    timestamp_roots: Annotated[
        FilePath | None,
        about(
            "Certificates (PEM) that vouch for the authorities for time stamps; each token is checked "
            "by them when it arrives."
        ),
    ] = None
    every_hours: Annotated[
        float,
        about("How often `stateward up` and `stateward coordinator` hand one over.", gt=0, le=8760),
    ] = 24.0

    def problems(self) -> Iterator[Problem]:
        """What has a scheme is an address; anything else is a folder."""
        for place, target in enumerate(self.destinations):
            if not (_is_folder(target) or is_anchor_address(target)):
                message = (
                    f"{PLAIN_ADDRESS}, or object storage, a mailto: address, rfc3161+https:// or a folder, "
                    f"not {plain_values.quote_value(target)}"
                )
                yield ("destinations", place), f"a destination must be {message}"
            elif target.startswith(TIMESTAMP) and self.timestamp_roots is None:
                message = "an authority for time stamps needs timestamp_roots, the certificates to check it by"
                yield ("destinations", place), message
