import sonde
