def train(trial):
    return trial["lr"] * trial["layers"]
