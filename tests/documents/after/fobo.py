assert result.best_value < 60  # a mean value is 110
assert "fobo" in result.study.explain()
