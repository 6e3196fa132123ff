"""Tables on which anything may be tried."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.factorials.tables import Steps, table

HALF = "development"
POLARITY = {"toluene": 0.10, "thf": 0.21, "dioxane": 0.16, "dmf": 0.39, "acetonitrile": 0.46, "ethanol": 0.65}
BASES = {"triethylamine": 10.7, "carbonate": 10.3, "phosphate": 12.3, "tert-butoxide": 17.0}
# cone angle in degrees and electronic parameter in 1/cm (Tolman 1977)
PHOSPHINES = {
    "PPh3": (145, 2068.9),
    "PCy3": (170, 2056.4),
    "PBu3": (132, 2060.3),
    "P(OPh)3": (128, 2085.3),
    "PtBu3": (182, 2056.1),
    "P(oTol)3": (194, 2066.6),
}
GAS = 8.314e-3  # kJ / mol K


def bell(x: float, centre: float, width: float) -> float:
    """Return 1 at the centre, and less away from it."""
    return math.exp(-0.5 * ((x - centre) / width) ** 2)


def rate(energy: float, celsius: float, *, at: float = 80.0) -> float:
    """Return Arrhenius's factor, 1 at a reference temperature."""
    return math.exp(-energy / GAS * (1 / (celsius + 273.15) - 1 / (at + 273.15)))


@table(
    HALF,
    highest=True,
    ligand=list(PHOSPHINES),
    base=list(BASES),
    solvent=list(POLARITY),
    celsius=Steps(60, 110, 10),
    loading=[0.5, 1.0, 2.0, 5.0],
)
def coupling(ligand: str, base: str, solvent: str, celsius: float, loading: float) -> float:
    """Yield of a cross-coupling: oxidative addition, transmetalation, and loss of the catalyst."""
    cone, electronic = PHOSPHINES[ligand]
    addition = math.exp(-(electronic - 2056) / 12) + 0.1
    elimination = bell(cone, 172, 18) + 0.05
    transmetal = bell(BASES[base], 11.5 + 4 * POLARITY[solvent], 2.0) + 0.05
    k = loading * rate(75, celsius) / (1 / addition + 1 / elimination + 1 / transmetal)
    lost = 0.15 * rate(110, celsius) * (1 + POLARITY[solvent]) * (1.5 - elimination)
    return 100 * (1 - math.exp(-0.25 * k / (0.4 + lost) * (1 - math.exp(-0.4 - lost))))


@table(
    HALF,
    highest=True,
    noise=0.05,
    celsius=Steps(40, 120, 10),
    minutes=[5, 10, 20, 40, 80, 160],
    catalyst=["A", "B", "C", "none"],
    solvent=list(POLARITY),
)
def consecutive(celsius: float, minutes: float, catalyst: str, solvent: str) -> float:
    """Yield of B in A -> B -> C."""
    energy, factor = {"A": (62, 1.5), "B": (50, 0.6), "C": (75, 2.2), "none": (90, 0.3)}[catalyst]
    first = 0.05 * factor * rate(energy, celsius) * math.exp(2 * (POLARITY[solvent] - 0.3))
    second = 0.02 * rate(85, celsius) * math.exp(-3 * abs(POLARITY[solvent] - 0.4))
    if abs(first - second) < 1e-9:
        second *= 1.001
    return 100 * first / (second - first) * (math.exp(-first * minutes) - math.exp(-second * minutes))


@table(
    HALF,
    highest=True,
    noise=0.08,
    ph=Steps(5.0, 9.0, 0.5),
    celsius=Steps(25, 65, 5),
    buffer=["acetate", "phosphate", "tris", "hepes"],
    substrate=[1, 2, 5, 10, 20, 50],
    salt=Steps(0, 200, 50),
)
def enzyme(ph: float, celsius: float, buffer: str, substrate: float, salt: float) -> float:
    """Activity: two ionisations, heating and unfolding, inhibition by substrate."""
    pka, binding = {"acetate": (4.8, 1.0), "phosphate": (7.2, 0.7), "tris": (8.1, 0.9), "hepes": (7.5, 1.1)}[buffer]
    true = ph - 0.02 * (celsius - 25) * (buffer == "tris") - 0.1 * (abs(ph - pka) > 1.5)
    ionised = 1 / (1 + 10 ** (6.2 - true) + 10 ** (true - 8.3))
    folded = 1 / (1 + math.exp(0.35 * (celsius - 54 + salt / 40)))
    return (
        100
        * rate(48, celsius, at=37)
        * binding
        * ionised
        * folded
        * substrate
        / (4 + salt / 50 + substrate + substrate**2 / 40)
    )


@table(
    HALF,
    highest=True,
    noise=0.03,
    ampere=Steps(160, 260, 20),
    volt=Steps(20, 30, 2),
    speed=Steps(20, 60, 10),
    gas=["argon", "CO2", "mix 80/20", "helium mix"],
    groove=[45, 60, 75],
)
def weld(ampere: float, volt: float, speed: float, gas: str, groove: float) -> float:
    """Tensile strength: penetration by heat input, and grain growth and spatter beyond it."""
    efficiency, spatter = {"argon": (0.7, 0.2), "CO2": (0.85, 0.6), "mix 80/20": (0.8, 0.3), "helium mix": (0.9, 0.4)}[
        gas
    ]
    heat = efficiency * ampere * volt * 60 / (1000 * speed)
    depth = 1 - math.exp(-heat * (1 + (groove - 60) / 120) / 4)
    arc = abs(volt - 14 - 0.05 * ampere) / 4
    return 520 * depth - 9 * max(0.0, heat - 7) ** 1.5 - 60 * spatter * arc - 0.02 * (groove - 62) ** 2


@table(
    HALF,
    rw=Steps(0.05, 0.15, 0.025),
    tu=[63070, 80000, 100000, 115600],
    hu=Steps(990, 1110, 30),
    hl=Steps(700, 820, 30),
    length=Steps(1120, 1680, 140),
    kw=[9855, 10500, 11200, 12045],
)
def borehole(rw: float, tu: float, hu: float, hl: float, length: float, kw: float) -> float:
    """Distance from a flow of 60 m^3 a year (Harper and Gupta 1983)."""
    ratio = math.log(2500 / rw)
    flow = 2 * math.pi * tu * (hu - hl) / (ratio * (1 + 2 * length * tu / (ratio * rw**2 * kw) + tu / 90))
    return abs(flow - 60)


@table(
    HALF,
    b1=[56, 68, 82, 100, 120, 150],
    b2=[27, 33, 39, 47, 56, 68],
    feedback=[0.56, 0.68, 1.0, 1.5, 2.2, 2.7],
    c1=[1.2, 1.5, 1.8, 2.2],
    transistor=["BC107", "2N2222", "2N3904", "BC547"],
)
def amplifier(b1: float, b2: float, feedback: float, c1: float, transistor: str) -> float:
    """Distance of the midpoint voltage of an OTL circuit from 5.2 V (Ben-Ari and Steinberg 2007), and its spread."""
    beta, cost = {"BC107": (180, 0.9), "2N2222": (120, 0.2), "2N3904": (150, 0.1), "BC547": (300, 0.15)}[transistor]
    bias, gain = 12 * b2 / (b1 + b2), beta * (c1 + 9) / 50
    middle = (bias + 0.74) * gain / (gain + feedback) + 11.35 * feedback / (gain + feedback)
    middle += 0.74 * feedback * gain / ((gain + feedback) * c1)
    return abs(middle - 5.2) + 0.1 * cost + 0.02 * feedback


@table(
    HALF,
    bore=[12, 15, 18, 22, 28, 35],
    tubes=Steps(20, 100, 10),
    baffles=Steps(2, 10, 2),
    metal=["copper", "brass", "steel", "titanium"],
    fluid=["water", "glycol", "oil"],
)
def exchanger(bore: float, tubes: float, baffles: float, metal: str, fluid: str) -> float:
    """Yearly cost of a shell-and-tube heat exchanger: pumping, metal, and heat not recovered."""
    conductivity, price = {"copper": (390, 9.0), "brass": (120, 6.0), "steel": (16, 3.5), "titanium": (21, 12.0)}[metal]
    viscosity, prandtl, k = {"water": (0.8, 5.5, 0.6), "glycol": (3.5, 30, 0.42), "oil": (20, 250, 0.14)}[fluid]
    velocity = 4e6 * 0.012 / (math.pi * bore**2 * tubes)
    reynolds = 1000 * velocity * bore / viscosity
    nusselt = 3.66 if reynolds < 2300 else 0.023 * reynolds**0.8 * prandtl**0.4
    inside, outside = nusselt * k / (bore / 1000), 500 * (1 + baffles) ** 0.55
    u = 1 / (1 / inside + 0.0015 / conductivity + 1 / outside + 2e-4 * (metal == "steel"))
    area = math.pi * bore / 1000 * 3 * tubes
    friction = 64 / reynolds if reynolds < 2300 else 0.316 * reynolds**-0.25
    pump = 2.0 * friction * 3000 / bore * velocity**2 + 1.5 * baffles**1.5
    return 100 * math.exp(-u * area / 20000) + price * area / 4 + pump + {"water": 4, "glycol": 2, "oil": 0}[fluid]


@table(
    HALF,
    highest=True,
    noise=0.06,
    water=Steps(0.35, 0.65, 0.05),
    ash=Steps(0, 40, 10),
    plasticizer=Steps(0.0, 2.0, 0.5),
    cement=["CEM I", "CEM II", "CEM III"],
    curing=["air", "water", "steam"],
)
def concrete(water: float, ash: float, plasticizer: float, cement: str, curing: str) -> float:
    """Strength after 28 days by Abrams' law, with voids where the mix is too dry to compact, less its cost."""
    base, slow = {"CEM I": (1.0, 0.0), "CEM II": (0.93, 0.1), "CEM III": (0.9, 0.25)}[cement]
    binder = 1 - ash / 100 + 0.35 * ash / 100
    hydrated = {"air": 0.8, "water": 1.0, "steam": 0.92}[curing] - slow * {"air": 0.6, "water": 0.3, "steam": 0.0}[
        curing
    ]
    slump = 1 / (1 + math.exp(-(water + 0.09 * plasticizer + ash / 400 - 0.47) / 0.03))
    return 210 / 11 ** (water / binder) * base * hydrated * (0.3 + 0.7 * slump) - 2.5 * plasticizer**2 + 0.12 * ash


@table(
    HALF,
    highest=True,
    noise=0.05,
    wing=Steps(60, 140, 20),
    width=[30, 40, 50, 60],
    body=Steps(40, 120, 20),
    paper=["copy", "card", "bond", "tissue"],
    clip=["none", "one", "two"],
    tape=["no", "yes"],
)
def helicopter(wing: float, width: float, body: float, paper: str, clip: str, tape: str) -> float:
    """Seconds of flight of a paper helicopter (Box 1992; Annis 2005): sinking at the speed that carries its weight."""
    gram, stiff = {"copy": (80, 1.0), "card": (160, 3.5), "bond": (105, 1.6), "tissue": (25, 0.25)}[paper]
    mass = (
        gram * 1e-6 * (2 * wing * width + body * width)
        + {"none": 0.0, "one": 0.4, "two": 0.8}[clip]
        + 0.15 * (tape == "yes")
    )
    stable = 1 / (1 + math.exp(-(body / 35 + {"none": 0, "one": 1.5, "two": 2.2}[clip] - wing / 50 - 0.3)))
    firm = 1 / (1 + (wing / 110) ** 4 / (stiff * (1.6 if tape == "yes" else 1.0)))
    return 6.0 * math.sqrt(wing**2 / 10000 / mass) * stable * firm * (0.8 + 0.004 * width)


def interactions(
    seed: int, sizes: tuple[int, ...], pairs: float, triples: float = 0.0
) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Return random effects of levels, of pairs of them and of triples, with these standard deviations."""
    from itertools import combinations

    rng = np.random.default_rng(seed)
    parts = []
    for order, spread in ((1, 1.0), (2, pairs), (3, triples)):
        if spread:
            for chosen in combinations(range(len(sizes)), order):
                parts += [(chosen, spread * rng.standard_normal([sizes[k] for k in chosen]))]
    return parts


def effects(parts: list[tuple[tuple[int, ...], np.ndarray]], *levels: str) -> float:
    """Return the sum of the effects of levels named a, b, c, ..."""
    index = ["abcdefghij".index(each) for each in levels]
    return float(sum(part[tuple(index[k] for k in chosen)] for chosen, part in parts))


PAIRS = interactions(1, (4, 5, 4, 5, 3), 0.6)


@table(HALF, noise=0.0, p=list("abcd"), q=list("abcde"), r=list("abcd"), s=list("abcde"), t=list("abc"))
def pairs(p: str, q: str, r: str, s: str, t: str) -> float:
    """Categories with effects of their own and of pairs."""
    return effects(PAIRS, p, q, r, s, t)


CLOSE = {a: i for i, a in enumerate("GAVLFDEKRST")}
HYDRO = dict(zip("GAVLFDEKRST", (-0.4, 1.8, 4.2, 3.8, 2.8, -3.5, -3.5, -3.9, -4.5, -0.8, -0.7), strict=True))
CHARGE = {"D": -1, "E": -1, "K": 1, "R": 1}
SIZE = dict(zip("GAVLFDEKRST", (60, 89, 140, 167, 190, 111, 138, 169, 174, 89, 116), strict=True))


@table(HALF, highest=True, one=list("GAVLFDEK"), two=list("GAVLFDEK"), three=list("DEKRSTGA"), four=list("DEKRSTGA"))
def peptide(one: str, two: str, three: str, four: str) -> float:
    """Affinity of four residues: a greasy pocket of limited room, a salt bridge, a turn."""
    greasy = HYDRO[one] + HYDRO[two]
    room = max(0.0, SIZE[one] + SIZE[two] - 290) / 15
    bridge = -CHARGE.get(three, 0) * CHARGE.get(four, 0) * (2.0 + 1.0 * (three in "DE"))
    return (
        greasy
        - room
        + 2 * bridge
        - 1.2 * CHARGE.get(three, 0)
        + 1.5 * (four == "G") * (one in "VL")
        + 0.01 * SIZE[three]
    )


@table(HALF, one=Steps(0, 315, 45), two=Steps(0, 315, 45), three=Steps(0, 300, 60), upper=Steps(0.2, 1.0, 0.2))
def arm(one: float, two: float, three: float, upper: float) -> float:
    """Distance of the hand of a robot arm (An and Owen 2001) from a place."""
    angles = np.cumsum(np.radians([one, two, three]))
    lengths = np.array([upper, 0.7, 0.5])
    return float(math.hypot(lengths @ np.cos(angles) - 0.9, lengths @ np.sin(angles) - 0.8))
