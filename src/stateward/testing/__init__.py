"""What tests are built from: servers, builders, fakes, and the suites that every engine must pass.

It may use every other room; no other room may use it.
"""
