"""YAML values to read: any that hypothesis finds, and those that YAML readers differ on."""

import enum

from hypothesis import strategies as st

from stateward.definition import plain_values

SOURCE = "machine.yaml"

scalars = (
    st.none()
    | st.booleans()
    | st.integers(plain_values.INT_MIN, plain_values.INT_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["yes", "No", "on", "012", "08", "1:30", "1e3", "1.5e3", "0x1F", "0o17", "~"])
    | st.sampled_from(
        ["", "null", "True", "1_000", ".inf", "2024-01-31", "=", "<<", "!", "*a", "&a"]
    )
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


class Colour(enum.StrEnum):
    RED = "red"
