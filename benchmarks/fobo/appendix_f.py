"""The other two functions of appendix F, Rosenbrock and Drop-Wave, which the paper describes and does not show.

    python -m benchmarks.fobo.appendix_f                              # d = 4, 50 evaluations, 3 runs
    python -m benchmarks.fobo.appendix_f --full --core 1              # d = 4 and 16, 100 evaluations, 32 runs
    python -m benchmarks.fobo.appendix_f --full --dimensions 4 --methods fobo,lbfgs-r --runs 4
    python -m benchmarks.fobo.appendix_f --full --draw                # the tables and the picture of what has run

Methods, counts and options are those of ``figure5``.
"""

from benchmarks.fobo.figure5 import Size, main

FULL = Size("fobo_appendix_f", "OTHERS", [4, 16], 100, 32)
SHORT = Size("fobo_appendix_f_short", "OTHERS", [4], 50, 3)

if __name__ == "__main__":
    main(FULL, SHORT, __doc__)
