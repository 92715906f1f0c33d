"""Column profiles: what a file alone cannot show is known for exports of these banks, and never believed against it."""

from pathlib import Path

import msgspec
import pytest

from stateward.core.errors import DeclarationError
from stateward.pipelines.statements.learning import learn, learned_profiles
from stateward.pipelines.statements.profiles import ProfileFile, shipped_profiles
from stateward.pipelines.statements.raw_table import raw_table
from tests.pipelines.statements.reading import read_bytes

AMEX = (
    "Date,Description,Card Member,Account #,Amount\n01/30/2026,WHOLE FOODS,J S,-1,85.20\n"
    "01/20/2026,DELTA,J S,-1,320.00\n"
)
HDFC = (
    "Date,Narration,Value Dat,Debit Amount,Credit Amount,Chq/Ref Number,Closing Balance\n"
    "01/02/26,UPI,01/02/26,450.00,0.00,1,9550.00\n05/02/26,NEFT,05/02/26,0.00,50.00,2,9600.00\n"
)


def test_a_card_without_a_payment_is_known_by_its_headings(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, AMEX)

    assert read.amounts == ["-85.20", "-320.00"]
    assert read.notes == ["NOT_CHECKED"]
    assert "the columns are those of American Express" in read.log


def test_the_order_of_dates_is_known_where_no_date_shows_it(tmp_path: Path) -> None:
    read = read_bytes(tmp_path, HDFC)

    assert read.dates == ["2026-02-01", "2026-02-05"]
    assert read.notes == []


def test_a_file_without_headings_is_known_by_its_shape(tmp_path: Path) -> None:
    text = '"01/05/2026","-45.20","*","","SAFEWAY"\n"02/06/2026","-5.20","*","","CVS"\n'

    read = read_bytes(tmp_path, text)

    assert read.dates == ["2026-01-05", "2026-02-06"]


def test_a_profile_that_the_file_refutes_is_said(tmp_path: Path) -> None:
    text = AMEX + "01/25/2026,ONLINE PAYMENT - THANK YOU,J S,-1,400.00\n"

    assert "SIGN_CONTRADICTED" in read_bytes(tmp_path, text).notes


def test_own_profiles_go_before_those_that_ship(tmp_path: Path) -> None:
    own = {
        "version": 1,
        "profiles": [{"name": "Mine", "headings": ["Day", "What", "Amount"], "sign": "flipped"}],
    }

    read = read_bytes(
        tmp_path, "Day,What,Amount\n2026-01-05,a,5.00\n", options={"column_profiles": own}
    )

    assert read.amounts == ["-5.00"]
    wrong = {"version": 1, "profiles": [{"name": "Mine", "columns": []}]}
    failed = read_bytes(
        tmp_path, "Day,What,Amount\n2026-01-05,a,5.00\n", options={"column_profiles": wrong}
    )
    assert failed.error.code == "BAD_PROFILES"


@pytest.mark.parametrize("profile", shipped_profiles(), ids=lambda each: each.name)
def test_a_profile_has_headings_or_a_shape(profile: object) -> None:
    assert getattr(profile, "headings", None) or getattr(profile, "shape", None)
    assert getattr(profile, "sign", "") in ("", "printed", "flipped", "columns_absolute")
    assert getattr(profile, "date_order", "") in ("", "dmy", "mdy", "ymd")


def test_what_was_said_about_a_table_without_headings_is_learned_by_its_shape(
    tmp_path: Path,
) -> None:
    path, file = tmp_path / "first.csv", tmp_path / "learned" / "profiles.yaml"
    path.write_text("01/02/2026,Shop,1.00,9.99\n03/04/2026,Fuel,2.00,9.99\n")
    hints = {"map": "date=1,description=2,amount=3", "date_order": "mdy", "sign": "flipped"}

    rows = raw_table(path, hints) or []
    name = learn(file, rows, hints, name="first.csv")
    again = learn(file, rows, {**hints, "sign": "printed"}, name="second.csv")

    assert (name, again) == ("learned from first.csv", "learned from second.csv")
    (profile,) = msgspec.convert(learned_profiles(file), ProfileFile).profiles
    assert (profile.shape, profile.sign) == ("dtaa", "printed")
    options = {"learned_profiles": learned_profiles(file)}
    read = read_bytes(tmp_path, "05/06/2026,Bakery,3.00,7.77\n", options=options)
    assert (read.dates, read.amounts) == (["2026-05-06"], ["3.00"])


def test_there_is_nothing_to_learn_without_a_table_or_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"

    assert learn(file, [], {"sign": "flipped"}, name="x") == ""
    assert learn(file, [["2026-01-05", "1.00"]], {"account": "1"}, name="x") == ""
    assert not file.exists()


def test_a_damaged_file_of_learned_profiles_is_named(tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text("profiles: 7")

    with pytest.raises(DeclarationError, match=r"profiles\.yaml"):
        learned_profiles(file)
