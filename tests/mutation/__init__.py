"""Do the tests notice a wrong program? Every small change to the core is made, and must be caught.

`python -m tests.mutation` makes the mutants, tries each, and writes docs/mutants.md.
"""
