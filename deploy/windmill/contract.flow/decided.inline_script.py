# The decision stands as it was reported.
def main(decided: dict) -> dict:
    return decided
