"""The engine: coordinator, scheduler, reviews, external driver, history verification, and the loop of a process."""
