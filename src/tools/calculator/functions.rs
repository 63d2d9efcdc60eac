//! Quantities, and the functions and constants of the calculator.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::number::{CalcError, from_f64, to_f64};
use super::token::Token;
use super::units::{Dimensions, is_plain, symbol};

/// Largest number whose factorial is calculated: it has fewer digits than the limit.
const MAX_FACTORIAL: u32 = 1_500;

/// A number with its dimensions, in base units.
#[derive(Clone, Debug)]
pub struct Quantity {
    pub number: BigRational,
    pub dimensions: Dimensions,
    /// False if a function approximated any part of it.
    pub exact: bool,
}

impl Quantity {
    pub fn plain(number: BigRational) -> Self {
        Self { number, dimensions: Dimensions::default(), exact: true }
    }

    pub fn approximate(value: f64) -> Result<Self, CalcError> {
        let number = from_f64(value).ok_or(CalcError::Domain("the function has no value there"))?;
        Ok(Self { exact: false, ..Self::plain(number) })
    }

    pub fn is_plain(&self) -> bool {
        is_plain(&self.dimensions)
    }
}

/// Returns the error for dimensions that cannot be combined.
pub fn mismatch(one: &Dimensions, other: &Dimensions) -> CalcError {
    let words = |dimensions| match symbol(dimensions) {
        symbol if symbol.is_empty() => "a plain number".to_owned(),
        symbol => symbol,
    };
    CalcError::Dimensions(words(one), words(other))
}

/// Returns the value of a constant.
pub fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" | "π" => Some(std::f64::consts::PI),
        "e" => Some(std::f64::consts::E),
        _ => None,
    }
}

/// Returns whether a name, with the word after it, is a call of a function.
pub fn is_function(name: &str, next: Option<&Token>) -> bool {
    const NAMES: [&str; 23] = [
        "abs",
        "floor",
        "ceil",
        "round",
        "min",
        "max",
        "gcd",
        "lcm",
        "sqrt",
        "cbrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "ln",
        "log",
        "log10",
        "log2",
        "exp",
        "fact",
        "factorial",
    ];
    next == Some(&Token::Sign('(')) && NAMES.contains(&name)
}

/// Returns whether a function takes several arguments: [`of_two`] of the first two, of that and the third, and so on.
pub fn is_of_several(name: &str) -> bool {
    matches!(name, "min" | "max" | "gcd" | "lcm")
}

/// Calculates a function of one argument that [`is_function`] knows.
pub fn function(name: &str, arguments: Vec<Quantity>) -> Result<Quantity, CalcError> {
    let [argument] = <[Quantity; 1]>::try_from(arguments).map_err(|_| CalcError::Expected("one argument"))?;
    match name {
        "abs" => return Ok(Quantity { number: argument.number.abs(), ..argument }),
        "sqrt" => return root(argument, 2),
        "cbrt" => return root(argument, 3),
        _ => {}
    }
    if !argument.is_plain() {
        return Err(CalcError::Domain("this function takes a plain number"));
    }
    let whole = |number| Ok(Quantity { number, ..argument.clone() });
    match name {
        "floor" => whole(argument.number.floor()),
        "ceil" => whole(argument.number.ceil()),
        "round" => whole(argument.number.round()),
        "fact" | "factorial" => factorial(argument),
        "sin" => approximated(&argument, f64::sin),
        "cos" => approximated(&argument, f64::cos),
        "tan" => approximated(&argument, f64::tan),
        "asin" => approximated(&argument, f64::asin),
        "acos" => approximated(&argument, f64::acos),
        "atan" => approximated(&argument, f64::atan),
        "ln" => approximated(&argument, f64::ln),
        "log" | "log10" => approximated(&argument, f64::log10),
        "log2" => approximated(&argument, f64::log2),
        _ => approximated(&argument, f64::exp),
    }
}

/// Calculates a function of two arguments, one of those that take several.
pub fn of_two(name: &str, one: Quantity, other: Quantity) -> Result<Quantity, CalcError> {
    if one.dimensions != other.dimensions {
        return Err(mismatch(&one.dimensions, &other.dimensions));
    }
    let exact = one.exact && other.exact;
    let number = match name {
        // Comparing fractions would recurse once for each term that their continued fractions share.
        "min" | "max" => {
            let is_less = (&one.number - &other.number).is_negative();
            if is_less == (name == "min") { one.number } else { other.number }
        }
        name => {
            if !one.number.is_integer() || !other.number.is_integer() || !is_plain(&one.dimensions) {
                return Err(CalcError::Domain("gcd and lcm take integers"));
            }
            let (one, other) = (one.number.to_integer(), other.number.to_integer());
            let common = one.gcd(&other);
            // The least common multiple of 0 and anything is 0.
            let least = if common.is_zero() { BigInt::zero() } else { (&one / &common * other).abs() };
            BigRational::from(if name == "gcd" { common } else { least })
        }
    };
    Ok(Quantity { number, exact, ..one })
}

/// Calculates a function in floating point.
pub fn approximated(argument: &Quantity, of: impl FnOnce(f64) -> f64) -> Result<Quantity, CalcError> {
    let value = to_f64(&argument.number).ok_or(CalcError::Domain("the number is too large for an approximation"))?;
    Quantity::approximate(of(value))
}

/// Returns a root: exactly if it is rational, else approximately.
pub fn root(argument: Quantity, degree: u32) -> Result<Quantity, CalcError> {
    if argument.number.is_negative() && degree.is_multiple_of(2) {
        return Err(CalcError::Domain("there is no real root of a negative number"));
    }
    let mut dimensions = argument.dimensions;
    for dimension in &mut dimensions {
        if *dimension % i64::from(degree) != 0 {
            return Err(CalcError::Domain("the root of this unit is no unit"));
        }
        *dimension /= i64::from(degree);
    }
    let (above, below) = (argument.number.numer().nth_root(degree), argument.number.denom().nth_root(degree));
    if above.pow(degree) == *argument.number.numer() && below.pow(degree) == *argument.number.denom() {
        return Ok(Quantity { number: BigRational::new(above, below), dimensions, exact: argument.exact });
    }
    let of = |value: f64| if degree == 2 { value.sqrt() } else { value.cbrt() };
    Ok(Quantity { dimensions, ..approximated(&argument, of)? })
}

pub fn factorial(argument: Quantity) -> Result<Quantity, CalcError> {
    if !argument.number.is_integer() || argument.number.is_negative() || !argument.is_plain() {
        return Err(CalcError::Domain("only integers from 0 on have a factorial"));
    }
    let most =
        argument.number.to_integer().to_u32().filter(|most| *most <= MAX_FACTORIAL).ok_or(CalcError::TooLarge)?;
    let product = (2..=most).fold(BigInt::one(), |product, factor| product * factor);
    Ok(Quantity { number: product.into(), ..argument })
}
