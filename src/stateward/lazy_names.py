"""Names of a package that are looked up when they are first used, so that importing the package costs nothing."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def look_up_in(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package, given its public names by the module that defines them."""
    module_of = {name: module for module, names in modules.items() for name in names}

    def look_up(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(module_of[name]), name)
        vars(import_module(package))[name] = found  # from then on an ordinary attribute
        return found

    return look_up
