assert len(again.get_results()) == len(search.study.trials) == 12
assert {str(trial.state) for trial in search.study.trials} <= {"completed", "stopped", "running"}
assert search.study.best_params["net/layers"] == 3
ray.shutdown()
