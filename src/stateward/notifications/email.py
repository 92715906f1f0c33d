"""Email to the administrator: the text of an alert or a digest, and its delivery by SMTP.

`smtps://` is TLS from the first byte. `smtp://` changes to TLS (STARTTLS) where the server offers it, and a password is
never sent without it. An email holds ids, codes and error messages, never what a document says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import msgspec

from stateward.core.model import SECOND, Micros, clean_text, plural, to_iso
from stateward.notifications.alerts import Alert, Topic

# Python's own mail takes a while to import: a service without an address to write to need not wait for it.
if TYPE_CHECKING:
    import smtplib
    import ssl
    from email.headerregistry import Address
    from email.message import EmailMessage

TIMEOUT_S = 30.0
ALERTS_LISTED_MAX = 100
SUBJECT_CHARS_MAX = 150
LINE_CHARS_MAX = 250  # longer than any subject, so that it is not folded before its first word
MESSAGE_CHARS_MAX = 500
ERROR_CHARS_MAX = 500
PORTS = {"smtp": 25, "smtps": 465}

# For each topic: the words of the subject, and the end of the first sentence.
WORDING: dict[Topic, tuple[str, str]] = {
    "exhausted": (
        "retries used up",
        "has used up its retries and stays failed until a person acts",
    ),
    "failed": ("failed", "failed with an error that no retry can fix; it needs your attention"),
    "stuck": ("stuck", "did not finish in time"),
    "review": ("needs review", "waits for a decision"),
    "webhook": ("webhook failing", "does not accept webhooks"),
    "source": ("source failing", "is a source of which many records fail"),
}


class EmailAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """Sender and recipient, and the public URL of the service for links."""

    sender: str
    recipient: str
    public_url: str | None = None


class Mailer:
    """Sends emails through one server."""

    def __init__(
        self, smtp_url: str, *, ca_file: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        parts = urlsplit(smtp_url)
        self._is_tls = parts.scheme == "smtps"
        self._host = parts.hostname or ""
        self._port = parts.port or PORTS[parts.scheme]
        self._user, self._password = unquote(parts.username or ""), unquote(parts.password or "")
        self._ca_file = ca_file
        self._timeout_s = timeout_s

    def send(self, message: EmailMessage) -> str | None:
        """Send it; the reason why that failed, or None. No reason contains the password."""
        import smtplib

        try:
            with self._connect() as server:
                server.send_message(message)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if self._password:
                reason = reason.replace(self._password, "***")
            return clean_text(f"{self._host}:{self._port}: {reason}", chars_max=ERROR_CHARS_MAX)
        return None

    def _connect(self) -> smtplib.SMTP:
        import smtplib

        if self._is_tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=self._timeout_s, context=self._tls_context()
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)
        try:
            self._log_in(server)
        except BaseException:
            server.close()
            raise
        return server

    def _tls_context(self) -> ssl.SSLContext:
        """Made where TLS is spoken alone: it reads all certificates of the system."""
        import ssl

        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(self._ca_file)
        return context

    def _log_in(self, server: smtplib.SMTP) -> None:
        server.ehlo_or_helo_if_needed()
        is_encrypted = self._is_tls
        if not is_encrypted and server.has_extn("starttls"):
            server.starttls(context=self._tls_context())
            server.ehlo()  # the server may offer other extensions, such as AUTH, under TLS
            is_encrypted = True
        if self._user:
            if not is_encrypted and not _is_loopback(self._host):
                raise OSError(
                    f"{self._host} offers no TLS, and the password is not sent without it; use smtps://"
                )
            server.login(self._user, self._password)


def compose_plain(
    addresses: EmailAddresses, *, subject: str, text: str, now: Micros
) -> EmailMessage:
    """An email of one text, which a mail server recognises when it comes again."""
    from email.message import EmailMessage
    from email.policy import default
    from email.utils import format_datetime

    message = EmailMessage(policy=default.clone(max_line_length=LINE_CHARS_MAX))
    message["From"] = _address(addresses.sender)
    message["To"] = _address(addresses.recipient)
    message["Date"] = format_datetime(datetime.fromtimestamp(now // SECOND, UTC))
    digest = sha256(text.encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{digest}@{addresses.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office reply, please
    message["Subject"] = clean_text(_one_line(subject), chars_max=SUBJECT_CHARS_MAX)
    message.set_content(text)
    return message


def compose(alerts: Sequence[Alert], addresses: EmailAddresses, *, now: Micros) -> EmailMessage:
    """One email about one alert, or a digest of many."""
    is_one = len(alerts) == 1
    message = compose_plain(
        addresses,
        subject=_subject(alerts),
        text=_text(alerts[0], addresses) if is_one else _digest(alerts, addresses),
        now=now,
    )
    # Derived from the alerts: a mail server can recognise a repetition.
    digest = sha256("\n".join(each.id for each in alerts).encode()).hexdigest()[:32]
    message.replace_header("Message-ID", f"<{digest}@{addresses.sender.rpartition('@')[2]}>")
    return message


def _address(text: str) -> Address:
    from email.headerregistry import Address

    name, _, domain = text.rpartition("@")
    return Address(username=name, domain=domain)


def _subject(alerts: Sequence[Alert]) -> str:
    if len(alerts) == 1:
        (alert,) = alerts
        code = alert.facts.get("error_code")
        severity = f"{alert.facts['severity']}: " if alert.facts.get("severity") else ""
        name = f" ({alert.facts['filename']})" if severity and alert.facts.get("filename") else ""
        words = f"{severity}{alert.record_id}{name} {WORDING[alert.topic][0]}"
        words += f": {code}" if code else ""
    else:
        counts = Counter(WORDING[each.topic][0] for each in alerts)
        words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    return _one_line(f"[Stateward] {words}")


def _text(alert: Alert, addresses: EmailAddresses) -> str:
    facts = alert.facts
    errors = [
        _one_line(str(facts[key])) for key in ("error_code", "error_message") if facts.get(key)
    ]
    shown = {
        "severity": facts.get("severity"),
        "document": facts.get("filename"),
        "priority": " ".join(
            str(facts[key]) for key in ("priority", "priority_reason") if facts.get(key)
        ),
        "status": facts.get("status"),
        "error": ": ".join(errors),
        "retries": facts.get("retry_count"),
        "review": facts.get("review"),
        "host": facts.get("url"),
        "since": to_iso(alert.created_at),
    }
    lines = [f"{alert.record_id} ({alert.machine}) {WORDING[alert.topic][1]}.", ""]
    lines += [
        f"{key:8} {clean_text(str(value), chars_max=MESSAGE_CHARS_MAX)}"
        for key, value in shown.items()
        if value not in (None, "")
    ]
    lines.append("")
    if alert.topic == "webhook":
        lines += [
            f"look:    stateward webhook show {alert.record_id}",
            "         stateward webhook dead",
        ]
    elif alert.topic == "source":
        query = f"machine:{alert.machine} source:{facts['source_type']} error:{facts['error_code']}"
        lines += [
            f"look:    stateward list '{query}'",
            f"retry:   stateward retry --query '{query}'",
        ]
    else:
        if addresses.public_url:
            lines.append(f"open:    {addresses.public_url}/records/{alert.record_id}")
        lines += [
            f"look:    stateward explain {alert.record_id}",
            f"retry:   stateward retry {alert.record_id}",
        ]
    return "\n".join(lines) + "\n"


def _digest(alerts: Sequence[Alert], addresses: EmailAddresses) -> str:
    causes = Counter(
        (each.machine, WORDING[each.topic][0], str(each.facts.get("error_code") or ""))
        for each in alerts
    )
    lines = [f"{plural(len(alerts), 'alert')}.", ""]
    lines += [
        f"{count:6} {machine} {word} {code}".rstrip()
        for (machine, word, code), count in causes.most_common()
    ]
    lines.append("")
    for each in alerts[:ALERTS_LISTED_MAX]:
        is_record = addresses.public_url and each.topic not in ("source", "webhook")
        link = f"  {addresses.public_url}/records/{each.record_id}" if is_record else ""
        severity = f"{each.facts['severity']}: " if each.facts.get("severity") else ""
        subject = f"{severity}{WORDING[each.topic][0]}"
        lines.append(f"{to_iso(each.created_at)}  {each.record_id}  {subject}{link}")
    if len(alerts) > ALERTS_LISTED_MAX:
        lines.append(f"… and {len(alerts) - ALERTS_LISTED_MAX} more")
    lines += ["", "causes:  stateward errors"]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _is_loopback(host: str) -> bool:
    """Whether what is sent there does not leave this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
