said = " ".join(study.advice())
assert "best trials have gamma at its upper bound 1" in said
assert "hardly depends on optimizer" in said
assert all(1e6 < Path(name).stat().st_size < 3e6 for name in ("report.html", "net.html"))
