"""A real mail server that stores what it receives, and refuses as a test says."""

import asyncio
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


class MailServer:
    """Received mails; answers each with the next of `answers`, and then accepts."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.mails: list[EmailMessage] = []
        self.recipients: list[str] = []
        self.logins: list[tuple[str, bool]] = []
        self.was_encrypted: list[bool] = []
        self.port = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.answers:
            return self.answers.pop(0)
        content = envelope.content or b""
        raw = content if isinstance(content, bytes) else content.encode()
        mail = message_from_bytes(raw, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.recipients += envelope.rcpt_tos
        transport = server.transport
        assert transport is not None
        self.was_encrypted.append(transport.get_extra_info("sslcontext") is not None)
        return "250 kept"

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        is_right = data == LoginPassword(b"ann", b"ge%heim@")
        self.logins.append((data.login.decode(), is_right))
        return AuthResult(success=is_right, handled=False)

    @property
    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for mail in self.mails]

    @property
    def texts(self) -> list[str]:
        return [mail.get_content() for mail in self.mails]


@contextmanager
def mail_server(
    *answers: str,
    tls: ssl.SSLContext | None = None,
    is_tls_from_the_start: bool = False,
    needs_login: bool = False,
) -> Iterator[MailServer]:
    """A mail server at a port of its own; with `tls` it offers STARTTLS, or speaks it from the start."""
    received = MailServer(*answers)
    loop = asyncio.new_event_loop()

    def protocol() -> SMTP:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it would rather not be asked for a login without TLS
            return SMTP(
                received,
                hostname="mail.example.com",
                tls_context=None if is_tls_from_the_start else tls,
                authenticator=received.authenticate,
                auth_required=needs_login,
                auth_require_tls=False,
                loop=loop,
            )

    server = loop.run_until_complete(
        loop.create_server(protocol, "127.0.0.1", 0, ssl=tls if is_tls_from_the_start else None)
    )
    received.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
