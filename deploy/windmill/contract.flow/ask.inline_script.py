# Shows what a person decides on, and the addresses at which the flow can be resumed.
import wmill


def main(extracted: dict) -> dict:
    shown = {"default_args": {"action": "approve"}, "extracted": extracted}
    return {**wmill.get_resume_urls(), **shown}
