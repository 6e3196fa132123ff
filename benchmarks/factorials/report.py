"""Tables that are run once for a version."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.factorials.development import bell, effects, interactions, rate
from benchmarks.factorials.tables import Steps, table

HALF = "report"
SOLVENTS = {
    "hexane": 1.9,
    "ether": 4.3,
    "ethyl acetate": 6.0,
    "dichloromethane": 8.9,
    "acetone": 20.7,
    "methanol": 32.7,
    "water": 80.1,
}  # dielectric constants
HALIDES = {"4-chloro": 0.23, "4-methoxy": -0.27, "4-nitro": 0.78, "4-methyl": -0.17, "none": 0.0}  # Hammett's sigma
AMINES = {"aniline": 4.6, "morpholine": 8.4, "piperidine": 11.2, "benzylamine": 9.3}  # pKa
METALS = {
    "steel": (210e9, 7850, 250e6, 1.0),
    "aluminium": (69e9, 2700, 240e6, 2.8),
    "titanium": (114e9, 4500, 880e6, 22),
    "brass": (100e9, 8500, 200e6, 7.0),
    "carbon": (130e9, 1600, 600e6, 35),
}
CAPACITORS = [1.0, 1.5, 2.2, 3.3, 4.7, 6.8]  # the series E6
RESISTORS = [1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2]  # the series E12


@table(
    HALF,
    highest=True,
    halide=list(HALIDES),
    amine=list(AMINES),
    solvent=list(SOLVENTS),
    additive=["none", "LiCl", "zinc", "iodide", "crown ether", "silver"],
)
def amination(halide: str, amine: str, solvent: str, additive: str) -> float:
    """Yield of a substitution: Hammett's equation, polarity, and additives that help some of the partners."""
    polar = 1 - 1 / SOLVENTS[solvent]
    rho = {"none": 2.5, "LiCl": 2.2, "zinc": 1.0, "iodide": 1.5, "crown ether": 3.0, "silver": -0.5}[additive]
    log_k = rho * HALIDES[halide] + 0.35 * (AMINES[amine] - 8) - 2.5 * (polar - 0.85) ** 2 / 0.05 - 0.3
    log_k += 0.8 * (additive == "crown ether") * (SOLVENTS[solvent] < 9) + 0.7 * (additive == "silver") * (polar > 0.9)
    side = 10 ** (0.4 * (AMINES[amine] - 9) + 1.5 * (polar - 0.9) + 0.6 * HALIDES[halide] - 0.8)
    return 100 * (1 - math.exp(-(10**log_k))) / (1 + side)


@table(
    HALF,
    highest=True,
    noise=0.04,
    celsius=Steps(30, 110, 10),
    hours=[0.5, 1, 2, 4, 8, 16],
    acid=["sulfuric", "resin", "tosic", "none"],
    excess=[1, 2, 3, 5, 10],
)
def esterification(celsius: float, hours: float, acid: str, excess: float) -> float:
    """Profit of an esterification: a reversible reaction of second order, catalyst, energy and alcohol."""
    energy, factor, price = {
        "sulfuric": (55, 1.0, 6),
        "resin": (60, 0.7, 2),
        "tosic": (52, 0.9, 9),
        "none": (80, 0.03, 0),
    }[acid]
    forward = 0.25 * factor * rate(energy, celsius)
    backward, x = forward / (4.2 * rate(4, celsius)), 0.0
    for _ in range(100):
        x += hours / 100 * (forward * (1 - x) * (excess - x) - backward * x**2)
        x = min(max(x, 0.0), 1.0)
    lost = 8 * (acid == "sulfuric") * rate(95, celsius) * math.log1p(hours)
    return 100 * x - price - lost - 3.0 * excess**0.8 - 0.06 * (celsius - 30) - 1.2 * hours**0.7


@table(
    HALF,
    highest=True,
    noise=0.08,
    carbon=["glucose", "glycerol", "sucrose", "lactose"],
    grams=Steps(10, 60, 10),
    nitrogen=["yeast", "ammonium", "urea", "nitrate"],
    ph=Steps(5.0, 8.0, 0.5),
    celsius=Steps(24, 40, 4),
    rpm=[200, 400, 600],
)
def fermentation(carbon: str, grams: float, nitrogen: str, ph: float, celsius: float, rpm: float) -> float:
    """Titre after two days: Monod's growth, inhibition by substrate, oxygen."""
    speed, inhibition = {"glucose": (0.5, 30), "glycerol": (0.4, 90), "sucrose": (0.42, 45), "lactose": (0.3, 70)}[
        carbon
    ]
    rich, drift = {"yeast": (1.0, 0.1), "ammonium": (0.75, -0.6), "urea": (0.8, 0.5), "nitrate": (0.65, 0.3)}[nitrogen]
    growth = speed * rich * grams / (5 + grams + grams**2 / inhibition) * bell(ph + drift, 6.7, 0.8)
    growth *= rate(45, celsius, at=30) / (1 + math.exp(0.8 * (celsius - 37)))
    biomass = min(0.45 * grams, 0.2 * math.exp(min(24 * growth, 12)))
    oxygen = biomass / (biomass + 12 * (rpm / 300) ** 1.5)
    return biomass * (0.2 + 0.5 * (1 - oxygen)) * (1.2 if carbon == "glycerol" else 1.0) * (1 - 0.12 * (rpm == 600))


@table(
    HALF,
    noise=0.05,
    speed=Steps(80, 240, 40),
    feed=[0.05, 0.1, 0.16, 0.25, 0.4],
    depth=Steps(0.5, 2.5, 0.5),
    insert=["carbide", "coated", "cermet", "ceramic"],
    coolant=["dry", "flood", "MQL"],
)
def turning(speed: float, feed: float, depth: float, insert: str, coolant: str) -> float:
    """Cost of a turned part: time, tools by Taylor's equation, and roughness."""
    exponent, constant, price, radius = {
        "carbide": (0.25, 260, 3, 0.8),
        "coated": (0.28, 380, 5, 0.8),
        "cermet": (0.3, 420, 6, 0.4),
        "ceramic": (0.4, 700, 11, 1.2),
    }[insert]
    cool = {"dry": 0.85, "flood": 1.1, "MQL": 1.0}[coolant]
    life = (cool * constant / (speed * feed**0.35 * depth**0.15 * 2)) ** (1 / exponent)
    cut = 120 / (speed * feed * depth)
    rough = 1000 * feed**2 / (32 * radius) + 1.5 * (speed < 100) * (insert != "cermet") + 0.3 * depth
    return (
        1.2 * cut
        + 60 * cut / max(life, 0.01) * price / 100
        + 0.8 * max(0.0, rough - 1.6)
        + {"dry": 0, "flood": 1.0, "MQL": 0.5}[coolant]
    )


@table(
    HALF,
    mass=Steps(30, 60, 10),
    area=[0.005, 0.010, 0.015, 0.020],
    volume=Steps(0.002, 0.010, 0.002),
    spring=Steps(1000, 5000, 1000),
    pressure=[90000, 100000, 110000],
    kelvin=[290, 293, 296],
)
def piston(mass: float, area: float, volume: float, spring: float, pressure: float, kelvin: float) -> float:
    """Distance of a piston's cycle from 0.5 s (Kenett and Zacks 1998)."""
    a = pressure * area + 19.62 * mass - spring * volume / area
    v = area / (2 * spring) * (math.sqrt(a**2 + 4 * spring * pressure * volume / kelvin * 293) - a)
    return abs(2 * math.pi * math.sqrt(mass / (spring + area**2 * pressure * volume / kelvin * 293 / v**2)) - 0.5)


@table(HALF, r1=RESISTORS, r2=RESISTORS, c1=CAPACITORS, c2=CAPACITORS)
def low_pass(r1: float, r2: float, c1: float, c2: float) -> float:
    """Distance of a Sallen-Key filter of catalogue parts from Butterworth's at 5 kHz."""
    product = r1 * r2 * c1 * c2 * 1e-10  # kilo-ohm and ten nanofarad
    frequency = 1 / (2 * math.pi * math.sqrt(product))
    quality = math.sqrt(r1 * r2 * c1 * c2) / (c2 * (r1 + r2))
    return abs(math.log(frequency / 5000)) + abs(math.log(quality * math.sqrt(2)))


@table(
    HALF,
    area=Steps(150, 200, 10),
    fuel=Steps(220, 300, 20),
    ratio=[6, 7, 8, 9, 10],
    sweep=Steps(-10, 10, 5),
    thick=[0.08, 0.11, 0.14, 0.18],
    load=Steps(2.5, 6.0, 0.5),
)
def wing(area: float, fuel: float, ratio: float, sweep: float, thick: float, load: float) -> float:
    """Weight of a wing (Forrester et al. 2008) less what lift and range are worth."""
    cosine = math.cos(math.radians(sweep))
    weight = 0.036 * area**0.758 * fuel**0.0035 * (ratio / cosine**2) ** 0.6 * 34**0.006 * 0.7**0.04
    weight *= (100 * thick / cosine) ** -0.3 * (load * 2000) ** 0.49
    return weight + area * 0.05 - 0.9 * (area - 150) - 12 * ratio * cosine - 14 * load - 0.2 * fuel + 900 * thick**2


@table(
    HALF,
    metal=list(METALS),
    shape=["square", "tube", "I", "round"],
    width=Steps(20, 80, 10),
    height=Steps(20, 120, 20),
    span=[1.0, 1.5, 2.0],
)
def beam(metal: str, shape: str, width: float, height: float, span: float) -> float:
    """Cost of a beam that carries 3 kN in its middle, with penalties for stress, bending and vibration."""
    modulus, density, strength, price = METALS[metal]
    b, h = width / 1000, height / 1000
    area, second = {
        "square": (b * h, b * h**3 / 12),
        "tube": (0.36 * b * h, 0.59 * b * h**3 / 12),
        "I": (0.28 * b * h, 0.52 * b * h**3 / 12),
        "round": (0.785 * b * h, 0.59 * b * h**3 / 12),
    }[shape]
    stress = 3000 * span / 4 * h / 2 / second / strength
    sag = 3000 * span**3 / (48 * modulus * second) / (span / 250)
    cost = density * area * span * price * {"square": 1, "tube": 1.5, "I": 1.9, "round": 1.1}[shape]
    return (
        math.log(cost + 2) + 2 * math.log1p(max(0.0, stress - 0.6) * 3) + 2 * math.log1p(max(0.0, sag - 1)) - 0.4 * span
    )


@table(
    HALF,
    highest=True,
    noise=0.04,
    column=["C18", "C8", "phenyl", "HILIC"],
    modifier=["methanol", "acetonitrile", "THF"],
    percent=Steps(20, 70, 10),
    ph=Steps(2.5, 7.5, 1.0),
    celsius=[25, 35, 45, 60],
)
def chromatography(column: str, modifier: str, percent: float, ph: float, celsius: float) -> float:
    """The least resolution of three peaks, less the time of the run."""
    greasy, slope = {"C18": (1.0, 1.0), "C8": (0.75, 0.9), "phenyl": (0.6, 1.1), "HILIC": (-0.5, -0.6)}[column]
    strength = {"methanol": 2.6, "acetonitrile": 3.2, "THF": 3.9}[modifier]
    times = []
    for fat, pka, ring in ((3.1, 4.2, 0.2), (2.9, 9.0, 0.8), (2.3, 5.5, 0.5)):
        charged = 1 / (1 + 10 ** (pka - ph)) if pka < 7 else 1 / (1 + 10 ** (ph - pka))
        log_k = greasy * fat - 1.2 * charged * greasy - slope * strength * percent / 100
        times.append(
            10
            ** min(
                log_k + 0.35 * ring * ((column == "phenyl") + (modifier == "methanol")) - 0.004 * (celsius - 25), 2.5
            )
        )
    gaps = np.diff(np.sort(times)) / (np.sort(times)[1:] + 1)
    plates = 18 + 0.08 * (celsius - 25) - 4 * (column == "HILIC") - 4 * (celsius == 60) * (column != "phenyl")
    return plates * float(gaps.min()) / 4 + 3 / (1 + max(times) / 5)


TRIPLES = interactions(2, (3, 3, 3, 3, 3, 3), 0.5, 0.3)


@table(HALF, u=list("abc"), v=list("abc"), w=list("abc"), x=list("abc"), y=list("abc"), z=list("abc"))
def triples(u: str, v: str, w: str, x: str, y: str, z: str) -> float:
    """Categories with effects of their own, of pairs and of triples."""
    return effects(TRIPLES, u, v, w, x, y, z)


WIDE = interactions(3, (9, 8, 7), 0.5)


@table(HALF, noise=0.05, donor=list("abcdefghi"), linker=list("abcdefgh"), acceptor=list("abcdefg"))
def library(donor: str, linker: str, acceptor: str) -> float:
    """A library of molecules of three parts."""
    return 10 + effects(WIDE, donor, linker, acceptor)


@table(
    HALF,
    highest=True,
    noise=0.06,
    resin=["epoxy", "urethane", "acrylic", "silicone"],
    hardener=Steps(20, 60, 10),
    celsius=Steps(20, 140, 20),
    minutes=[10, 20, 40, 80, 160],
    primer=["none", "silane", "plasma"],
    surface=["steel", "glass", "PP"],
)
def adhesive(resin: str, hardener: float, celsius: float, minutes: float, primer: str, surface: str) -> float:
    """Strength of a bond: cure, its best ratio, brittleness, and the surface."""
    best, energy, strong = {
        "epoxy": (40, 60, 30),
        "urethane": (35, 45, 22),
        "acrylic": (25, 40, 20),
        "silicone": (30, 50, 9),
    }[resin]
    cure = 1 - math.exp(-0.03 * minutes * rate(energy, celsius, at=70)) * 0.95
    wet = {"steel": 0.8, "glass": 0.7, "PP": 0.15}[surface] + {
        "none": 0,
        "silane": 0.25 * (surface == "glass"),
        "plasma": 0.6 * (surface == "PP") + 0.05,
    }[primer]
    burnt = max(0.0, celsius - {"epoxy": 130, "urethane": 90, "acrylic": 100, "silicone": 150}[resin]) / 60
    return strong * cure * bell(hardener, best, 11) * min(wet, 1.0) * (1 - 0.15 * cure**8) * math.exp(-burnt)
