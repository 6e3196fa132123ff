from sonde.cli.space_file import read_space

assert space.finite is False
_, in_file = read_space(["true"], Path("space.toml"))
assert list(in_file) == ["lr", "layers", "model"]
