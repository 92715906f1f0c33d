"""What tests are built from: servers, builders, fakes, and the suites that every engine must pass.

It may use `app` and everything below; only the command line uses it.
"""
