"""Tables of the paper on reparameterized acquisition functions (``measurements-gp.md``)."""

from benchmarks.pages.rows import Row
from benchmarks.pages.tables import flat, table


@table("acquisition_optimizers")
def regrets(rows: list[Row]) -> str:
    optimizers = list(rows[0])[2:]
    columns = {"": "{acquisition}"} | {name: _cell(name) for name in optimizers}
    return flat(rows, columns, between=(min, optimizers[1:]))


@table("acquisition_table2")
def seconds(rows: list[Row]) -> str:
    return flat(rows, {"seconds of a batch (paper)": "{optimizer}"} | {name: _cell(name) for name in list(rows[0])[1:]})


def _cell(name: str) -> object:
    return lambda row: row[name].replace("+-", "±")
