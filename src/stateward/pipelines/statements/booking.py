"""What the status of an entry says: booked, not yet, or never. The words are those of banks, in several languages."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from stateward.pipelines.statements.headings import simplify
from stateward.pipelines.statements.model import StatementRow

BOOKED = frozenset(
    """booked completed complete cleared posted settled ok done executed reconciled gebucht comptabilisé contabilizado
    contabilizzato geboekt zaksięgowano success successful issued approved uitgevoerd bokförd
    udført gennemført gjennomført sent zrealizowana rozliczona zaúčtováno realizováno könyvelt gerçekleşti
    成功 交易成功 支付成功 已入账 完了 确认 исполнено проведено выполнено
    deposited received paid processed succeeded accepted geaccepteerd aceptado aceito accettato accepté akzeptiert
    efectuado realizado efetuado concluído pagado pagato payé bezahlt betald betalt maksettu zaplaceno zapłacono
    teljesült tamamlandı onaylandı
    ολοκληρώθηκε виконано успешно berhasil sukses selesai 완료 정상 승인 הושלם مكتمل ناجحة
    สำเร็จ abgeschlossen terminé effectué completado completata completato voltooid concluída concluido completada
    ukończono zakończono zakończona slutförd fuldført fullført suoritettu dokončeno befejezett kész finalizado
    завершено завершена выполнена""".split()
) | {"umsatz gebucht", "thành công"}
PENDING = frozenset(
    """pdng info futr pending vorgemerkt pendiente authorised authorized processing offen scheduled upcoming hold
    venter afventer kommende varaus katevaraus reservation réservé oczekująca čeká blokace függő bekleyen bekliyor
    uncleared onderweg 处理中 ожидание reserved reserviert reservert reserverad väntande reserveret prel preliminär
    preliminärt rezervováno blokada zablokowana zarezerwowana zárolt zárolás varattu beklemede provizyon pendente
    δεσμευμένο εκκρεμεί обрабатывается холд заблоковано очікується
    tertunda diproses 대기 보류 승인대기 保留 未確定 未入账
    ausstehend ממתין معلق autorizzato autorizado autorisé autorisiert geautoriseerd""".split()
) | {
    "en attente",
    "in sospeso",
    "in attesa",
    "non contabilizzato",
    "not booked",
    "on hold",
    "umsatz vorgemerkt",
    "in progress",
    "in behandeling",
    "à venir",
    "en cours",
    "en proceso",
    "em processamento",
    "in bearbeitung",
    "in elaborazione",
    "in lavorazione",
    "under behandling",
    "w trakcie",
    "w trakcie realizacji",
    "w realizacji",
    "feldolgozás alatt",
    "в обработке",
    "в процессе",
}
FAILED = frozenset(
    """declined reverted failed cancelled canceled rejected denied returned voided void refused storniert abgelehnt
    annulé refusé rechazado cancelado anulado annullato rifiutato geweigerd expired error odrzucono failure 失败
    odrzucona anulowana zamítnuto afvist avvist hylätty reddedildi iptal
    交易关闭 已取消 отклонено отменено reversed unsuccessful geannuleerd annulleret annullert annullerad peruttu avslag
    zrušeno elutasítva törölve başarısız ακυρώθηκε απορρίφθηκε отказ скасовано відхилено gagal dibatalkan 실패 취소
    取消 失敗 נדחה בוטל مرفوض ملغي ملغاة""".split()
) | {"payment failed", "transaction failed"}
# What a card or a bank agrees to is booked later: beside rows that are booked, it may be still to come.
ACCEPTED = frozenset(
    "approved accepted geaccepteerd aceptado aceito accettato accepté akzeptiert onaylandı 승인".split()
)
NOT_BOOKED = PENDING | FAILED
KNOWN = BOOKED | NOT_BOOKED
# Words that say so in any column; the others mean too much else.
UNBOOKED = NOT_BOOKED - {"info", "futr", "error", "returned", "scheduled", "offen"}


# Phrases that say so inside a description: a lone word may be of a shop, or of what was bought.
_UNBOOKED_PHRASES = (
    "transakcja nierozliczona", "operacja nierozliczona", "blokada środków", "pending transaction",
    "pending authorization", "pending authorisation", "pending purchase", "noch nicht gebucht", "vorgemerkter umsatz",
    "opération en attente", "non comptabilisé", "no contabilizad", "pendiente de contabiliz", "non contabilizzat",
    "nog niet verwerkt", "ej bokförd", "reserverat belopp",
)  # fmt: skip
# At the start or the end of a text: within it, they tell of another entry.
_ANY_PHRASE = "|".join(_UNBOOKED_PHRASES)
_UNBOOKED_WITHIN = re.compile(rf"\b({_ANY_PHRASE})")
_UNBOOKED_EDGE = re.compile(rf"^\W*({_ANY_PHRASE})|\b({_ANY_PHRASE})\w*\W*$")


# What a remark below or beside a row says that was booked in error: a shop, or a fee for something returned, does not.
_ANNULLED = re.compile(
    r"\b(?:(?:transaction|payment|entry|booking) (?:was |has been )?(?:cancell?ed|voided|annulled|reversed in full)"
    r"|(?:entered|recorded|booked|posted) in error|(?:is )?not counted|not included in the balance"
    r"|buchung (?:wurde )?storniert|stornierte buchung|irrtumlich gebucht"
    r"|(?:operation|transaction|ecriture) annulee|saisi[es]? par erreur|non comptee?"
    r"|(?:operacion|transaccion|operacao|transacao) (?:anulada|cancelada)|(?:operazione|transazione) annullata"
    r"|(?:operatiune|tranzactie) anulata|din eroare|nu se ia in calcul"
    r"|(?:operacja|transakcja) anulowana|transactie geannuleerd|transaktion makulerad|annulleret transaktion)\b"
)


_COUNTS_NOT = "zählt nicht"  # without its accent it is what a debtor does: he does not pay


_ANNULLED_NAMES = frozenset(
    """void voided cancelled canceled annulled reversed storno storniert stornierung stornokennzeichen annule annulee
    anulado anulada anulacion annullato annullata stornato geannuleerd annulleret annullert makulerad peruttu anulowana
    anulowane stornovano deleted""".split()
)
# A reversal is booked; what was reversed may not be.
_CANCELLED_WORD = (
    r"cancell?ed|reversed|void(?:ed)?|annulled|storniert|annul[ée]e?|anulad[oa]|cancelad[oa]|annullat[oa]|stornat[oa]"
    r"|geannuleerd|annulleret|annullert|annullerad|makulerad|peruttu|anulowan[aeo]|stornován[oa]|zrušen[oa]|törölve"
    r"|anulat[ăa]?|отмен[её]н[оа]?|аннулирован[оа]?"
)
_CANCELLED = re.compile(rf"(?<!\w)(?:{_CANCELLED_WORD})(?!\w)")
_CANCELLED_ALONE = re.compile(
    rf"(?:^\W*|[(\[{{<*:|;/]\s*|\s[-–—]\s*)({_CANCELLED_WORD})(?=\W*$|\s*[)\]}}>*:|;/]|\s*[-–—](?:\s|$))"
)
_EDGE_SIGNS = "()[]{}<>:*-–—.,;|/!"
_ARTICLES = frozenset("the a an of la le el il der die das den de den het".split())
_FOR_ANOTHER = frozenset(
    """fee fees charge charges refund refunded refunds gebühr gebühren entgelt erstattung rückerstattung frais
    remboursement comisión comision reembolso devolución devolucion commissione rimborso kosten terugbetaling avgift
    gebyr återbetalning opłata zwrot reembolsado estorno""".split()
)
_PENDING_NAMES = frozenset(
    """pending vorgemerkt reserved reserviert uncleared unbooked pendiente pendente reserverad reserveret reservert
    uitgesteld oczekujaca""".split()
) | {"on hold", "en attente", "in attesa", "not booked"}
_BOOKED_NAMES = frozenset(
    """booked posted cleared settled gebucht verbucht comptabilise comptabilisee contabilizado contabilizzato geboekt
    verwerkt bokford bokfort bogfort zaksiegowano zauctovano konyvelt""".split()
)
_DENIED = frozenset("n no false f 0 nein non nee nej nei ei nie ne nao não".split())
# Words of titles above rows that are planned, expected, refused or only told for information.
_DOUBTFUL_TITLE = re.compile(
    r"\b(?:not|nicht|niet|nog|ikke|inte|nie|planned|planning|geplante?[nrs]?|planlagte?|planerade?|planowane"
    r"|prevues?|prevus?|previst[oaei]s?|programmat[oaei]|programad[oa]s?|gepland[e]?|forecast|expected|erwartete?"
    r"|future|futur[oae]?s?|kunftige?|upcoming|anstehende?|kommende|scheduled|draft|estimated|declined|failed"
    r"|refused|rejected|abgelehnte?|stornierte?|annul[ea]\w*|attempted|blocked|reserved|reservierte?|reservas"
    r"|held|hold|disputed|next month|nachste\w*|for information|zur information|pour information)\b"
)
_NOTHING = re.compile(r"[^\w]{0,2}0[.,]0+", re.ASCII)  # of a column of amounts that are pending
_NOT_ANNULLED = frozenset("no n false f 0 nein non nee nej nei ei nie ne não nao - –".split()) | {
    ""
}
_TRUE = frozenset("true yes ja oui si sí tak ano igen".split())
NEGATIONS = frozenset(
    "not no non nicht niet ikke inte ej ei nie ne nem não nao pas nu не δεν 未".split()
)
# Beside a word for what is done, they say that it is not, or not yet, or not all of it.
_NOT_YET = frozenset(
    """be will for wird werden wordt worden sera será sarà ser being awaiting noch nog encore yet almost partially
    partly partial teilweise gedeeltelijk deels partiellement parcialmente parzialmente delvis częściowo частично будет
    nearly half""".split()
)


@lru_cache(maxsize=1024)
def booking_status(text: str) -> str:
    """Tell whether an entry is "pending" or "failed"; "" if it is booked, or if nothing is known."""
    found = _kind(text)
    return "" if found == "booked" else found


def is_of_unbooked(title: str) -> bool:
    """Whether a title is that of entries that are not booked: `Pending transactions`, `Vorgemerkte Umsätze`."""
    text = title.strip(" :-–—").casefold()
    if len(text.split()) > PHRASE_WORDS_MAX:
        return False
    return not UNBOOKED.isdisjoint((text, *text.split())) or any(
        phrase in text for phrase in (*_PENDING_TITLES, *(p for p in PENDING if " " in p))
    )


@lru_cache(maxsize=4096)
def unbooked_word(text: str) -> str:
    """The word at the start or the end of a text that says that its entry is not booked, or ""."""
    words = text.casefold().split()
    edges = (
        (word.strip("()[]:*-–—.,;") for word in (*words[:1], *words[-1:])) if len(words) > 1 else ()
    )
    return next((word for word in edges if word in _EDGE_WORDS), "")


def unbooked_phrase(text: str) -> str:
    """The phrase in a description that says that its entry is not booked yet, or ""."""
    found = _UNBOOKED_EDGE.search(text.casefold())
    return (found[1] or found[2]) if found else ""


@lru_cache(maxsize=4096)
def annulled_phrase(text: str) -> str:
    """The phrase in a text that says that its row does not count, or ""."""
    found = _ANNULLED.search(simplify(text))
    if found is None and _COUNTS_NOT in text.casefold():
        return _COUNTS_NOT
    return found[0] if found else ""


@lru_cache(maxsize=4096)
def cancelled_word(text: str) -> str:
    """The word in a text that is the status of a row which was taken back, or "".

    It is a status on a line of its own, between brackets or dashes, or at an end of the text; within it, or behind an
    article, it is part of a name. A fee and a refund are booked for something else that was taken back.
    """
    low = text.casefold()
    if not _CANCELLED.search(low):
        return ""
    alone = (found for line in low.splitlines() if (found := _CANCELLED_ALONE.search(line)))
    if set_apart := next(alone, None):
        return set_apart[1]
    words = [word for token in low.split() if (word := token.strip(_EDGE_SIGNS))]
    words = [word for word in words if any(map(str.isalpha, word))]
    if not words or not _FOR_ANOTHER.isdisjoint(words):
        return ""
    first, last = words[0], words[-1]
    if _CANCELLED.fullmatch(last) and words[-2:-1] and words[-2] not in NEGATIONS | _ARTICLES:
        return last
    return first if _CANCELLED.fullmatch(first) and not first.startswith("void") else ""


def says_cancelled(row: StatementRow) -> str:
    """The word by which a row says that it was taken back, where nothing else says whether it is booked, or ""."""
    word = cancelled_word(row.description or row.counterparty)
    is_told = row.note.startswith("not booked") or is_known(row.more.get("status", ""))
    return "" if is_told else word


def is_of_annulled(heading: str) -> bool:
    """Whether a column tells which rows were taken back, or are still to be booked."""
    return simplify(heading).removeprefix("is ") in _ANNULLED_NAMES | _PENDING_NAMES


def is_of_booked(heading: str) -> bool:
    """Whether a column tells which rows are booked."""
    return simplify(heading).removeprefix("is ") in _BOOKED_NAMES


def may_be_of_unbooked(title: str) -> bool:
    """Whether a title denies something, or speaks of what is to come or went wrong: its rows may not be booked."""
    return bool(_DOUBTFUL_TITLE.search(simplify(title)))


def with_unbooked(
    rows: Iterator[StatementRow],
    doubt: Callable[[StatementRow, str], None],
    annulled: Sequence[str] = (),
    booked: Sequence[str] = (),
) -> Iterator[StatementRow]:
    """The rows, with a note on those whose text says that they are not booked; a balance or a status goes before it.

    `doubt` is told the rows whose text only mentions it, or says that they do not count, and those that one of the
    columns `annulled` marks or one of the columns `booked` denies: whether the row that takes them back stands in the
    file, too, nothing tells.
    """
    for row in rows:
        for name in booked:
            if not row.balance and row.more.get(name, "").strip().casefold() in _DENIED:
                doubt(row, f"{name}: {row.more[name].strip()}")
        for name in annulled:
            told = row.more.get(name, "").strip().casefold()
            is_open = told in _TRUE and is_of_pending(name)  # then it only waits
            if not (row.balance or is_open or told in _NOT_ANNULLED or _NOTHING.fullmatch(told)):
                doubt(row, f"{name}: {row.more[name].strip()}")
        if name := "" if row.balance or row.note else _pending_column(row, annulled):
            yield replace(row, note=f"not booked ({name})")
            continue
        is_told = bool(row.note) or is_known(row.more.get("status", ""))
        if word := "" if is_told else unbooked_word(row.description):
            doubt(row, word)
        if is_told or word or row.balance:
            yield row
            continue
        phrase = unbooked_phrase(row.description)
        yield replace(row, note=f"not booked ({phrase})") if phrase else row
        if not phrase and (said := _doubtful_phrase(row.description)):
            doubt(row, said)


def is_of_pending(heading: str) -> bool:
    """Whether a column tells which rows are still to be booked."""
    return simplify(heading).removeprefix("is ") in _PENDING_NAMES


def _pending_column(row: StatementRow, names: Sequence[str]) -> str:
    """The column that says of a row with a plain yes that it is still to be booked, or ""."""
    more = row.more
    return next(
        (n for n in names if more.get(n, "").strip().casefold() in _TRUE and is_of_pending(n)), ""
    )


@lru_cache(maxsize=4096)
def _doubtful_phrase(text: str) -> str:
    found = _UNBOOKED_WITHIN.search(text.casefold())
    return found[1] if found else annulled_phrase(text)


def is_known(text: str) -> bool:
    """Whether a status says something at all."""
    return bool(_kind(text))


@lru_cache(maxsize=1024)
def _kind(text: str) -> str:
    """By the whole status, or by the one kind of known words in a phrase that denies nothing."""
    phrase = text.strip().casefold()
    words = phrase.replace("_", " ").replace("-", " ").split()
    if is_denied(phrase):
        return "failed"  # "not approved"
    if phrase not in KNOWN and (len(words) > PHRASE_WORDS_MAX or NEGATIONS & {*words}):
        return ""
    told = {phrase} if phrase in KNOWN else {*words, *_dense_words(phrase)}
    kinds = [name for name, known in KINDS.items() if told & known]
    if kinds[:1] == ["booked"] and phrase not in KNOWN and not _NOT_YET.isdisjoint(words):
        return ""
    # "Payment canceled" is no payment that was made: what failed or waits goes before what is done.
    return kinds[0] if kinds else ""


def is_accepted(text: str) -> bool:
    """Whether a status says that a row was agreed to, and not that it is done."""
    words = {text.strip().casefold(), *text.casefold().replace("_", " ").split()}
    return not words.isdisjoint(ACCEPTED) and words.isdisjoint(BOOKED - ACCEPTED)


def is_denied(text: str) -> bool:
    """Whether a text denies in two words that a row is booked: `not approved`. What is not reconciled may be."""
    words = text.strip().casefold().replace("_", " ").replace("-", " ").split()
    return (
        len(words) == 2 and words[0] in NEGATIONS and words[1] in BOOKED - _COMPARED
        and text.strip().casefold() not in KNOWN
    )  # fmt: skip


@lru_cache(maxsize=4096)  # of every cell of most columns, where days and words repeat
def denies_booking(text: str) -> bool:
    """Whether a short text of any column says that a row is not booked: `not yet posted`."""
    words = simplify(text).split()
    is_short = 1 < len(words) <= PHRASE_WORDS_MAX
    return is_short and words[-1] in _BOOKED_NAMES and not NEGATIONS.isdisjoint(words[:-1])


_COMPARED = frozenset({"reconciled"})  # by the holder of the account, with books of his own


def _dense_words(phrase: str) -> set[str]:
    """What failed, in a short phrase of a script without blanks: 승인취소 is an approval that was cancelled."""
    if not phrase or phrase < "\u3000" or len(phrase) > DENSE_CHARS_MAX or phrase[0] in DENIALS:
        return set()
    return {word for word in FAILED if word > "\u3000" and word in phrase}


# Words of a status that are hardly ever of a shop, or of what was bought.
_EDGE_WORDS = frozenset(
    """pending declined reverted vorgemerkt abgelehnt pendiente rechazada rechazado rifiutato väntande odrzucona
    oczekująca zamítnuto 未入账 未確定""".split()
)
_PENDING_TITLES = (
    "vorgemerkte", "ausstehende", "pendientes", "pendentes", "noch nicht gebucht", "not yet booked", "not yet posted",
    "non comptabilis", "non contabilizzat", "nog te verwerken", "oczekujące",
)  # fmt: skip
DENSE_CHARS_MAX = 6
DENIALS = "未不非無无미불"
KINDS = {"failed": FAILED, "pending": PENDING, "booked": BOOKED}
PHRASE_WORDS_MAX = 4
