from pathlib import Path

Path("train.py").write_text("import sys\nprint(float(sys.argv[2]) + (sys.argv[4] == 'sgd'))\n")
