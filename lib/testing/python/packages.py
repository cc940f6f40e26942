"""Answers for services.int.test.ts: the version of an installed package, and an error."""

from importlib.metadata import version

from serving import serve


def fail() -> None:
    print("printed text does not mix with answers")
    raise ValueError("this function always fails")


serve({"version": lambda package: version(package), "fail": fail})
