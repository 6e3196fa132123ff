values = {name: [trial.value for trial in result.trials] for name, result in results.items()}
with_gradients, without = values["values and gradients"], values["values only"]
assert len(with_gradients) == len(without) == 30
assert min(with_gradients) < 0.005  # the errors of the measurements: 0.002
assert min(with_gradients[:10]) < min(without)
assert np.allclose([trial.value for trial in own.trials], with_gradients[:5], rtol=1e-3)
