"""Documents in: what comes with a request is received, stored and given its record, or only looked at.

Mostly the thread that stores a document leaves the rest to the writer. What is refused is noted for the caller, and no
request with the same Idempotency-Key comes in between.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from stateward import schemas
from stateward.app import App
from stateward.app.rereading import OtherHints, Reading
from stateward.core.errors import StatewardError
from stateward.definition.plugin import AUTO
from stateward.engine.coordinator import Submission, Submitted
from stateward.server import views
from stateward.server.auth import Asked, Caller, caller_of, confirm_caller, service_of, still_let_in
from stateward.server.executors import Call, Handover, Open, Write
from stateward.server.headers import once_of, trace_of
from stateward.server.problems import Refusal
from stateward.server.refused_uploads import note_refusal
from stateward.server.service import Service
from stateward.server.upload_stream import Archive, Form, RefusedMember, UploadReceiver
from stateward.storage.idempotency import Answer, IdempotentRequest

Members = list[schemas.ArchiveMember] | UnsetType


async def submit_document(
    request: Asked,
    *,
    machine: str,
    required: tuple[str, ...],
    key: str | None,
    answer: Callable[[App, Submitted, Members], Answer],
) -> Answer:
    """Receive a document and create its record; the same bytes again give the record that exists.

    Of an archive, each file is a document: all of their records are created in one transaction.
    """
    service, caller = service_of(request), caller_of(request)
    app = service.app
    # The key is claimed before the document is read: a second request with it is refused at once, not after the upload.
    claim = once_of(caller, request, key, ())
    trace = trace_of(request)
    condition = still_let_in(service, caller)

    def answer_one(app: App, opened: Submitted) -> Answer:
        return answer(app, opened, UNSET)

    def hand_over(form: Form) -> Handover | None:
        """Leave a document to the writer, unless there is more to do for it."""
        if form.other is not None:
            return None
        submission = _submission(app, form, caller, trace)
        once = once_of(caller, request, key, _content([submission]))
        write = Write(intent=Open(submission), answer=answer_one, once=once, condition=condition)
        return Handover(service.writer, write)

    try:
        service.writer.begin(claim)
    except Refusal:
        await confirm_caller(request)
        raise
    try:
        async with UploadReceiver(
            service, caller, request, machine=machine, required=required
        ) as receiver:
            try:
                form = await receiver.form_or_archive(hand_over)
            except (Refusal, StatewardError) as error:
                await confirm_caller(request)
                if isinstance(error, Refusal) and not receiver.is_handed_over:
                    await note_refusal(service, caller, error, name=receiver.name)
                raise
        if isinstance(form, Answer):
            return form
        await confirm_caller(request)
        forms = [form] if isinstance(form, Form) else form.members
        kept = [each for each in forms if isinstance(each, Form)]
        submissions = [_submission(app, each, caller, trace) for each in kept]
        once = once_of(caller, request, key, _content(submissions))
        if isinstance(form, Archive):
            for refused in (each for each in forms if isinstance(each, RefusedMember)):
                refusal = Refusal("unsupported-content", refused.why)
                await note_refusal(service, caller, refusal, name=refused.name)
            return await _open_archive(service, form, submissions, answer, once)
        assert form.other is not None  # noqa: S101 - or it was handed over
        intent = await _correction(service, caller, form.other, reason=form.reason)
        return await service.writer.write(intent, answer_one, once=once)
    finally:
        service.writer.end(claim)


def _content(submissions: Sequence[Submission]) -> list[bytes]:
    """What makes a request the same one: the same document, whatever trace it comes with, and with known bytes."""
    plain = [replace(each, trace=None, is_artifact_known=False) for each in submissions]
    return [msgspec.json.encode(each, order="sorted") for each in plain]


def _submission(app: App, form: Form, caller: Caller, trace: str | None) -> Submission:
    return app.submissions.prepare(
        form.artifact,
        machine=form.machine,
        name=form.name,
        labels=form.labels,
        priority=form.priority,
        actor=caller.actor,
        reason=form.reason,
        trace=trace,
    )


async def _open_archive(
    service: Service,
    archive: Archive,
    submissions: Sequence[Submission],
    answer: Callable[[App, Submitted, Members], Answer],
    once: IdempotentRequest | None,
) -> Answer:
    """The records of all files of an archive; the answer is that of the first new one, with what became of each."""

    def say(app: App, opened: list[Submitted]) -> Answer:
        each_opened = iter(opened)
        members = [_member(each, each_opened) for each in archive.members]
        first = next((each for each in opened if not each.is_duplicate), opened[0])
        return answer(app, first, members)

    return await service.writer.write(
        Call(lambda app: app.submissions.create(submissions)), say, once=once
    )


def _member(each: Form | RefusedMember, opened: Iterator[Submitted]) -> schemas.ArchiveMember:
    if isinstance(each, RefusedMember):
        return schemas.ArchiveMember(name=each.name, problem=each.why)
    submitted = next(opened)
    return schemas.ArchiveMember(
        name=each.name or "",
        record_id=submitted.record.id,
        is_duplicate=submitted.is_duplicate,
    )


async def _correction(
    service: Service, caller: Caller, other: OtherHints, *, reason: str | None
) -> Call:
    """How a known document is read with the hints that it came with: it is read here, and stored by the writer."""
    if not caller.may("act"):
        names = ", ".join(sorted(other.hints))
        raise Refusal(
            "duplicate",
            f"duplicate: the same bytes are stored as {other.record.id}, and were not read with the {names} that came "
            "with them now; to read them again, the right to act is needed",
        )

    def look(app: App) -> Reading | None:
        try:
            return app.editions.read_other(other)
        finally:
            app.editions.release()

    reading = await service.upload_thread().ask(look)

    def correct(app: App) -> Submitted:
        return app.editions.correct(other, reading, actor=caller.actor, reason=reason)

    return Call(correct)


async def detect_document(request: Asked) -> Answer:
    """What a document may be, asked of every pipeline that the caller may use. Nothing is kept."""
    service, caller = service_of(request), caller_of(request)
    async with UploadReceiver(
        service, caller, request, machine=AUTO, required=("file",)
    ) as receiver:
        found = await receiver.candidates()
    return views.json_answer(
        schemas.Detection(items=[views.candidate_view(each) for each in found])
    )
