"""A document on its way in: a multipart body that is read as it comes, and written and hashed piece by piece.

Memory stays flat however large it is. The limit holds for what arrives, whatever was announced. Its name is only a
label; what it is, its content says. Whatever goes wrong on the way, nothing is left behind.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
from litestar.enums import RequestEncodingType
from msgspec.structs import replace
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from stateward.app import App
from stateward.app.plugins import Candidate
from stateward.app.rereading import OtherHints
from stateward.blobs import Artifact, Incoming, archives
from stateward.blobs.archives import is_archive
from stateward.core.errors import StageFailure, StatewardError
from stateward.core.machine import SOURCE_TYPE
from stateward.core.model import PRIORITY_REASON, clean_text
from stateward.definition.plugin import AUTO, HEAD_BYTES, Detected
from stateward.schemas import FieldFault
from stateward.server.auth import Asked, Caller, own_machine
from stateward.server.executors import Handover
from stateward.server.problems import ClientGone, Refusal, refusal_of
from stateward.server.service import Service
from stateward.storage.idempotency import Answer

T = TypeVar("T")

FORM = RequestEncodingType.MULTI_PART.value
FILE = "file"
LABEL = "label."
TEXT_FIELDS = ("source_type", "pipeline", "priority", "priority_reason", "reason", "name")
FIELD_BYTES_MAX = 4096
FIELDS_MAX = 64
BLOCK_BYTES = 1 << 20
DRAINED_BYTES_MAX = 4 << 20
NAMED_MAX = 3  # refused files of an archive, in the sentence that refuses it
ENVELOPE_BYTES = 1 << 20  # what the form may add to the document


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """A form that came in whole: its fields, and its document, which is kept."""

    artifact: Artifact
    machine: str
    name: str | None
    labels: dict[str, str]
    priority: str
    reason: str | None
    other: OtherHints | None = None


class RefusedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an archive that was not kept, and why."""

    name: str
    why: str


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """An archive that came in whole: a form for each file in it that was kept."""

    members: tuple[Form | RefusedMember, ...]


class UploadReceiver:
    """One request with a document in it."""

    def __init__(
        self,
        service: Service,
        caller: Caller,
        request: Asked,
        *,
        machine: str,
        required: tuple[str, ...],
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self._service = service
        self._caller = caller
        self._request = request
        self._machine = machine
        self._required = required
        self._aliases = aliases or {}
        own = None if caller.key is None else caller.key.upload_bytes_max
        self._bytes_max = own or service.settings.limits.upload_bytes_max
        self._fields: dict[str, str] = {}
        self._filename: str | None = None
        self._incoming: Incoming | None = None
        self._has_file = False
        self._thread = service.upload_thread()
        self._block = bytearray()
        self._size = 0
        self._part: str | None = None
        self._text = bytearray()
        self._is_whole = False
        self._names_checked: tuple[str, str | None, str | None, bool] | None = None
        self.is_handed_over = False
        """Whether the document was stored and the rest was left to the writer: what fails then is no refusal of it."""

    @property
    def name(self) -> str | None:
        """What the document is called, as far as the form has said it."""
        return self._fields.get("name") or self._filename

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        incoming = self._incoming
        if incoming is not None:
            await self._thread.ask(lambda _: incoming.drop())

    async def form(self) -> Form:
        """Take it all in, check it, and keep the document."""
        form = await self._taken_in(lambda: self._finish(is_opened=False))
        assert isinstance(form, Form)  # noqa: S101 - no archive was to be opened
        return form

    async def form_or_archive(
        self, hand_over: Callable[[Form], Handover | None]
    ) -> Form | Archive | Answer:
        """As `form`; of an archive that no pipeline reads as it is, every file is kept as a document.

        A form that `hand_over`, called by the thread that stored its document, leaves to the writer comes back as the
        writer's answer.
        """

        def then(form: Form | Archive) -> Form | Archive | Handover:
            handover = hand_over(form) if isinstance(form, Form) else None
            self.is_handed_over = handover is not None
            return form if handover is None else handover

        return await self._taken_in(lambda: self._finish(is_opened=True, then=then))

    async def candidates(self) -> list[Candidate]:
        """Take it all in, and say what it may be; nothing of it is kept."""
        return await self._taken_in(self._look)

    async def _taken_in(self, then: Callable[[], Awaitable[T]]) -> T:
        try:
            await self._receive(self._parser())
            return await then()
        except Refusal as refusal:
            raise await self._refusal_mid_body(refusal) from refusal.__cause__
        except StatewardError as error:
            if self.is_handed_over:
                raise
            raise await self._refusal_mid_body(refusal_of(error)) from error
        except MultipartError as error:
            # The library hangs the error of Python on its own sentence as a second argument.
            why = clean_text(str(error.args[0] if error.args else error), chars_max=200)
            message = f"the form cannot be read: {why}"
            raise await self._refusal_mid_body(Refusal("invalid-request", message)) from error

    def _parser(self) -> PushMultipartParser:
        headers = self._request.headers
        kind, options = parse_options_header(headers.get("content-type", ""))
        if kind != FORM or not options.get("boundary") or "content-encoding" in headers:
            found = headers.get("content-encoding") or kind or "nothing"
            raise Refusal(
                "unsupported-content",
                f"send the document as {FORM}, not as {clean_text(found, chars_max=80)}",
                expected=[FORM],
                found=clean_text(found, chars_max=80),
            )
        announced = headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > self._bytes_max + ENVELOPE_BYTES:
            raise self._too_large()
        return PushMultipartParser(
            options["boundary"],
            max_segment_count=FIELDS_MAX,
            strict=True,
        )

    def _too_large(self) -> Refusal:
        return Refusal(
            "too-large",
            f"the document has more than {self._bytes_max} bytes, which is the limit",
            limit=self._bytes_max,
        )

    # Receiving

    async def _receive(self, parser: PushMultipartParser) -> None:
        with parser:
            idle_s = self._service.settings.api.idle_seconds
            async for piece, is_last in pieces(self._request, idle_s=idle_s):
                self._is_whole = is_last
                for event in parser.parse(piece) if piece else ():
                    await self._take(event)

    async def _take(self, event: MultipartSegment | bytes | bytearray | None) -> None:
        if isinstance(event, MultipartSegment):
            await self._begin(event)
        elif event is None:
            self._end()
        elif self._part == FILE:
            self._block += event
            if len(self._block) >= BLOCK_BYTES:
                await self._write_block()
        else:
            self._text += event
            if len(self._text) > FIELD_BYTES_MAX:
                raise Refusal(
                    "invalid-request",
                    f"the field {self._part} has more than {FIELD_BYTES_MAX} bytes",
                    limit=FIELD_BYTES_MAX,
                )

    async def _begin(self, segment: MultipartSegment) -> None:
        name = self._part = self._aliases.get(segment.name, segment.name)
        is_known = name == FILE or name in TEXT_FIELDS or name.startswith(LABEL)
        if not is_known:
            known = ", ".join((FILE, *TEXT_FIELDS, f"{LABEL}<name>"))
            raise Refusal(
                "invalid-request",
                f"there is no field {clean_text(name, chars_max=80)!r}; there are: {known}",
            )
        if name in self._fields or (name == FILE and self._has_file):
            raise Refusal(
                "invalid-request", f"the field {clean_text(name, chars_max=80)} comes twice"
            )
        if name == FILE:
            self._filename, self._has_file = segment.filename, True
            self._check_names()  # those that came before it, so that 2 GB are not sent in vain

    def _end(self) -> None:
        if self._part is not None and self._part != FILE:
            try:
                self._fields[self._part] = self._text.decode()
            except UnicodeDecodeError:
                raise Refusal("invalid-request", f"the field {self._part} is not UTF-8") from None
            self._text.clear()
        self._part = None

    async def _write_block(self) -> None:
        block = bytes(self._block)
        self._block.clear()
        self._size += len(block)
        if self._size > self._bytes_max:
            raise self._too_large()
        if self._incoming is None:
            bytes_max = self._bytes_max
            self._incoming = await self._thread.ask(
                lambda app: app.artifacts.receive(bytes_max=bytes_max)
            )
        incoming = self._incoming
        await self._thread.ask(lambda _: incoming.write(block))

    # Checking

    async def _look(self) -> list[Candidate]:
        self._check_whole()
        incoming, block, machines = self._incoming, bytes(self._block), self._caller.machines
        name = self._fields.get("name") or self._filename or ""
        found = await self._thread.ask(lambda app: _candidates(app, incoming, block, name=name))
        return [each for each in found if not machines or each.machine in machines]

    async def _finish(
        self,
        *,
        is_opened: bool,
        then: Callable[[Form | Archive], object] = lambda form: form,
    ) -> Any:  # noqa: ANN401 - what `then` gives, or what the writer answers with
        self._check_whole()
        self._check_names()
        incoming, block = self._incoming, bytes(self._block)
        name = self._fields.get("name") or self._filename
        labels = {
            key.removeprefix(LABEL): value
            for key, value in self._fields.items()
            if key.startswith(LABEL)
        }
        if given := self._fields.get(PRIORITY_REASON):
            labels[PRIORITY_REASON] = given
        machine, source_type = self._pipeline, self._fields.get("source_type", "")
        declared = {**labels, "source_type": source_type} if source_type else labels
        document = _Document(
            machine=machine,
            machines=self._caller.machines,
            name=name,
            labels=declared,
            priority=self._fields.get("priority") or "5",
            reason=self._fields.get("reason"),
            bytes_max=self._bytes_max,
        )
        return await self._thread.ask(
            lambda app: then(_keep(app, incoming, block, document, is_opened=is_opened))
        )

    def _check_whole(self) -> None:
        """Refuse a form without a needed field, and a document that is empty or too large."""
        missing = [name for name in self._required if name != FILE and not self._fields.get(name)]
        if not self._has_file:
            missing.insert(0, FILE)
        if missing:
            faults = [FieldFault(field=name, sentence="this field is needed") for name in missing]
            raise Refusal(
                "missing-fields", f"fields are missing: {', '.join(missing)}", errors=faults
            )
        size = self._size + len(self._block)
        if size > self._bytes_max:
            raise self._too_large()
        if not size:
            fault = FieldFault(field=FILE, sentence="the document is empty")
            raise Refusal("unprocessable", "the document is empty", errors=[fault])

    @property
    def _pipeline(self) -> str:
        """The machine that is named; `auto` leaves it to the content."""
        return self._fields.get("pipeline") or self._machine or AUTO

    def _check_names(self) -> None:
        """Refuse a pipeline, a source type or a priority that is not there."""
        given, priority = self._fields.get("source_type"), self._fields.get("priority")
        declared = (self._pipeline, given, priority, self._is_whole)
        if declared == self._names_checked:  # mostly they all come before the document
            return
        app = self._service.app
        if self._pipeline != AUTO:
            machine = own_machine(app, self._caller, self._pipeline)
            app.submissions.check_source_type(machine, given)
            if priority:
                app.submissions.priority(machine, priority)
        elif self._is_whole:  # otherwise the pipeline may still come
            app.submissions.check_source_type(AUTO, given)
        self._names_checked = declared

    async def _refusal_mid_body(self, refusal: Refusal) -> Refusal:
        """A refusal in the middle of a body ends the connection: what still comes is no request."""
        if not self._is_whole:
            refusal.headers["Connection"] = "close"
            if refusal.kind.slug != "timed-out":
                await self._drain()
        return refusal

    async def _drain(self) -> None:
        """Read on for a little: a client that still sends would not see the answer."""
        left = DRAINED_BYTES_MAX
        try:
            async with asyncio.timeout(2):
                async for piece, _ in pieces(self._request, idle_s=1):
                    left -= len(piece)
                    if left <= 0:
                        return
        except (TimeoutError, Refusal):
            return


def _candidates(app: App, incoming: Incoming | None, block: bytes, *, name: str) -> list[Candidate]:
    """What a document whose last block this is may be."""
    if incoming is None:
        with app.artifacts.receive(bytes_max=len(block)) as only:
            return _candidates(app, only, block, name=name)
    incoming.write(block)
    return app.plugins.candidates(incoming.path, name=name)


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a form says of its document. `machines` are those that the caller may use; none is all."""

    machine: str
    machines: tuple[str, ...]
    name: str | None
    labels: dict[str, str]
    priority: str
    reason: str | None
    bytes_max: int


def _keep(
    app: App, incoming: Incoming | None, block: bytes, document: _Document, *, is_opened: bool
) -> Form | Archive:
    """Store a document whose last block this is, or each file of an archive.

    Mostly it is the only block, and all is done in one go.
    """
    if incoming is None:
        is_zip = block.startswith(archives.MAGIC)  # so that few are opened to look
        with app.artifacts.receive(bytes_max=len(block)) as only:
            only.write(block)
            if is_opened and is_zip:
                return _keep_whole(app, only, document, is_opened=True)
            return _store_document(app, only, document, head=block[:HEAD_BYTES])
    incoming.write(block)
    return _keep_whole(app, incoming, document, is_opened=is_opened)


def _keep_whole(
    app: App, incoming: Incoming, document: _Document, *, is_opened: bool
) -> Form | Archive:
    if is_opened and is_archive(incoming.path) and not _is_known(app, incoming.path, document):
        return _keep_members(app, incoming.path, document)
    return _store_document(app, incoming, document)


def _store_document(
    app: App, incoming: Incoming, document: _Document, *, head: bytes | None = None
) -> Form:
    """Store a document that is written: the machine that it goes to, and its labels with its source type.

    Last, the hints by which it was not read, where the document is known. `head`: how it begins, if that is at hand.
    """
    machine, name, given = document.machine, document.name or "", dict(document.labels)
    if machine == AUTO:
        machine, found_labels = app.submissions.destination(
            incoming.path, name=name, labels=given, machines=document.machines
        )
        given = dict(found_labels)
    source_type = given.get(SOURCE_TYPE, "")
    app.submissions.check_labels(machine, source_type, given)
    found = _checked_content(
        app, incoming.path, machine, source_type=source_type, name=name, head=head
    )
    if routed := app.plugins.routed_type(machine, found, source_type=source_type):
        given[SOURCE_TYPE] = routed
    artifact = incoming.keep()
    return Form(
        artifact=artifact,
        machine=machine,
        name=document.name,
        labels=given,
        priority=document.priority,
        reason=document.reason,
        other=app.submissions.other_hints(machine, artifact, document.labels),
    )


def _is_known(app: App, path: Path, document: _Document) -> bool:
    return app.submissions.is_known(
        path,
        machine=document.machine,
        source_type=document.labels.get(SOURCE_TYPE),
        name=document.name,
    )


def _keep_members(app: App, path: Path, document: _Document) -> Archive:
    """Store each file of an archive; one that is refused does not stop the others."""
    labels = {**document.labels, archives.LABEL: document.name or "archive"}
    found: list[Form | RefusedMember] = []
    for member in archives.members(path):
        own = replace(document, name=member.name, labels=labels)
        try:
            found.append(_keep_member(app, member, own))
        except (Refusal, StatewardError) as error:
            found.append(RefusedMember(name=member.name, why=str(error)))
    if not any(isinstance(each, Form) for each in found):
        named = "; ".join(f"{each.name}: {each.why}" for each in found[:NAMED_MAX])  # type: ignore[union-attr]
        raise Refusal("unsupported-content", f"no file of the archive can be taken: {named}")
    return Archive(members=tuple(found))


def _keep_member(app: App, member: archives.Member, document: _Document) -> Form:
    with app.artifacts.receive(bytes_max=document.bytes_max) as incoming:
        size = 0
        for piece in member.pieces:
            size += len(piece)
            if size > document.bytes_max:
                limit = document.bytes_max
                raise Refusal("too-large", f"it has more than {limit} bytes, which is the limit")
            incoming.write(piece)
        if not size:
            raise Refusal("unprocessable", "it is empty")
        form = _store_document(app, incoming, document)
    if form.other is not None:
        known = form.other.record.id
        sentence = f"it is stored as {known} and was read with other hints; send it by itself"
        raise Refusal("duplicate", sentence)
    return form


def _checked_content(
    app: App, path: Path, machine: str, *, source_type: str, name: str, head: bytes | None
) -> Detected | None:
    """What a document is by its content; refused where that is not what its source type says."""
    types = app.plugins.source_types(machine)
    wanted = types[source_type].format if source_type in types else ""
    try:
        found = app.plugins.detect(machine, path, source_type=source_type, name=name, head=head)
    except StageFailure as error:
        known = sorted({each.format for each in types.values()} - {""})
        raise Refusal(
            "unsupported-content",
            str(error),
            expected=[wanted] if wanted else known,
            found="unknown",
        ) from error
    if wanted and found is not None and wanted != found.format:
        raise Refusal(
            "unsupported-content",
            f"the source type {source_type} is {wanted}, but the content of this file is {found.format}",
            expected=[wanted],
            found=found.format,
        )
    return found


async def pieces(request: Asked, *, idle_s: float) -> AsyncIterator[tuple[bytes, bool]]:
    """The body of a request as it comes, and whether that was all; silence in the middle is not waited for."""
    is_last = False
    while not is_last:
        try:
            async with asyncio.timeout(idle_s):
                message = await request.receive()
        except TimeoutError:
            raise Refusal(
                "timed-out", f"nothing came for {idle_s:g} s in the middle of the request"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        if message["type"] == "http.request":
            is_last = not message.get("more_body", False)
            yield message.get("body", b""), is_last
