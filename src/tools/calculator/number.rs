//! Numbers of the calculator: fractions of integers of any size up to a limit, with what is known of their exactness.

use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{FromPrimitive, One, Signed, ToPrimitive, Zero};

/// Maximum bits of a numerator or denominator: 4,800 digits.
pub const MAX_BITS: u64 = 16_000;
/// Maximum places after the point with which a decimal is shown exactly.
const EXACT_PLACES: usize = 1_000;
/// Maximum characters of a fraction that is shown beside its decimal.
const FRACTION_SHOWN: usize = 60;
/// Significant digits of an approximate result.
pub const APPROXIMATE_DIGITS: usize = 15;
/// From this many zeros after the point, a number is shown with an exponent.
const LEADING_ZEROS: i64 = 9;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CalcError {
    #[error("the expression is too long")]
    TooLong,
    #[error("it is nested too deep")]
    TooDeep,
    #[error("a number would have more than 4,800 digits")]
    TooLarge,
    #[error("it takes too much work")]
    TooMuchWork,
    #[error("\"{0}\" has no meaning here")]
    Character(char),
    #[error("{0} is not a number")]
    Number(String),
    #[error("there is no unit, function or constant \"{0}\"")]
    Name(String),
    #[error("expected {0}")]
    Expected(&'static str),
    #[error("division by zero")]
    Zero,
    #[error("{0}")]
    Domain(&'static str),
    #[error("{0} and {1} do not go together")]
    Dimensions(String, String),
}

/// Returns an error for a number that is larger than the limit.
pub fn bounded(number: BigRational) -> Result<BigRational, CalcError> {
    if bits(&number) > MAX_BITS { Err(CalcError::TooLarge) } else { Ok(number) }
}

/// Returns the bits of the longer of numerator and denominator.
pub fn bits(number: &BigRational) -> u64 {
    number.numer().bits().max(number.denom().bits())
}

/// Returns a power of ten.
pub fn power_of_ten(exponent: i64) -> Result<BigRational, CalcError> {
    integer_power(&BigRational::from(BigInt::from(10)), exponent)
}

/// Returns an integer power; its size is known before it is calculated.
pub fn integer_power(base: &BigRational, exponent: i64) -> Result<BigRational, CalcError> {
    if base.is_zero() && exponent < 0 {
        return Err(CalcError::Zero);
    }
    if base.is_zero() || base.abs().is_one() {
        let keeps_sign = exponent % 2 != 0 || base.is_zero() && exponent != 0;
        return Ok(if keeps_sign { base.clone() } else { BigRational::one() });
    }
    let size = bits(base).saturating_sub(1).checked_mul(exponent.unsigned_abs());
    if size.is_none_or(|size| size > MAX_BITS) {
        return Err(CalcError::TooLarge);
    }
    // A base other than 0 and 1 has a longer part of at least two bits, so the exponent is below the limit.
    bounded(base.pow(exponent as i32))
}

/// Returns the approximate number of a function; `None` if it has none.
pub fn from_f64(value: f64) -> Option<BigRational> {
    BigRational::from_f64(value)
}

/// Returns the nearest floating-point number.
pub fn to_f64(number: &BigRational) -> Option<f64> {
    number.to_f64().filter(|value| value.is_finite())
}

/// Returns a number as text, and whether the text is exact.
pub fn text(number: &BigRational, digits: usize) -> (String, bool) {
    if number.is_integer() {
        return (number.numer().to_string(), true);
    }
    if let Some(places) = terminating_places(number.denom()).filter(|places| *places <= EXACT_PLACES) {
        return (fixed(number, places), true);
    }
    let rounded = significant(number, digits);
    let fraction = format!("{}/{}", number.numer(), number.denom());
    match fraction.len() <= FRACTION_SHOWN {
        true => (format!("{fraction} ≈ {rounded} (rounded to {digits} digits)"), true),
        false => (format!("{rounded} (rounded to {digits} digits)"), false),
    }
}

/// Returns the number of decimal places of a fraction with this denominator; `None` if it never ends.
fn terminating_places(denominator: &BigInt) -> Option<usize> {
    let twos = denominator.trailing_zeros().unwrap_or_default();
    let mut rest = denominator >> twos;
    let (mut fives, five) = (0_u64, BigInt::from(5));
    while (&rest % &five).is_zero() {
        rest /= &five;
        fives += 1;
        if fives as usize > EXACT_PLACES {
            return None;
        }
    }
    rest.is_one().then_some(twos.max(fives) as usize)
}

/// Returns a number rounded to this many significant digits, without zeros at its end.
pub fn significant(number: &BigRational, digits: usize) -> String {
    if number.is_zero() {
        return "0".to_owned();
    }
    let before = magnitude(number);
    let places = digits as i64 - before;
    if -before >= LEADING_ZEROS || places < 0 {
        let exponent = before - 1;
        let shift = BigRational::from(BigInt::from(10).pow(exponent.unsigned_abs() as u32));
        let mantissa = if exponent >= 0 { number / shift } else { number * shift };
        return format!("{}e{exponent}", without_zeros(fixed(&mantissa, digits - 1)));
    }
    without_zeros(fixed(number, places as usize))
}

/// Returns the number of digits before the point; for a number below 1 it is minus the zeros after the point.
fn magnitude(number: &BigRational) -> i64 {
    let number = number.abs();
    let digits = |whole: &BigInt| whole.to_string().len() as i64;
    let ten = BigInt::from(10);
    // The difference of the lengths is right or one too small.
    let guess = digits(number.numer()) - digits(number.denom());
    let power = ten.pow(guess.unsigned_abs() as u32);
    let reaches = match guess >= 0 {
        true => *number.numer() >= number.denom() * power,
        false => number.numer() * power >= *number.denom(),
    };
    guess + i64::from(reaches)
}

/// Returns a number with this many places after the point, rounded half away from zero.
fn fixed(number: &BigRational, places: usize) -> String {
    let scaled = (number.abs() * BigInt::from(10).pow(places as u32)).round().to_integer().to_string();
    let padded = format!("{scaled:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let is_zero = padded.bytes().all(|digit| digit == b'0');
    let sign = if number.numer().sign() == Sign::Minus && !is_zero { "-" } else { "" };
    if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn without_zeros(decimal: String) -> String {
    match decimal.contains('.') {
        true => decimal.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => decimal,
    }
}
