//! Units: what a name means, in terms of metre, kilogram, second, kelvin and byte.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

/// The exponents of metre, kilogram, second, kelvin and byte.
pub type Dimensions = [i64; 5];

const SYMBOLS: [&str; 5] = ["m", "kg", "s", "K", "B"];
const NONE: Dimensions = [0; 5];
const LENGTH: Dimensions = [1, 0, 0, 0, 0];
const AREA: Dimensions = [2, 0, 0, 0, 0];
const VOLUME: Dimensions = [3, 0, 0, 0, 0];
const MASS: Dimensions = [0, 1, 0, 0, 0];
const TIME: Dimensions = [0, 0, 1, 0, 0];
const TEMPERATURE: Dimensions = [0, 0, 0, 1, 0];
const DATA: Dimensions = [0, 0, 0, 0, 1];
const SPEED: Dimensions = [1, 0, -1, 0, 0];
const FREQUENCY: Dimensions = [0, 0, -1, 0, 0];
const FORCE: Dimensions = [1, 1, -2, 0, 0];
const ENERGY: Dimensions = [2, 1, -2, 0, 0];
const POWER: Dimensions = [2, 1, -3, 0, 0];
const PRESSURE: Dimensions = [-1, 1, -2, 0, 0];

/// A unit. A value in it is `(value + offset) × scale` in base units; only temperatures have an offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    pub scale: BigRational,
    pub offset: BigRational,
    pub dimensions: Dimensions,
}

#[derive(Clone, Copy, PartialEq)]
enum Prefixes {
    No,
    /// k, M, milli…
    Decimal,
    /// k, M… and Ki, Mi…
    Data,
}

use Prefixes::{Data, Decimal, No};

/// Names, the scale as a decimal or a fraction, the dimensions, and which prefixes the names have.
const UNITS: &[(&[&str], &str, Dimensions, Prefixes)] = &[
    (&["m", "meter", "metre"], "1", LENGTH, Decimal),
    (&["in", "inch", "inches"], "0.0254", LENGTH, No),
    (&["ft", "foot", "feet"], "0.3048", LENGTH, No),
    (&["yd", "yard"], "0.9144", LENGTH, No),
    (&["mi", "mile"], "1609.344", LENGTH, No),
    (&["nmi"], "1852", LENGTH, No),
    (&["au"], "149597870700", LENGTH, No),
    (&["ly", "lightyear"], "9460730472580800", LENGTH, No),
    (&["ha", "hectare"], "10000", AREA, No),
    (&["acre"], "4046.8564224", AREA, No),
    (&["l", "L", "liter", "litre"], "0.001", VOLUME, Decimal),
    (&["gal", "gallon"], "0.003785411784", VOLUME, No),
    (&["qt", "quart"], "0.000946352946", VOLUME, No),
    (&["pt", "pint"], "0.000473176473", VOLUME, No),
    (&["cup"], "0.0002365882365", VOLUME, No),
    (&["floz"], "0.0000295735295625", VOLUME, No),
    (&["tbsp"], "0.00001478676478125", VOLUME, No),
    (&["tsp"], "0.00000492892159375", VOLUME, No),
    (&["g", "gram"], "0.001", MASS, Decimal),
    (&["t", "tonne"], "1000", MASS, Decimal),
    (&["lb", "lbs", "pound"], "0.45359237", MASS, No),
    (&["oz", "ounce"], "0.028349523125", MASS, No),
    (&["st", "stone"], "6.35029318", MASS, No),
    (&["s", "sec", "second"], "1", TIME, Decimal),
    (&["min", "minute"], "60", TIME, No),
    (&["h", "hr", "hour"], "3600", TIME, No),
    (&["d", "day"], "86400", TIME, No),
    (&["week"], "604800", TIME, No),
    (&["year"], "31557600", TIME, No),
    (&["K", "kelvin"], "1", TEMPERATURE, No),
    (&["B", "byte"], "1", DATA, Data),
    (&["bit", "b"], "1/8", DATA, Data),
    (&["kph", "kmh"], "5/18", SPEED, No),
    (&["mph"], "0.44704", SPEED, No),
    (&["kn", "knot"], "463/900", SPEED, No),
    (&["Hz", "hertz"], "1", FREQUENCY, Decimal),
    (&["N", "newton"], "1", FORCE, Decimal),
    (&["J", "joule"], "1", ENERGY, Decimal),
    (&["Wh"], "3600", ENERGY, Decimal),
    (&["cal", "calorie"], "4.184", ENERGY, Decimal),
    (&["W", "watt"], "1", POWER, Decimal),
    (&["hp"], "745.69987158227022", POWER, No),
    (&["Pa", "pascal"], "1", PRESSURE, Decimal),
    (&["bar"], "100000", PRESSURE, Decimal),
    (&["atm"], "101325", PRESSURE, No),
    (&["psi"], "8896443230521/1290320000", PRESSURE, No),
];

/// Names, the scale and the offset of temperatures that do not begin at zero.
const TEMPERATURES: &[(&[&str], &str, &str)] =
    &[(&["°C", "degC", "C", "celsius"], "1", "273.15"), (&["°F", "degF", "F", "fahrenheit"], "5/9", "459.67")];

const DECIMAL: &[(&str, &str, i32)] = &[
    ("p", "pico", -12),
    ("n", "nano", -9),
    ("u", "micro", -6),
    ("µ", "micro", -6),
    ("μ", "micro", -6),
    ("m", "milli", -3),
    ("c", "centi", -2),
    ("d", "deci", -1),
    ("h", "hecto", 2),
    ("k", "kilo", 3),
    ("M", "mega", 6),
    ("G", "giga", 9),
    ("T", "tera", 12),
    ("P", "peta", 15),
];

const BINARY: &[(&str, &str, u32)] =
    &[("Ki", "kibi", 10), ("Mi", "mebi", 20), ("Gi", "gibi", 30), ("Ti", "tebi", 40), ("Pi", "pebi", 50)];

/// Returns the unit of a name.
pub fn unit(name: &str) -> Option<Unit> {
    let singular = name.strip_suffix('s').filter(|singular| singular.chars().count() > 2);
    [Some(name), singular].into_iter().flatten().find_map(|name| {
        let temperature = TEMPERATURES.iter().find(|(names, ..)| names.contains(&name));
        let temperature = temperature.map(|(_, scale, offset)| Unit {
            scale: fraction(scale),
            offset: fraction(offset),
            dimensions: TEMPERATURE,
        });
        temperature.or_else(|| plain(name, BigRational::one(), |_| true)).or_else(|| prefixed(name))
    })
}

fn plain(name: &str, factor: BigRational, fits: impl Fn(Prefixes) -> bool) -> Option<Unit> {
    let found = UNITS.iter().find(|(names, _, _, prefixes)| names.contains(&name) && fits(*prefixes));
    found.map(|(_, scale, dimensions, _)| Unit {
        scale: fraction(scale) * factor,
        offset: BigRational::zero(),
        dimensions: *dimensions,
    })
}

fn prefixed(name: &str) -> Option<Unit> {
    // A long prefix belongs to a long name: `kilobyte` and `kB`, never `kbyte` with a meaning of its own.
    let rest =
        |short: &str, long: &str| name.strip_prefix(long).or_else(|| name.strip_prefix(short)).map(str::to_owned);
    let binary = BINARY.iter().find_map(|(short, long, bits)| {
        let factor = BigRational::from(BigInt::one() << *bits);
        plain(&rest(short, long)?, factor, |prefixes| prefixes == Data)
    });
    let decimal = || {
        DECIMAL.iter().find_map(|(short, long, power)| {
            let factor = BigRational::from(BigInt::from(10)).pow(*power);
            plain(&rest(short, long)?, factor, |prefixes| prefixes != No)
        })
    };
    binary.or_else(decimal)
}

/// Parses a decimal or a fraction of the tables above; a wrong one is zero, which a test would find.
fn fraction(text: &str) -> BigRational {
    let whole = |text: &str| {
        let (before, after) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{before}{after}").parse::<BigInt>().unwrap_or_default();
        BigRational::new(digits, BigInt::from(10).pow(after.len() as u32))
    };
    match text.split_once('/') {
        Some((above, below)) => whole(above) / whole(below),
        None => whole(text),
    }
}

/// Returns dimensions as a product of base units; empty for a plain number.
pub fn symbol(dimensions: &Dimensions) -> String {
    let power = |(symbol, exponent): (&&str, &i64)| match exponent {
        0 => None,
        1 => Some((*symbol).to_owned()),
        exponent => Some(format!("{symbol}^{exponent}")),
    };
    SYMBOLS.iter().zip(dimensions).filter_map(power).collect::<Vec<_>>().join(" ")
}

pub fn is_plain(dimensions: &Dimensions) -> bool {
    *dimensions == NONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_scale_and_one_meaning() {
        let mut known = std::collections::BTreeSet::new();
        for (names, scale, ..) in UNITS {
            assert!(!fraction(scale).is_zero(), "{names:?}");
            for name in *names {
                assert!(known.insert(*name), "{name}");
            }
        }
    }
}
