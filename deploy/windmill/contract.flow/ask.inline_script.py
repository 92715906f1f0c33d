# Shows what a person decides on, and the addresses at which the flow can be resumed. The form has no answer in it: a
# decision is made, not taken over. The second time it shows what was refused, and holds what was written.
import wmill


def main(extracted: dict, refused: dict | None = None) -> dict:
    shown = {"extracted": extracted}
    if refused:
        shown |= {"refused": refused.get("refused"), "default_args": refused.get("decision")}
    return {**wmill.get_resume_urls(), **shown}
