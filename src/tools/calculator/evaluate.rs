//! Evaluates an expression while it is parsed, by recursive descent with a limit of depth.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::functions::{
    Quantity, approximated, constant, factorial, function, is_function, is_of_several, mismatch, of_two, root,
};
use super::number::{APPROXIMATE_DIGITS, CalcError, bits, bounded, integer_power, significant, text, to_f64};
use super::token::{Token, tokens};
use super::units::{Unit, symbol, unit};

/// Maximum depth of parentheses, signs and powers.
const MAX_DEPTH: usize = 64;
/// Maximum sum of the squares of the bits of all results: the time of an operation grows with the square.
const MAX_WORK: u64 = 8_000_000_000;

#[derive(Debug, PartialEq)]
pub struct Evaluated {
    /// The result for the model, which says how exact it is.
    pub text: String,
    pub exact: bool,
}

/// Evaluates an expression, and rounds a result that has no end to this many significant digits.
///
/// # Errors
/// Returns an error if the expression means nothing or exceeds a limit.
pub fn evaluate(expression: &str, digits: usize) -> Result<Evaluated, CalcError> {
    let mut parser = Parser { tokens: tokens(expression)?, at: 0, depth: 0, work: 0, written: Vec::new() };
    let result = parser.sum()?;
    let target = match parser.is_name(&["to", "in", "as"]) {
        true => {
            parser.at += 1;
            Some(parser.target()?)
        }
        false => None,
    };
    if parser.at < parser.tokens.len() {
        return Err(CalcError::Expected("an operator or the end"));
    }
    let target = target.unwrap_or_else(|| {
        let same =
            parser.written.iter().find(|(_, unit)| unit.dimensions == result.dimensions && unit.offset.is_zero());
        same.cloned().map_or(Target::Base, |(name, unit)| Target::Unit(name, unit))
    });
    shown(result, target, digits)
}

/// In which form a result is wanted.
enum Target {
    Base,
    Unit(String, Unit),
    Radix(u32),
}

fn shown(result: Quantity, target: Target, digits: usize) -> Result<Evaluated, CalcError> {
    let (number, name) = match target {
        Target::Radix(radix) => {
            if !result.number.is_integer() || !result.is_plain() {
                return Err(CalcError::Domain("only an integer has this form"));
            }
            let text = format!("= {} (base {radix})", result.number.numer().to_str_radix(radix));
            return Ok(Evaluated { text, exact: result.exact });
        }
        Target::Base => (result.number, symbol(&result.dimensions)),
        Target::Unit(name, unit) => {
            if unit.dimensions != result.dimensions {
                return Err(mismatch(&result.dimensions, &unit.dimensions));
            }
            (result.number / unit.scale - unit.offset, name)
        }
    };
    let name = if name.is_empty() { name } else { format!(" {name}") };
    if !result.exact {
        let value = significant(&number, APPROXIMATE_DIGITS);
        let text = format!("≈ {value}{name} (approximate: floating point)");
        return Ok(Evaluated { text, exact: false });
    }
    let (value, exact) = text(&number, digits);
    let sign = if exact { "=" } else { "≈" };
    Ok(Evaluated { text: format!("{sign} {value}{name}"), exact })
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    work: u64,
    /// The units of the expression, in order.
    written: Vec<(String, Unit)>,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn sign(&mut self, signs: &[char]) -> Option<char> {
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        let found = signs.contains(sign).then_some(*sign)?;
        self.at += 1;
        Some(found)
    }

    fn is_name(&self, names: &[&str]) -> bool {
        matches!(self.peek(), Some(Token::Name(name)) if names.contains(&name.as_str()))
    }

    fn expect(&mut self, sign: char, what: &'static str) -> Result<(), CalcError> {
        self.sign(&[sign]).map(|_| ()).ok_or(CalcError::Expected(what))
    }

    /// Checks the size of a result and counts its work.
    fn checked(&mut self, quantity: Quantity) -> Result<Quantity, CalcError> {
        let bits = bits(&quantity.number);
        self.work = self.work.saturating_add(bits.saturating_mul(bits));
        if self.work > MAX_WORK {
            return Err(CalcError::TooMuchWork);
        }
        Ok(Quantity { number: bounded(quantity.number)?, ..quantity })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, CalcError>) -> Result<T, CalcError> {
        if self.depth >= MAX_DEPTH {
            return Err(CalcError::TooDeep);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn sum(&mut self) -> Result<Quantity, CalcError> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            let right = self.product()?;
            left = self.added(left, right, sign == '-')?;
        }
        Ok(left)
    }

    fn added(&mut self, left: Quantity, right: Quantity, is_negative: bool) -> Result<Quantity, CalcError> {
        if left.dimensions != right.dimensions {
            return Err(mismatch(&left.dimensions, &right.dimensions));
        }
        let number = if is_negative { left.number - right.number } else { left.number + right.number };
        self.checked(Quantity { number, exact: left.exact && right.exact, ..left })
    }

    fn product(&mut self) -> Result<Quantity, CalcError> {
        let mut left = self.signed()?;
        loop {
            if let Some(sign) = self.sign(&['*', '/', '%']) {
                let right = self.signed()?;
                left = self.multiplied(left, right, sign)?;
            } else if self.is_name(&["of", "mod"]) {
                let sign = if self.is_name(&["of"]) { '*' } else { '%' };
                self.at += 1;
                let right = self.signed()?;
                left = self.multiplied(left, right, sign)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn multiplied(&mut self, left: Quantity, right: Quantity, sign: char) -> Result<Quantity, CalcError> {
        if sign != '*' && right.number.is_zero() {
            return Err(CalcError::Zero);
        }
        let mut dimensions = left.dimensions;
        let number = match sign {
            '%' => {
                if left.dimensions != right.dimensions {
                    return Err(mismatch(&left.dimensions, &right.dimensions));
                }
                // The remainder has the sign of the divisor.
                let whole = bounded((&left.number / &right.number).floor())?;
                left.number - whole * right.number
            }
            sign => {
                let times = if sign == '*' { 1 } else { -1 };
                for (one, other) in dimensions.iter_mut().zip(right.dimensions) {
                    *one =
                        other.checked_mul(times).and_then(|other| one.checked_add(other)).ok_or(CalcError::TooLarge)?;
                }
                if sign == '*' { left.number * right.number } else { left.number / right.number }
            }
        };
        self.checked(Quantity { number, dimensions, exact: left.exact && right.exact })
    }

    fn signed(&mut self) -> Result<Quantity, CalcError> {
        let Some(sign) = self.sign(&['-', '+']) else { return self.power() };
        if sign == '-'
            && let Some(temperature) = self.temperature(true)?
        {
            return Ok(temperature);
        }
        let operand = self.deeper(Self::signed)?;
        Ok(if sign == '-' { Quantity { number: -operand.number, ..operand } } else { operand })
    }

    /// Returns a number with a unit of temperature that does not begin at zero, if that is what follows.
    fn temperature(&mut self, is_negative: bool) -> Result<Option<Quantity>, CalcError> {
        let (Some(Token::Number(number)), Some(Token::Name(name))) = (self.peek(), self.tokens.get(self.at + 1)) else {
            return Ok(None);
        };
        let Some(unit) = unit(name).filter(|unit| !unit.offset.is_zero()) else { return Ok(None) };
        let number = if is_negative { -number.clone() } else { number.clone() };
        self.at += 2;
        let number = (number + unit.offset) * unit.scale;
        self.checked(Quantity { number, dimensions: unit.dimensions, exact: true }).map(Some)
    }

    fn power(&mut self) -> Result<Quantity, CalcError> {
        let base = self.quantity()?;
        if self.sign(&['^']).is_none() {
            return Ok(base);
        }
        let exponent = self.deeper(Self::signed)?;
        self.raised(base, exponent)
    }

    fn raised(&mut self, base: Quantity, exponent: Quantity) -> Result<Quantity, CalcError> {
        if !exponent.is_plain() {
            return Err(CalcError::Domain("an exponent has no unit"));
        }
        let exact = base.exact && exponent.exact;
        if exponent.number.is_integer() {
            let times = exponent.number.to_integer().to_i64().ok_or(CalcError::TooLarge)?;
            let mut dimensions = base.dimensions;
            for dimension in &mut dimensions {
                *dimension = dimension.checked_mul(times).ok_or(CalcError::TooLarge)?;
            }
            let number = integer_power(&base.number, times)?;
            return self.checked(Quantity { number, dimensions, exact });
        }
        if exponent.exact && exponent.number == BigRational::new(1.into(), 2.into()) {
            return root(base, 2);
        }
        if !base.is_plain() {
            return Err(CalcError::Domain("a quantity with a unit has only integer powers"));
        }
        approximated(&base, |base| to_f64(&exponent.number).map_or(f64::NAN, |exponent| base.powf(exponent)))
    }

    /// Parses a number with its unit, `5 ft 3 in`, or a value with factorials and percent signs.
    fn quantity(&mut self) -> Result<Quantity, CalcError> {
        if let Some(temperature) = self.temperature(false)? {
            return Ok(temperature);
        }
        let is_number = matches!(self.peek(), Some(Token::Number(_)));
        let mut value = self.value()?;
        while let Some(sign) = self.postfix() {
            value = match sign {
                '!' => factorial(value)?,
                _ => Quantity { number: value.number / BigInt::from(100), ..value },
            };
            value = self.checked(value)?;
        }
        if !is_number {
            return Ok(value);
        }
        let Some(mut whole) = self.with_unit(value.clone())? else { return Ok(value) };
        while let (Some(Token::Number(number)), Some(Token::Name(_))) = (self.peek(), self.tokens.get(self.at + 1)) {
            let number = Quantity::plain(number.clone());
            self.at += 1;
            let part = self.with_unit(number)?.ok_or(CalcError::Expected("a unit"))?;
            whole = self.added(whole, part, false)?;
        }
        Ok(whole)
    }

    /// Takes a sign after a value: a factorial, or a percent sign that is no remainder.
    fn postfix(&mut self) -> Option<char> {
        let takes_operand = match self.tokens.get(self.at + 1) {
            Some(Token::Number(_) | Token::Sign('(')) => true,
            Some(Token::Name(name)) => !["of", "mod", "to", "in", "as"].contains(&name.as_str()),
            Some(Token::Sign(_)) | None => false,
        };
        self.sign(if takes_operand { &['!'] } else { &['!', '%'] })
    }

    /// Multiplies a number by the unit that follows it, with its power; `None` if none follows.
    fn with_unit(&mut self, number: Quantity) -> Result<Option<Quantity>, CalcError> {
        let Some(Token::Name(name)) = self.peek() else { return Ok(None) };
        if ["to", "as", "of", "mod"].contains(&name.as_str()) || is_function(name, self.tokens.get(self.at + 1)) {
            return Ok(None);
        }
        if constant(name).is_some() {
            let value = self.value()?;
            return self.multiplied(number, value, '*').map(Some);
        }
        let mut unit = self.unit()?;
        if self.sign(&['^']).is_some() {
            let exponent = self.deeper(Self::signed)?;
            unit = self.raised(unit, exponent)?;
        }
        self.multiplied(number, unit, '*').map(Some)
    }

    fn unit(&mut self) -> Result<Quantity, CalcError> {
        let Some(Token::Name(name)) = self.peek().cloned() else { return Err(CalcError::Expected("a unit")) };
        self.at += 1;
        let unit = unit(&name).ok_or_else(|| CalcError::Name(name.clone()))?;
        if !unit.offset.is_zero() {
            return Err(CalcError::Domain("a temperature in °C or °F needs a number before it"));
        }
        self.written.push((name, unit.clone()));
        Ok(Quantity { number: unit.scale, dimensions: unit.dimensions, exact: true })
    }

    fn value(&mut self) -> Result<Quantity, CalcError> {
        match self.peek().cloned() {
            Some(Token::Number(number)) => {
                self.at += 1;
                self.checked(Quantity::plain(number))
            }
            Some(Token::Sign('(')) => {
                self.at += 1;
                let inner = self.deeper(Self::sum)?;
                self.expect(')', "a closing parenthesis")?;
                Ok(inner)
            }
            Some(Token::Name(name)) if is_function(&name, self.tokens.get(self.at + 1)) => {
                self.at += 2;
                let mut arguments = vec![self.deeper(Self::sum)?];
                while self.sign(&[',']).is_some() {
                    arguments.push(self.deeper(Self::sum)?);
                }
                self.expect(')', "a closing parenthesis")?;
                self.applied(&name, arguments)
            }
            Some(Token::Name(name)) => match constant(&name) {
                Some(value) => {
                    self.at += 1;
                    Quantity::approximate(value)
                }
                None => self.unit(),
            },
            _ => Err(CalcError::Expected("a number")),
        }
    }

    /// Calculates a function. One of several arguments is checked after each of them.
    fn applied(&mut self, name: &str, arguments: Vec<Quantity>) -> Result<Quantity, CalcError> {
        if !is_of_several(name) {
            let result = function(name, arguments)?;
            return self.checked(result);
        }
        let mut arguments = arguments.into_iter();
        let first = arguments.next().ok_or(CalcError::Expected("a number"))?;
        arguments.try_fold(first, |one, other| self.checked(of_two(name, one, other)?))
    }

    /// Parses what a result is converted to: a unit such as `km/h`, or `hex`.
    fn target(&mut self) -> Result<Target, CalcError> {
        let start = self.at;
        if let Some(Token::Name(name)) = self.peek() {
            let radix = match name.as_str() {
                "hex" => Some(16),
                "oct" => Some(8),
                "bin" => Some(2),
                _ => None,
            };
            let offset_unit = unit(name).filter(|unit| !unit.offset.is_zero());
            let name = name.clone();
            if let Some(radix) = radix {
                self.at += 1;
                return Ok(Target::Radix(radix));
            }
            if let Some(unit) = offset_unit {
                self.at += 1;
                return Ok(Target::Unit(name, unit));
            }
        }
        let Quantity { number, dimensions, exact } = self.product()?;
        if number.is_zero() || !exact {
            return Err(CalcError::Expected("a unit"));
        }
        let name: String = self.tokens[start..self.at].iter().map(written).collect();
        Ok(Target::Unit(name, Unit { scale: number, offset: BigRational::zero(), dimensions }))
    }
}

fn written(token: &Token) -> String {
    match token {
        Token::Number(number) => number.to_string(),
        Token::Name(name) => name.clone(),
        Token::Sign(sign) => sign.to_string(),
    }
}

#[cfg(test)]
mod tests;
