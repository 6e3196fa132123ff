"""Numbers of the documentation, written from the files of ``results``.

In a page a table stands between ``<!-- table: MODULE.FUNCTION -->`` and ``<!-- end -->``, a number within a sentence
between ``<!-- number: MODULE.FUNCTION -->`` and the same end: what that function of a module of this package returns.

    python -m benchmarks.pages            # write them; a benchmark that writes a CSV does so itself
    python -m benchmarks.pages --check    # name those that differ from their files
"""
