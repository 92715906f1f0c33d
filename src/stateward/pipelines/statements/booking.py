"""What the status of an entry says: booked, not yet, or never. The words are those of banks, in several languages."""

BOOKED = frozenset(
    """booked completed complete cleared posted settled ok done executed reconciled gebucht comptabilisé contabilizado
    contabilizzato geboekt zaksięgowano success successful issued approved uitgevoerd bokförd
    udført gennemført gjennomført sent zrealizowana rozliczona zaúčtováno realizováno könyvelt gerçekleşti
    成功 交易成功 支付成功 已入账 完了 确认 исполнено проведено выполнено""".split()
) | {"umsatz gebucht"}
PENDING = frozenset(
    """pdng info futr pending vorgemerkt pendiente authorised authorized processing offen scheduled upcoming hold
    venter afventer kommende varaus katevaraus reservation réservé oczekująca čeká blokace függő bekleyen bekliyor
    uncleared onderweg 处理中 ожидание reserved reserviert reservert reserverad väntande""".split()
) | {
    "en attente",
    "in attesa",
    "non contabilizzato",
    "not booked",
    "on hold",
    "umsatz vorgemerkt",
    "in progress",
    "in behandeling",
    "à venir",
}
FAILED = frozenset(
    """declined reverted failed cancelled canceled rejected denied returned voided void refused storniert abgelehnt
    annulé refusé rechazado cancelado anulado annullato rifiutato geweigerd expired error odrzucono failure 失败
    odrzucona anulowana zamítnuto afvist avvist hylätty reddedildi iptal
    交易关闭 已取消 отклонено отменено reversed""".split()
) | {"payment failed", "transaction failed"}
NOT_BOOKED = PENDING | FAILED
KNOWN = BOOKED | NOT_BOOKED


def booking_status(text: str) -> str:
    """Tell whether an entry is "pending" or "failed"; "" if it is booked, or if nothing is known."""
    word = text.strip().casefold()
    if word in PENDING:
        return "pending"
    return "failed" if word in FAILED else ""
