"""Mail to the admin by SMTP: what it says, and how it is handed over.

`smtps://` is TLS from the first byte. `smtp://` changes to TLS (STARTTLS) where the server offers it, and a password
is never sent without. What a document says is not in a mail: only ids, codes and the messages of errors.
"""

import smtplib
import ssl
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import msgspec

from stateward.core.model import (
    SECOND,
    Micros,
    clean_text,
    to_iso,
)
from stateward.notifications.email import Email

TIMEOUT_S = 30.0
LINES_MAX = 100
SUBJECT_CHARS_MAX = 150
LINE_CHARS_MAX = 250  # so that a subject is not broken before its first word
MESSAGE_CHARS_MAX = 500
ERROR_CHARS_MAX = 500
PORTS = {"smtp": 25, "smtps": 465}

# What is said of each kind of news: in the subject, and in the first line.
WORDS = {
    "exhausted": ("given up", "has used up its retries and rests until somebody acts"),
    "failed": ("failed", "failed in a way that no retry mends, and rests until somebody acts"),
    "stuck": ("stuck", "did not get on in its time"),
    "review": ("asks for a review", "waits for a person to decide"),
    "webhook": ("webhook trouble", "is told nothing until somebody looks at it"),
}


class Mailbox(msgspec.Struct, frozen=True, kw_only=True):
    """From whom to whom, and where people reach the service."""

    sender: str
    recipient: str
    public_url: str | None = None


class Mailer:
    """Hands mails over to a server."""

    def __init__(
        self, smtp_url: str, *, ca_file: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        parts = urlsplit(smtp_url)
        self._is_tls = parts.scheme == "smtps"
        self._host = parts.hostname or ""
        self._port = parts.port or PORTS[parts.scheme]
        self._login = (unquote(parts.username or ""), unquote(parts.password or ""))
        self._ca_file = ca_file
        self._timeout_s = timeout_s

    def send(self, message: EmailMessage) -> str | None:
        """Hand it over; why that did not work, or None. The password is in no answer."""
        try:
            with self._connected() as server:
                server.send_message(message)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return self._said(error)
        return None

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(self._ca_file)
        if self._is_tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=self._timeout_s, context=context
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)
        try:
            self._introduced(server, context)
        except BaseException:
            server.close()
            raise
        return server

    def _introduced(self, server: smtplib.SMTP, context: ssl.SSLContext) -> None:
        server.ehlo_or_helo_if_needed()
        is_secret = self._is_tls
        if not is_secret and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            is_secret = True
        user, password = self._login
        if user:
            if not is_secret and not _is_own(self._host):
                raise OSError(
                    f"{self._host} offers no TLS, and the password is not sent without; use smtps://"
                )
            server.login(user, password)

    def _said(self, error: Exception) -> str:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if self._login[1]:
            said = said.replace(self._login[1], "***")
        return clean_text(f"{self._host}:{self._port}: {said}", chars_max=ERROR_CHARS_MAX)


def composed(letters: Sequence[Email], box: Mailbox, *, now: Micros) -> EmailMessage:
    """One mail for one letter, or for many."""
    message = EmailMessage(policy=default.clone(max_line_length=LINE_CHARS_MAX))
    message["From"] = _address(box.sender)
    message["To"] = _address(box.recipient)
    message["Date"] = format_datetime(datetime.fromtimestamp(now // SECOND, UTC))
    digest = sha256("\n".join(each.id for each in letters).encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{digest}@{box.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message["Subject"] = clean_text(_subject(letters), chars_max=SUBJECT_CHARS_MAX)
    text = _one(letters[0], box) if len(letters) == 1 else _many(letters, box)
    message.set_content(text)
    return message


def _address(text: str) -> Address:
    name, _, domain = text.rpartition("@")
    return Address(username=name, domain=domain)


def _subject(letters: Sequence[Email]) -> str:
    if len(letters) == 1:
        letter = letters[0]
        code = letter.facts.get("error_code")
        said = f"{letter.record_id} {WORDS[letter.topic][0]}" + (f": {code}" if code else "")
    else:
        counts = Counter(WORDS[each.topic][0] for each in letters)
        said = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return _one_line(f"[Stateward] {said}")


def _one(letter: Email, box: Mailbox) -> str:
    lines = [
        f"{letter.record_id} ({letter.machine}) {WORDS[letter.topic][1]}.",
        "",
        *_facts(letter),
        "",
    ]
    lines += _where(letter, box)
    return "\n".join(lines) + "\n"


def _facts(letter: Email) -> list[str]:
    facts = letter.facts
    told = {
        "status": facts.get("status"),
        "error": ": ".join(
            _one_line(str(facts[key])) for key in ("error_code", "error_message") if facts.get(key)
        ),
        "retries": facts.get("retry_count"),
        "review": facts.get("review"),
        "host": facts.get("url"),
        "since": to_iso(letter.created_at),
    }
    return [
        f"{key:8} {clean_text(str(value), chars_max=MESSAGE_CHARS_MAX)}"
        for key, value in told.items()
        if value not in (None, "")
    ]


def _where(letter: Email, box: Mailbox) -> list[str]:
    if letter.topic == "webhook":
        return [
            f"look:    stateward webhook show {letter.record_id}",
            "         stateward webhook dead",
        ]
    link = [f"open:    {box.public_url}/records/{letter.record_id}"] if box.public_url else []
    return [
        *link,
        f"look:    stateward explain {letter.record_id}",
        f"retry:   stateward retry {letter.record_id}",
    ]


def _many(letters: Sequence[Email], box: Mailbox) -> str:
    causes = Counter(
        (each.machine, WORDS[each.topic][0], str(each.facts.get("error_code") or ""))
        for each in letters
    )
    lines = [f"{len(letters)} things need a look.", ""]
    lines += [
        f"{count:6} {machine} {word} {code}".rstrip()
        for (machine, word, code), count in causes.most_common()
    ]
    lines.append("")
    for each in letters[:LINES_MAX]:
        link = f"  {box.public_url}/records/{each.record_id}" if box.public_url else ""
        lines.append(f"{to_iso(each.created_at)}  {each.record_id}  {WORDS[each.topic][0]}{link}")
    if len(letters) > LINES_MAX:
        lines.append(f"… and {len(letters) - LINES_MAX} more")
    lines += ["", "causes:  stateward errors"]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_own(host: str) -> bool:
    """Whether what is sent there does not leave this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
