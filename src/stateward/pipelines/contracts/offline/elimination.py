"""Approval by elimination: what beside a value, or anywhere in the document, was not understood and may change it.

A value may go on without a person only if every word of its statement is a label, a value or a word that is known to
change nothing, and if every other value of its kind is accounted for: the same value again, or the value of a label of
something else whose statement is understood as well. Listing all words that may qualify a value is hopeless; listing
those that do not is possible. Nothing here changes a value: what is left over caps its confidence.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from stateward.pipelines.contracts.candidates import ValueCandidate
from stateward.pipelines.contracts.offline.arithmetic import is_net_of, is_own_amount, parts_of
from stateward.pipelines.contracts.offline.choice import (
    RECKONED,
    SETTLED,
    FieldChoice,
    amounts_of,
    is_anchored,
    is_later_notice,
    is_other_notice,
    printed_number,
)
from stateward.pipelines.contracts.offline.grid import GridCell
from stateward.pipelines.contracts.offline.labels import (
    SETS_MAX,
    LabelMention,
    VerticalKey,
    stands_in,
    vertical_key,
)
from stateward.pipelines.contracts.offline.linking import LabelLink
from stateward.pipelines.contracts.offline.number_fields import (
    NEW_WORDS,
    OLD_WORDS,
    WITHDRAWAL,
    FieldCandidate,
    LinkedValue,
    is_first_payment,
    is_special_case,
)
from stateward.pipelines.contracts.offline.page_analysis import AnalyzedPage, ContractReading
from stateward.pipelines.contracts.offline.reckoned import said_otherwise, words_beside
from stateward.pipelines.contracts.offline.statements import is_all_label, statement
from stateward.pipelines.contracts.rules import FieldRule, Vertical, all_labels
from stateward.pipelines.contracts.switching import day_of
from stateward.pipelines.contracts.words import skeleton

UNREAD_CAP, RIVAL_CAP = 78, 76
NUMBER_KINDS = frozenset({"date", "money", "duration", "quantity"})
LINK_MIN = 0.55  # a label with a weaker link does not account for a value
ADJACENT_MIN = 0.9  # of the link of a date to a label right before it
NUMBER_DIGITS_MIN = 5  # a word with so many digits is the number of a customer or a meter
YEAR_SLACK = 0.07  # of twelve rounded months
WHOLE_MIN = 1.0  # what a kWh costs leads to no other amount
YEAR_ROUNDING = 12.0  # of the cost of a year whose instalments were rounded to whole euros
QUOTED_WORDS_MAX = 4
REFERENCE_CHARS = 60  # before a date
ARREARS_CHARS = 80  # before an amount
PREFIXES = ("brutto", "monats", "strom", "gas", "energie", "versicherungs", "tarif", "vertrags")

_WORD = re.compile(r"[^\W_]+")
# A mark of a footnote; not the bullet of a list, a masked number or a square metre.
_MARK = re.compile(r"(?<![*\dXx])[*†‡](?![*\d])|(?<=[^\W\dm])[¹²³⁴⁵⁶⁷⁸⁹]")
_BULLET = re.compile(r"[ \t]*\*[ \t]")
_NUMBERED = re.compile(r"\A\W*(?:§\s*)?\d{1,2}(?:\.\d{1,2})*[.)]?\s")
_YEAR = re.compile(r"\b(?:jahr\w*|jährlich\w*|annual\w*|year\w*|p\.\s?a\b)", re.IGNORECASE)
# From how much on a connection may be cut off is no price. What is paid `in arrears` is one.
_OWED = r"(?:zahlungs)?(?:verzug|rückstand)(?:e?s|e)?"
_LIMIT = r"(?:mindestens|wenigstens|mehr\s+als|über|ab|more\s+than|at\s+least|over|exceeding)"
_ARREARS_BEFORE = re.compile(
    rf"\b(?:{_OWED}\s+(?:(?:von|mit|in\s+höhe\s+von)\s+(?:{_LIMIT}\s+)?|(?:\w+\s+){{0,2}}{_LIMIT}\s+)"
    rf"|arrears\s+(?:of|exceed|reach)\s+(?:{_LIMIT}\s+)?)(?:EUR|€|£)?\s*$",
    re.IGNORECASE,
)
_LIMIT_BEFORE = re.compile(rf"\b{_LIMIT}\s+(?:EUR|€|£)?\s*$", re.IGNORECASE)
_ARREARS_BEHIND = re.compile(
    rf"\s*(?:EUR|Euro|€)?\s*(?:or\s+more\s+)?(?:in\s+|im\s+)?(?:{_OWED}|arrears)\b", re.IGNORECASE
)
# Words by which what is not limited is, or may be, the data too.
_SURFING = re.compile(
    r"\b(?:internet\w*|surf\w*|online|web|brows\w*|stream\w*|daten\w*|data|alles|everything|all)\b",
    re.IGNORECASE,
)
_ONCE = re.compile(r"\b(?:einmalig\w*|one-off|one-time|once)\b", re.IGNORECASE)
_FEE = re.compile(r"bonus|mahn|gebühr|rücklast|kaution|\bfees?\b|deposit", re.IGNORECASE)
_BONUS = re.compile(
    r"bonus|rabatt|nachlass|vorteil|gutschrift|guthaben|cashback|credit|discount|rebate|saving",
    re.IGNORECASE,
)
_READING = re.compile(r"abgelesen|ablesung|zählerstand|meter\s+read", re.IGNORECASE)
_CONCLUDED = re.compile(
    r"\b(?:you\s+(?:made|agreed|accepted|signed|ordered|placed)|we\s+agreed|abgeschlossen|vertrag\w*\b[^.;]{0,40}\bgeschlossen|unterschrieben|bestellt)\b[^.;]{0,40}"
    r"\b(?:on|am)\s*$|\b(?:antrag|auftrag|bestellung)s?\s+vom\s*$",
    re.IGNORECASE,
)
# A line that will be closed ends.
_COMING = re.compile(r"\b(?:wird|werden|will\s+be|is\s+to\s+be)\b[^.;]*$", re.IGNORECASE)
_CLOSED = re.compile(r"\s*geschlossen\b", re.IGNORECASE)
_OF_CONTRACT = re.compile(r"vertrag|vereinbarung|versicherung", re.IGNORECASE)
_SPAN = re.compile(  # a part of the time that costs nothing is another price
    r"monat|\bmtl|month|jahr|year|woche|week|tag|\bday|erste|first|\b(?:bis|ab|from|until|till|vor|nach|after|before)\b|trial|probe",
    re.IGNORECASE,
)
# Whatever else is said of it, such a day is one on which something ends.
_OF_END = re.compile(r"ende\b|\bbeend\w*|\bend(?:s|ed|ing)?\b|\bexpir\w*|\bablauf\b", re.IGNORECASE)
_MADE = re.compile(r"\s*(?:ab)?geschlossen\b|\s*unter(?:zeichnet|schrieben)\b", re.IGNORECASE)
_NET = re.compile(r"\b(?:netto|net)\b", re.IGNORECASE)
# A word by which a statement without a label of a field may change it all the same: any field, a date, an amount.
_CHANGE = (
    r"neue?[nmrs]?|statt\w*|anstelle|sondern|\w*änder\w*|geändert\w*|verscho\w*|verleg\w*|korr\w*|berichtig\w*|storn\w*|gekündigt\w*|"
    r"ersetz\w*|abweich\w*|erst|nun\w*|jetzt|inzwischen|künftig\w*|zukünftig\w*|nur|nicht|kein\w*|falsch\w*|richtig\w*|gilt|gelten|"
    r"new|instead|rather|chang\w*|amend\w*|mov(?:ed|es?|ing)|postpon\w*|delay\w*|correct\w*|cancel\w*|replac\w*|differ\w*|only|not|no|"
    r"now|wrong|right|actual\w*|applies|apply"
)
_CHANGES = {
    "date": re.compile(
        rf"\b(?:{_CHANGE}|ab|bis|seit|von|end\w*|\w*ende|\w*beginn\w*|begin\w*|\w*start\w*|los|wirk\w*|liefer\w*|\w*lieferung|\w*schutz|"
        r"aktiv\w*|frei\w*|from|until|till|since|to|through|commenc\w*|effect\w*|expir\w*|suppl\w*|cover\w*|live|run\w*|läuft|laufen)\b",
        re.IGNORECASE,
    ),
    "money": re.compile(
        rf"\b(?:{_CHANGE}|ab|nach|danach|dann|vor|bis\s+(?:zum|ende)|erhöh\w*|steig\w*|sink\w*|senk\w*|reduz\w*|zusätzlich\w*|zuzüglich|zzgl|plus|"
        r"mehr|weniger|monat\w*|\w*rate|abschl\w*|beitr\w*|präm\w*|from|after\w*|then|before|increas\w*|ris(?:e|es|ing)|reduc\w*|extra|"
        r"additional\w*|more|less|month\w*|instal\w*|premium\w*|doubl\w*|verdoppel\w*|verdreifach\w*|selbst\w*|trägt|tragen)\b",
        re.IGNORECASE,
    ),
}
_LATER = re.compile(
    r"danach|anschließend|später|dann|thereafter|afterwards?|\bthen\b|after that", re.IGNORECASE
)
_OTHER_END = re.compile(
    rf"\b(?:{_CHANGE}|verlänger\w*|vorzeitig\w*|früher\w*|spät\w*|extend\w*|renew\w*|early|earlier|later)\b",
    re.IGNORECASE,
)
# A day on which something is paid is none of the contract, unless its sentence is about that, too.
_PAID = re.compile(
    r"\b(?:dauerauftrag\w*|abbuch\w*|abgebucht|einzieh\w*|eingezogen|einzug\w*|\w*lastschrift\w*|überweis\w*|zahl(?:en|ung|ungen)\b|abschlagszahlung\w*|"
    r"buch(?:en|t|e)\b[^;]{0,60}\bab\b|zieh(?:en|t|e)\b[^;]{0,60}\bein\b|direct\s+debits?|payments?|collect\w*|standing\s+order|instal?ments?)|\b(?:we(?:'|’)ll|we\s+will|wir)\s+(?:take|buchen|ziehen)\b",
    re.IGNORECASE,
)
_OF_SUPPLY = re.compile(
    r"liefer|vertrag(?!skonto)|versicher|schutz|tarif|anschluss|suppl|contract|cover|polic|agreement|service|plan\b|switch|wechsel",
    re.IGNORECASE,
)
_NOTICE = re.compile(r"kündig|\bnotice\b|terminat", re.IGNORECASE)
_START = re.compile(r"(?:beginn|start|start\s+date)\Z", re.IGNORECASE)
_DEDUCTED = re.compile(
    r"rabatt|nachlass|vorteil|gutschrift|guthaben|cashback|ersparnis|credit|discount|rebate|saving",
    re.IGNORECASE,
)
# A bonus or a fee of every month changes what is paid a month.
_EACH_TIME = re.compile(
    r"monatlich|monats(?!frist)|\b(?:je|pro|im|jeden|für\s+(?:die\s+)?(?:ersten\s+)?\w+)\s+monate?\b|/\s?monat|\bmtl\b"
    r"|monthly|\b(?:per|a|each|every)\s+month\b|\b(?:for|first)\s+(?:the\s+first\s+)?\w+\s+months\b|\b(?:je|jede[rsnm]?|pro|alle)\s+(?:abrechnung|rechnung)|\b(?:each|every|per)\s+(?:bill|invoice|payment)\b|"
    r"verteilt|\bspread\b|zusätzlich|on\s+top|\b(?:nach|mit|after|with)\s+(?:the\s+|abzug\b|\w*bonus\b|discount\b|rebate\b)",
    re.IGNORECASE,
)
_DEDUCTION = re.compile(
    r"(?<![\w.,)€£] )(?<![\w.,])[-−–] ?(?:(?:EUR|€|£) ?\d[\d.,]*|\d[\d.,]*\s?(?:EUR\b|Euro\b|€|£))"
)
_PLACE = re.compile(r"\s*(?:[A-ZÄÖÜ][\w.-]*+[ \t]?){1,4},\s*(?:den|am|on|the)?\s*")
_REMARKS = re.compile(
    r"\b(?:inkl|incl|inc|einschl|including|inclusive|einschließlich|inklusive|enthält|enthalten)\b\.?\s+(?:(?:of|der|die|ges|gesetzl|"
    r"gesetzlicher|all|aller|the|government|statutory|insurance|premium|value|added|\d{1,2}(?:[.,]\d{1,2})?\s?%)\.?\s*){0,4}"
    r"(?:USt|MwSt|Umsatzsteuer|Mehrwertsteuer|Versicherungs?steuer|VersSt|Steuern?(?:\s+und\s+Abgaben)?|VAT|GST|IPT|tax(?:es)?|lev(?:y|ies))\b\.?"
    r"(?:\s+at\s+\d{1,2}(?:\.\d{1,2})?\s?%)?"
    r"|\b(?:inkl|incl|einschl)\b\.?\s+\d{1,2}(?:[.,]\d{1,2})?\s?%(?=\s*$)"
    r"|\b(?:VAT|GST|IPT|MwSt|USt|Umsatzsteuer|Mehrwertsteuer|Versicherungs?steuer|tax(?:es)?)\.?\s+(?:and\s+(?:fees|levies|surcharges)\s+)?(?:included|inkl\w*|inbegriffen|eingerechnet|enthalten)"
    r"|,?\s*(?:at\s+)?12:01\s?a\.?m\.?(?:,?\s+(?:local\s+)?(?:standard\s+)?time)?"
    r"|\bauf\s+(?:der\s+)?(?:Grundlage|Basis)\s+(?:eines|Ihres|des)\s+(?:\w+\s+)?\w*verbrauchs\s+von\s+[\d.]+\s*kWh(?:\s+(?:im|pro)\s+Jahr)?"
    r"|\b(?:erstmals|first\s+payment)\s+(?:fällig\s+|due\s+)?(?:am|zum|on)\s+(?=\d)"
    r"|\b(?:(?:bei|mit)\s+)?(?:(?:einem|ihrem|deinem|dem)\s+)?(?:\w+\s+)?\w*verbrauch\w*\s+von\s+(?:rund\s+|etwa\s+|ca\.\s+)?[\d.]+\s*kWh(?:\s*(?:im|pro|/)\s*Jahr)?"
    r"|\bon\s+or\s+(?:just\s+)?(?:around|after|about)\s+the\s+\d{1,2}(?:st|nd|rd|th)?(?:\s+of\s+(?:each|every|the)\s+month)?"
    r"|\berstmals\s+(?:am|zum)\s+\d{1,2}\.\s+(?:des\s+(?:ersten\s+)?\w*monats\b|(?=[.,;)]|$))"
    r"|\b(?:by|per|mit|im|via)\s+(?:SEPA[- ])?"
    r"(?:Lastschrift(?:verfahren|mandat|einzug)?|Bankeinzug|Direct\s+Debit|electronic\s+funds\s+transfer)\b"
    r"|(?:\b(?:up\s+to|bis\s+zu|max(?:imal|\.)?)\s+)?\b\d[\d.,/]*\s*[KMG]bit/s"
    r"|\(?§{1,2}\s?\d{1,4}[a-z]?(?:\s(?:Abs\.|Satz|Nr\.)\s?\d{1,2}){0,3}\s(?-i:[A-Z]\w{1,15}(?:VV|G|V)|BGB)\b\)?"
    r"|[,;(]?\s*\b(?:mit\s+)?(?:jährliche\w*|stillschweigende\w*|automatische\w*)\s+(?:\w+\s+)?verlängerung\b"
    r"(?:\s+um\s+(?:jeweils\s+)?ein(?:\s+weiteres)?\s+jahr)?"
    r"|\b(?:sofern|wenn|falls)\s+(?:er|sie|der\s+Vertrag)\s+nicht(?=\b[^.;]{0,100}\bgekündigt\s+wird\b)"
    r"|\b(?:Flat(?:rate)?\s+)?in\s+alle\s+deutschen\s+(?:\w+-\s+und\s+)?\w{0,12}netze\b"
    r"|\b(?:Abbuchung\s+)?(?:zum|am)\s+(?:\d{1,2}\.\s+(?:Werktag|Bankarbeitstag)|Monatsersten|Monatsende)\b"
    r"|\b(?:by|via|per|in|through)\s+(?:\w+,?\s+){1,3}(?:or|oder)\s+(?:by\s+|per\s+|in\s+)?(?:phone|letter|e-?mail|writing|webchat|app|Brief|E-Mail|"
    r"Textform|Telefon|Post|Fax)\b"
    r"|[,;]?\s*\b(?:danach|afterwards|thereafter)\s+(?:jederzeit|at\s+any\s+time|any\s+time)\b"
    r"|\bunlimited\s+(?:minutes|calls|texts)(?:\s+and\s+(?:minutes|calls|texts))?|\bin\s+writing\s+or\s+by\s+phone"
    r"|\b(?:fällig|zahlbar)\s+(?:jeweils\s+)?(?:zum|am)\s+\d{1,2}\.(?!\s?\d)|\b(?:zum|am)\s+\d{1,2}\.\s+(?:abgebucht|eingezogen|fällig)|\b(?:zum|am)\s+\d{1,2}\.\s+(?:eines|jedes|des)\s+(?:jeden\s+)?Monats|\bon\s+the\s+\d{1,2}(?:st|nd|rd|th)?\s+of\s+(?:each|every|the)\s+month"
    r"|\b(?:Guten\s+Tag|Hallo|Sehr\s+geehrter?|Liebe[r]?|Dear|Hello|Hi)\b[^,.!\n]{0,40}[,!]"
    r"|\b(?:0|00|12|24)(?:[:.]\d\d)?\s+(?:Uhr(?:\s+mittags)?|hrs|noon)\b|\bat\s+\d\d:\d\d\b"
    r"|\b(?:00[:.]0[01]|23[:.]59)(?:\s?(?:Uhr|hrs|hours|h))?(?:\s+(?:on|am))?\b",
    re.IGNORECASE,
)


# `Bestellnummer 4711 vom 20.04.2025`: the day of an order or a letter. That of an amendment is a day of the contract.
_REFERENCE = re.compile(
    r"\b(?:(?:Bestell|Auftrags|Kunden|Angebots|Rechnungs|Vorgangs|Referenz)-?(?:nummer|Nr\b\.?)|(?:Akten|Geschäfts)zeichen|"
    r"(?:order|reference|customer|quotation|quote|invoice)[ ](?:number|no\b\.?))"
    r"[ \t:]{0,4}(?=[\w/.-]{0,29}\d)[\w/.-]{1,30},?\s{1,4}(?:vom|of|dated)\s{0,4}$"
    r"|\b(?:Auftrags|Bestell|Vertrags)bestätigung\s{1,4}vom\s{1,4}$",
    re.IGNORECASE,
)


class Doubt(NamedTuple):
    """What keeps a value from being approved: the highest confidence that it may have, and why."""

    cap: int
    sentence: str


def doubts(
    vertical: Vertical,
    reading: ContractReading,
    linked: Iterable[LinkedValue],
    choices: Mapping[str, FieldChoice],
) -> dict[str, Doubt]:
    """The doubt about each chosen value that is a number or a date, by field; none where all is accounted for."""
    values = [each for each in linked if not each.candidate.is_bare]
    reader = _Reader(vertical, reading, values, choices)
    found: dict[str, Doubt] = {}
    for name, choice in choices.items():
        rule = vertical.field(name)
        if rule is None or rule.kind not in NUMBER_KINDS:
            continue
        best = choice.best
        is_proved = SETTLED in choice.why and not _tells_other_end(reader, best)
        unread = [] if is_proved else reader.unread(best.page, best.start, best.end)
        unread = unread or reader.unsettled(vertical, name, choices)
        rival = "" if unread else _rival(rule, values, choices, reader)
        if unread:
            found[name] = Doubt(
                UNREAD_CAP, f"words beside it were not understood: {_reason(unread)}"
            )
        elif rival:
            found[name] = Doubt(RIVAL_CAP, f"another value is not accounted for: {rival}")
        elif rule.kind == "money" and (heading := reader.heading_of_bonus(best.page, best.start)):
            found[name] = Doubt(RIVAL_CAP, f"it stands under {heading!r}")
    return found


def _tells_other_end(reader: "_Reader", best: FieldCandidate) -> bool:
    """Whether the statement of an end has a word by which another day may be meant."""
    page = reader.reading.pages[best.page]
    return any(
        _OTHER_END.search(page.text, first, last)
        for first, last in statement(page, best.start, best.end)
    )


def _reason(words: list[str]) -> str:
    return ", ".join(repr(word) for word in words[:QUOTED_WORDS_MAX])


def _rival(
    rule: FieldRule,
    values: Iterable[LinkedValue],
    choices: Mapping[str, FieldChoice],
    reader: "_Reader",
) -> str:
    """The first value of the document that may be meant instead, as it is printed."""
    if rule.per == "month" and (deducted := reader.deduction()):
        return deducted
    for each in values:
        page = reader.reading.pages[each.page]
        if each.candidate.kind != rule.kind or page.is_small_print(each.candidate.start):
            continue
        if _is_other_unit(rule, each.candidate) or _is_chosen(each, choices):
            continue
        if _is_nothing(rule, each.candidate) and not reader.says(each, _SPAN):
            continue
        is_sure = not choices[rule.name].best.is_weak
        if is_sure and each.candidate.per == "day" and reader.is_stand_in(each, rule):
            continue  # a standing charge of a day is a part of what is paid a month
        if not _is_explained(rule, each, choices, reader):
            return " ".join(page.text[each.candidate.start : each.candidate.end].split())
    return ""


def _is_other_unit(rule: FieldRule, candidate: ValueCandidate) -> bool:
    """Whether an amount is for something else by its unit: a price of a kWh is no rival of a monthly amount."""
    return rule.kind == "money" and (rule.per == "kWh") != (candidate.per == "kWh")


def _is_nothing(rule: FieldRule, candidate: ValueCandidate) -> bool:
    """Whether an amount is no amount: `Router: eigenes Gerät 0,00 €`. A month that costs nothing is another price."""
    return rule.kind == "money" and candidate.number == 0 and candidate.per != "month"


def _is_chosen(each: LinkedValue, choices: Mapping[str, FieldChoice]) -> bool:
    """Whether it is a chosen value of its kind, here or printed again."""
    return any(
        (choice.best.page, choice.best.start) == (each.page, each.candidate.start)
        or choice.best.value == each.candidate.value
        for choice in choices.values()
    )


def _is_explained(
    rule: FieldRule,
    each: LinkedValue,
    choices: Mapping[str, FieldChoice],
    reader: "_Reader",
) -> bool:
    """Whether a label of something else accounts for a value, in a statement without an unread word."""
    best = each.links[0] if each.links else None
    candidate = each.candidate
    if (
        rule.kind == "duration"
    ):  # any text has periods: only one that is about the same thing is a rival
        return (
            not reader.is_about(each, rule.name)
            or (
                is_anchored(choices[rule.name], rule)
                and is_other_notice(reader.reading, each.page, candidate.start, candidate.end)
            )
            or _is_of_another(best, rule, ADJACENT_MIN)
            or is_later_notice(reader.reading, choices[rule.name].best, each.page, candidate.start)
            or reader.is_special_case(each)
            or (reader.says(each, WITHDRAWAL) and not reader.says(each, _NOTICE))
        )
    if rule.kind == "money" and (
        reader.is_taxed(each, choices[rule.name]) or reader.is_later(each, rule)
    ):
        return False
    if rule.kind == "date" and reader.is_left_to(each, choices[rule.name]):
        return (
            reader.is_of_payment(each) or reader.is_of_conclusion(each) or reader.is_only_paid(each)
        )
    if rule.kind == "date" and (
        _is_of_another(best, rule, ADJACENT_MIN)
        or reader.is_letter_date(each)
        or reader.is_of_reference(each)
        or reader.is_of_others(each)
        or reader.is_of_payment(each)
        or reader.says(each, WITHDRAWAL)
        or reader.says(each, _READING)
        or reader.is_of_conclusion(each)
    ):
        return True
    if rule.per == "month" and candidate.per != "once" and reader.is_each_time(each):
        return False
    if is_anchored(choices[rule.name], rule) and not reader.is_claimed(each, rule, choices):
        return True
    if rule.kind == "money" and (
        _is_reckoned(candidate, choices)
        or reader.is_part(each, rule.name)
        or (candidate.per != "month" and reader.is_fee(each))
        or candidate.per == "once"
        or (
            rule.per == "month"
            and _is_year_of(candidate, choices[rule.name])
            and (reader.says(each, _YEAR) or is_anchored(choices[rule.name], rule))
        )
        or reader.says(each, _ONCE)
        or (candidate.per != "month" and reader.is_arrears(each))
        or (reader.says(each, OLD_WORDS) and not reader.says(each, NEW_WORDS))
    ):
        return True
    if candidate.value == "unlimited":
        if reader.says(each, _SURFING):
            return False
        if _is_of_another(best, rule, ADJACENT_MIN):
            return True
    is_sure = not choices[rule.name].best.is_weak
    if is_sure and reader.is_stand_in(each, rule):
        return True  # no word beside a base price makes it an instalment
    is_of_another = _is_of_another(best, rule, LINK_MIN)
    return is_of_another and not reader.unread(
        each.page, candidate.start, candidate.end, is_aside=True
    )


def _is_of_another(best: LabelLink | None, rule: FieldRule, strength_min: float) -> bool:
    return best is not None and best.strength >= strength_min and best.meaning.what != rule.name


def _is_reckoned(candidate: ValueCandidate, choices: Mapping[str, FieldChoice]) -> bool:
    """Whether an amount leads to a chosen one: twelve times it, or without the tax in it."""
    return any(
        abs(candidate.number - 12 * choice.best.number) < YEAR_SLACK
        for choice in choices.values()
        if choice.best.number >= WHOLE_MIN
    ) or (
        candidate.tax == "net"
        and any(is_net_of(candidate.number, choice.best.number) for choice in choices.values())
    )


def _is_year_of(candidate: ValueCandidate, choice: FieldChoice) -> bool:
    """Whether an amount is about twelve times a chosen one: what a year costs, and instalments in whole euros."""
    is_divided = "computed from the amount" in choice.why  # then no instalment was rounded
    slack = YEAR_SLACK if is_divided else YEAR_ROUNDING
    return abs(candidate.number - 12 * choice.best.number) <= slack


def _lasting(vertical: Vertical, choices: Mapping[str, FieldChoice]) -> Iterator[int]:
    """How many months lie between the chosen dates: a term that says the same changes neither."""
    for order in vertical.orders:
        first, second = choices.get(order.first), choices.get(order.second)
        if first is None or second is None:
            continue
        start, end = day_of(first.best.value), day_of(second.best.value)
        if start is None or end is None:
            continue
        end += timedelta(days=1)
        if start.day == end.day:
            yield 12 * (end.year - start.year) + end.month - start.month


class _Reader:
    """Finds the words of statements that nothing accounts for."""

    def __init__(
        self,
        vertical: Vertical,
        reading: ContractReading,
        values: Iterable[LinkedValue],
        choices: Mapping[str, FieldChoice],
    ) -> None:
        self.reading = reading
        self._plain, several = _plain_words(vertical_key(vertical))
        self._known = [_REMARKS, several]
        self._known += [
            re.compile(re.escape(choice.best.value), re.IGNORECASE)
            for name, choice in choices.items()
            if (rule := vertical.field(name)) and rule.kind in ("text", "provider")
        ]
        self._known += [
            re.compile(rf"\bbei\s+(?:de[rmn]\s+)?(?={re.escape(choice.best.value)})", re.IGNORECASE)
            for name, choice in choices.items()
            if (rule := vertical.field(name)) and rule.kind == "provider"
        ]
        amounts = amounts_of(reading)
        self.parts = {
            amounts[at]
            for name, choice in choices.items()
            if (rule := vertical.field(name)) and rule.kind == "money"
            for at in parts_of(printed_number(reading, choice.best), amounts)
        }
        if any(
            each.candidate.tax == "net" and _is_reckoned(each.candidate, choices) for each in values
        ):
            self._known.append(_NET)  # the net price beside the gross one is proved to be it
        lasting = set(_lasting(vertical, choices))
        self._spans = [list(_spans(page)) for page in reading.pages]
        for each in values:
            is_linked = bool(each.links) and each.links[0].strength >= LINK_MIN
            is_term = each.candidate.kind == "duration" and round(each.candidate.number) in lasting
            if (
                is_linked
                or is_term
                or _is_chosen(each, choices)
                or _is_reckoned(each.candidate, choices)
            ):
                end = max(each.candidate.end, each.candidate.reach)
                self._spans[each.page].append((each.candidate.start, end))

    def unread(self, at: int, start: int, end: int, *, is_aside: bool = False) -> list[str]:
        """The words of the statement of a value that are neither labels nor values nor plain.

        Beside a value of something else, it also changes nothing that it is paid once.
        """
        page = self.reading.pages[at]
        return [
            word
            for first, last in statement(page, start, end)
            for word in self._unread(at, first, last, (start, end), is_aside=is_aside)
        ]

    def _unread(
        self, at: int, first: int, last: int, value: tuple[int, int], *, is_aside: bool
    ) -> Iterator[str]:
        text = self.reading.pages[at].text[first:last]
        letters = list(text)
        known = [*self._known, _ONCE] if is_aside else self._known
        known = [*known, _NUMBERED]
        spans = [found.span() for pattern in known for found in pattern.finditer(text)]
        spans += [(start - first, end - first) for start, end in (*self._spans[at], value)]
        for start, end in spans:
            for place in range(max(start, 0), min(end, len(letters))):
                letters[place] = " "
        bullet = _BULLET.match(text)
        yield from _MARK.findall(text, bullet.end() if bullet else 0)
        for word in _WORD.findall("".join(letters)):
            if not _is_number(word) and skeleton(word) not in self._plain:
                yield word

    def unsettled(
        self, vertical: Vertical, name: str, choices: Mapping[str, FieldChoice]
    ) -> list[str]:
        """What may change a date that is reckoned from another one and a term; nothing of a printed one."""
        order = next((each for each in vertical.orders if each.second == name), None)
        if order is None or not choices[name].why.startswith(RECKONED):
            return []
        first, term = choices[order.first].best, choices[name].best
        page = self.reading.pages[term.page]
        own = f"{order.first}>{order.second}"
        letters = list(page.text)
        blank = [(each.start, each.end) for each in (first, term) if each.page == term.page]
        for mention in page.mentions:
            label = page.text[mention.start : mention.end]
            if any(each.what == own for each in mention.meanings) or _START.search(label):
                blank.append((mention.start, mention.end))
        for start, end in blank:
            letters[start:end] = " " * (end - start)
        beside = [
            _NUMBERED.sub(" ", "".join(letters[start:end]))
            for start, end in statement(page, term.start, term.end)
        ]
        words = words_beside(" ".join(beside), page.text[term.start : term.end])
        for at, each in enumerate(self.reading.pages):
            places = [one.start for one in (first, term) if one.page == at]
            words += said_otherwise(each.text, places)
        return words

    def is_about(self, each: LinkedValue, name: str) -> bool:
        """Whether the statement of a value has a label of that field."""
        return any(one.what == name for label in self._labels(each) for one in label.meanings)

    def is_left_to(self, each: LinkedValue, choice: FieldChoice) -> bool:
        """Whether a statement has a label of a field and this value alone: `Vertragsende, abgeschlossen am …`."""
        if not self.is_about(each, choice.best.field):
            return False
        best, page = choice.best, self.reading.pages[each.page]
        places = list(statement(page, each.candidate.start, each.candidate.end))
        values = [one.start for one in page.candidates if one.kind == each.candidate.kind]
        is_alone = sum(first <= at < last for at in values for first, last in places) == 1
        return is_alone and (best.page, best.start) != (each.page, each.candidate.start)

    def is_claimed(
        self, each: LinkedValue, rule: FieldRule, choices: Mapping[str, FieldChoice]
    ) -> bool:
        """Whether the statement of a value may be about a field whose own label stands beside another value.

        It has a label of the field or a word that may change it, stands in the row of the chosen value, or right
        under it without a label.
        """
        best, page = choices[rule.name].best, self.reading.pages[each.page]
        change = _CHANGES.get(rule.kind)
        if change is None or self._is_beside(each, best):
            return True
        if rule.kind == "money" and rule.per == "month" and each.candidate.per == "month":
            return True
        for mention in self._labels(each):
            label = page.text[mention.start : mention.end]
            is_own = any(one.what == rule.name for one in mention.meanings)
            if is_own and not stands_in(rule, label):
                return not (rule.kind == "date" and self.is_only_paid(each))
        return self.says(each, change) and not (rule.kind == "date" and self.is_only_paid(each))

    def is_only_paid(self, each: LinkedValue) -> bool:
        """Whether the statement of a date is about a payment, and about nothing else of the contract."""
        return self.says(each, _PAID) and not self.says(each, _OF_SUPPLY)

    def _is_beside(self, each: LinkedValue, best: FieldCandidate) -> bool:
        """Whether a value stands in the row of the chosen one, or under it without a label of its own."""
        page = self.reading.pages[each.page]
        cell = page.cell(each.candidate.start)
        chosen = page.cell(best.start) if best.page == each.page else None
        if cell is None or chosen is None:
            return False
        # A cell before it, in whatever words, is its own label.
        is_bare = not each.links and cell.column == 0
        is_under = abs(cell.row - chosen.row) == 1 and cell.overlaps(chosen) and is_bare
        return cell.row == chosen.row or is_under

    def is_taxed(self, each: LinkedValue, choice: FieldChoice) -> bool:
        """Whether an amount is the chosen one of its row with a tax: then that one is paid."""
        page, best = self.reading.pages[each.page], choice.best
        cell = page.cell(each.candidate.start)
        chosen = page.cell(best.start) if best.page == each.page else None
        is_in_row = cell is not None and chosen is not None and cell.row == chosen.row
        return is_in_row and is_net_of(best.number, each.candidate.number)

    def is_later(self, each: LinkedValue, rule: FieldRule) -> bool:
        """Whether a field is another one later: `Der Abschlag beträgt danach 120,00 EUR`."""
        best = each.links[0] if each.links else None
        if best is None or not best.mention.is_decoy:
            return False
        text = self.reading.pages[each.page].text
        is_own = any(
            one.what == rule.name and not stands_in(rule, text[label.start : label.end])
            for label in self._labels(each)
            for one in label.meanings
        )
        return is_own and _LATER.search(text, best.mention.start, best.mention.end) is not None

    def is_part(self, each: LinkedValue, name: str) -> bool:
        """Whether an amount is a part of a chosen sum: net, or in a row without a label of that field itself."""
        page = self.reading.pages[each.page]
        is_listed = each.candidate.number in self.parts
        return is_listed and not is_own_amount(page, each.candidate.start, name)

    def is_stand_in(self, each: LinkedValue, rule: FieldRule) -> bool:
        """Whether the label of a value counts for a field only where there is no other."""
        best = each.links[0] if each.links else None
        if best is None or best.strength < LINK_MIN:
            return False
        text = self.reading.pages[each.page].text
        return stands_in(rule, text[best.mention.start : best.mention.end])

    def is_fee(self, each: LinkedValue) -> bool:
        """Whether the label right before an amount is that of a bonus or a fee, whatever else is said of it."""
        best = each.links[0] if each.links else None
        if best is None or best.strength < ADJACENT_MIN:
            return False
        label = self.reading.pages[each.page].text[best.mention.start : best.mention.end]
        return _FEE.search(label) is not None

    def heading_of_bonus(self, at: int, start: int) -> str:
        """The name of a bonus without an amount of its own that stands over a price, or over its label."""
        page = self.reading.pages[at]
        cell = page.cell(start)
        if cell is None:
            return ""
        row = page.grid.rows[cell.row]
        labels = [row[cell.column - 1]] if cell.column else []
        labels += [
            each
            for each in page.grid.above(cell, rows_max=1)
            if is_all_label(page, each) and not is_all_label(page, each, is_decoy=True)
        ]
        over = [other for each in (cell, *labels) for other in page.grid.above(each, rows_max=1)]
        return next((page.grid.words(each) for each in over if _is_bare_bonus(page, each)), "")

    def is_each_time(self, each: LinkedValue) -> bool:
        """Whether an amount is a bonus, a deduction or a fee that comes with every month or bill."""
        best = each.links[0] if each.links else None
        if best is None or best.strength < LINK_MIN:
            return False
        label = self.reading.pages[each.page].text[best.mention.start : best.mention.end]
        if not (_FEE.search(label) or _DEDUCTED.search(label)) or self.says(each, _ONCE):
            return False
        return best.mention.is_decoy and self.says(each, _EACH_TIME)

    def says(self, each: LinkedValue, pattern: re.Pattern[str]) -> bool:
        """Whether the statement of a value has such words."""
        page = self.reading.pages[each.page]
        places = statement(page, each.candidate.start, each.candidate.end)
        return any(pattern.search(page.text, first, last) for first, last in places)

    def is_special_case(self, each: LinkedValue) -> bool:
        """Whether the sentence of a period is about a special case."""
        text = self.reading.pages[each.page].text
        return is_special_case(text, each.candidate.start, each.candidate.end)

    def is_arrears(self, each: LinkedValue) -> bool:
        """Whether an amount is the debt from which on something happens."""
        text, candidate = self.reading.pages[each.page].text, each.candidate
        before = text[max(0, candidate.start - ARREARS_CHARS) : candidate.start]
        if _ARREARS_BEFORE.search(before):
            return True
        return _LIMIT_BEFORE.search(before) is not None and bool(
            _ARREARS_BEHIND.match(text, candidate.end)
        )

    def is_of_others(self, each: LinkedValue) -> bool:
        """Whether every label in the statement of a value that takes its kind is one of something else."""
        labels = [one for one in self._labels(each) if one.of_kind(each.candidate.kind)]
        return bool(labels) and all(mention.is_decoy for mention in labels)

    def is_of_payment(self, each: LinkedValue) -> bool:
        """Whether the statement of a date has labels of amounts, and none of dates: then something is paid on it."""
        kinds = {
            kind for mention in self._labels(each) for one in mention.meanings for kind in one.kinds
        }
        return "money" in kinds and not kinds & {"date", "duration"}

    def _labels(self, each: LinkedValue) -> list[LabelMention]:
        """The labels in the statement of a value."""
        page = self.reading.pages[each.page]
        return [
            mention
            for first, last in statement(page, each.candidate.start, each.candidate.end)
            for mention in page.mentions
            if first <= mention.start < last
        ]

    def is_of_reference(self, each: LinkedValue) -> bool:
        """Whether a date belongs to the number before it: that of an order, of a letter."""
        page = self.reading.pages[each.page]
        cell = page.cell(each.candidate.start)
        return cell is not None and bool(
            _REFERENCE.search(
                page.text,
                max(cell.start, each.candidate.start - REFERENCE_CHARS),
                each.candidate.start,
            )
        )

    def is_of_conclusion(self, each: LinkedValue) -> bool:
        """Whether the words at a date say that the contract was made or ordered on it, or is first paid."""
        page = self.reading.pages[each.page]
        before = page.text[max(0, each.candidate.start - REFERENCE_CHARS) : each.candidate.start]
        if is_first_payment(before):
            return True
        if _OF_END.search(before):
            return False
        is_closed = _CLOSED.match(page.text, each.candidate.end) is not None
        if _COMING.search(before) or (is_closed and not _OF_CONTRACT.search(before)):
            return False
        is_made = _MADE.match(page.text, each.candidate.end) is not None
        return is_made or _CONCLUDED.search(before) is not None

    def deduction(self) -> str:
        """An amount with a minus that is not said to be paid once: what is paid a month is another one."""
        for page in self.reading.pages:
            for found in _DEDUCTION.finditer(page.text, 0, page.terms_from):
                if not _ONCE.search(page.cell_text(found.start())):
                    return found[0].strip()
        return ""

    def is_letter_date(self, each: LinkedValue) -> bool:
        """Whether a line is a date, with or without a place, as at the head of a letter or over a signature."""
        page = self.reading.pages[each.page]
        cell = page.cell(each.candidate.start)
        if cell is None:
            return False
        text = page.text[cell.start : each.candidate.start]
        is_alone = not each.links and not text.strip()
        is_alone = is_alone and (len(page.grid.rows[cell.row]) == 1 or self._is_in_head(each, cell))
        return each.candidate.end >= cell.end - 1 and (is_alone or bool(_PLACE.fullmatch(text)))

    def _is_in_head(self, each: LinkedValue, cell: GridCell) -> bool:
        """Whether a cell stands above everything that the contract says, beside the address of the customer."""
        page = self.reading.pages[each.page]
        own = [one.start for one in page.mentions if not one.is_decoy]
        first = page.cell(min(own)) if own else None
        return not each.page and first is not None and cell.row < first.row


def _is_number(word: str) -> bool:
    """Whether a word is the number of a customer or a meter, and not a quantity with its unit."""
    digits = sum(letter.isdigit() for letter in word)
    return digits >= NUMBER_DIGITS_MIN and not (word[:digits].isdigit() and digits < len(word))


@lru_cache(maxsize=SETS_MAX)
def _plain_words(key: VerticalKey) -> tuple[frozenset[str], re.Pattern[str]]:
    """The plain words of a vertical, and those that are several as a pattern."""
    words = [*all_labels(key.vertical.plain), *all_labels(key.vertical.signs)]
    several = [r"\s+".join(map(re.escape, word.split())) for word in words if " " in word]
    pattern = re.compile(rf"\b(?:{'|'.join(several) or '(?!)'})\b", re.IGNORECASE)
    return frozenset(map(skeleton, words)), pattern


def _spans(page: AnalyzedPage) -> Iterator[tuple[int, int]]:
    """The places of a page that are read: labels, names, phrases."""
    for mention in page.mentions:
        word = page.text[mention.start : mention.end].casefold()
        if mention.slip != "compound" or word.startswith(PREFIXES):
            yield mention.start, mention.end
    for hits in (page.names, page.phrases, page.rivals):
        for hit in hits:
            yield hit.start, hit.end


def _is_bare_bonus(page: AnalyzedPage, cell: GridCell) -> bool:
    """Whether a cell only names a bonus or a discount, and no amount stands to its right."""
    words = page.grid.words(cell)
    if not is_all_label(page, cell, is_decoy=True) or not _BONUS.search(words):
        return False
    right = page.grid.rows[cell.row][cell.column + 1 :]
    return not any(
        each.start <= one.start < each.end
        for each in right
        for one in page.candidates
        if one.kind == "money"
    )
