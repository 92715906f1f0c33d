"""Dead letters of the transport: messages of a broker that could not be used, and what a person does about them.

A letter holds no data of its message, so that nothing of a document lies where no erasure reaches it. To send it again
is therefore to have the attempt that it was about done again, from the store, which has all that it needs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stateward import schemas
from stateward.app import App
from stateward.core.errors import InvalidRequest, StatewardError, TransportError
from stateward.core.model import Loss, clean_text, plain_actor
from stateward.storage.audit import AuditEntry
from stateward.transport.channel import Channel
from stateward.transport.messages import (
    RESULT,
    RETURNED,
    SAVED,
    WORK,
    DeadLetterMessage,
    from_bytes,
)

LETTERS_MAX = 1000  # that are looked at, the newest
CHARS_MAX = 500
DROPPED, RESENT = "dead_letter_dropped", "dead_letter_resent"
OF_RECORDS = (WORK, RESULT, SAVED, RETURNED)


def transport_letters(app: App, *, limit: int = LETTERS_MAX) -> list[schemas.TransportLetter]:
    """The newest first; none where work goes through the database. Raises TransportError if the broker is away."""
    if app.settings.transport.is_database:
        return []
    with _channel(app) as channel:
        found = channel.named_dead_letters(limit=min(limit, LETTERS_MAX))
    return [_view(id_, letter) for id_, letter in reversed(found)]


def listed_letters(app: App, *, limit: int) -> schemas.TransportLetters:
    """The same for lists that have more to show: if the broker is away they say so."""
    try:
        return schemas.TransportLetters(items=transport_letters(app, limit=limit))
    except TransportError as error:
        return schemas.TransportLetters(items=[], note=str(error))


def act_on_letters(
    app: App, action: schemas.LetterAction, ids: Sequence[str], *, actor: str
) -> list[schemas.LetterOutcome]:
    """Drop letters, or have what they were about done again and drop them then; for each, what became of it."""
    if app.settings.transport.is_database:
        return [_unknown(each) for each in ids]
    with _channel(app) as channel:
        named = channel.named_dead_letters(limit=LETTERS_MAX)
        known = {id_: _view(id_, letter) for id_, letter in named}
        outcomes = [
            _outcome(app, action, known[each], actor) if each in known else _unknown(each)
            for each in dict.fromkeys(ids)
        ]
        done = [each.id for each in outcomes if each.is_done]
        channel.drop_dead_letters(done)
    app.audit.add([_entry(app, action, known[each], actor) for each in done])
    return outcomes


def _outcome(
    app: App, action: schemas.LetterAction, letter: schemas.TransportLetter, actor: str
) -> schemas.LetterOutcome:
    if action == "drop":
        return schemas.LetterOutcome(id=letter.id, is_done=True, sentence="it is dropped")
    try:
        return schemas.LetterOutcome(
            id=letter.id, is_done=True, sentence=_send_again(app, letter, actor)
        )
    except StatewardError as error:
        return schemas.LetterOutcome(id=letter.id, is_done=False, sentence=str(error))


def _send_again(app: App, letter: schemas.TransportLetter, actor: str) -> str:
    """Have the attempt that a letter is about done again; raises StatewardError where that is not to be done."""
    if letter.record_id is None:
        raise InvalidRequest("it is about no record: it can only be dropped")
    record = app.records.get(letter.record_id)
    work = app.bus.assigned(record.id, record.version)
    if work is None:
        retried = app.actions.act(
            "retry", record.id, actor=actor, reason=f"dead letter: {letter.reason}"
        )
        return f"{record.id} had failed, and is tried again from {retried.status}"
    holder = app.bus.holder(record.id, record.version)
    if holder is not None and holder.worker:
        raise InvalidRequest(f"worker {holder.worker} has the work of {record.id}: wait for it")
    if not app.bus.waits_for_worker(record.id, record.version):
        # As a loss, which makes it another delivery: what comes of the former one is dropped.
        cause = f"{plain_actor(actor)} had it sent again"
        app.bus.return_lost(work, Loss(worker="", has_begun=False, cause=cause))
    return f"the work of {record.id} is sent again"


def _unknown(id_: str) -> schemas.LetterOutcome:
    sentence = f"it is not among the newest {LETTERS_MAX} dead letters of the transport"
    return schemas.LetterOutcome(id=id_, is_done=False, sentence=sentence)


def _entry(
    app: App, action: schemas.LetterAction, letter: schemas.TransportLetter, actor: str
) -> AuditEntry:
    return AuditEntry(
        at=app.clock(),
        actor=actor,
        verb=DROPPED if action == "drop" else RESENT,
        record_id=letter.record_id if letter.record_id and _is_known(app, letter) else "",
        detail={"letter": letter.id, "stream": letter.stream, "why": letter.reason},
    )


def _is_known(app: App, letter: schemas.TransportLetter) -> bool:
    return app.store.get(letter.record_id or "") is not None


def _view(id_: str, letter: DeadLetterMessage) -> schemas.TransportLetter:
    """A letter as outsiders see it. What it says of itself may be of anybody."""
    kind, record_id, source = "message", None, ""
    try:
        head = from_bytes(letter.head.encode())
    except ValueError:
        pass
    else:
        kind = clean_text(head.type, chars_max=CHARS_MAX)
        source = clean_text(head.source, chars_max=CHARS_MAX)
        if head.type in OF_RECORDS:
            record_id = clean_text(head.subject, chars_max=CHARS_MAX) or None
    return schemas.TransportLetter(
        id=id_,
        at=clean_text(letter.at, chars_max=CHARS_MAX),
        stream=clean_text(letter.stream, chars_max=CHARS_MAX),
        kind=kind,
        reason=clean_text(letter.reason, chars_max=CHARS_MAX),
        record_id=record_id,
        source=source,
        size=letter.size,
        sha256=letter.sha256,
    )


@contextmanager
def _channel(app: App) -> Iterator[Channel]:
    from stateward.app.remote import open_engine

    own = app.settings.transport
    channel = Channel(open_engine(app.settings, "letters"), clock=app.clock, prefix=own.prefix)
    try:
        yield channel
    finally:
        channel.close()
