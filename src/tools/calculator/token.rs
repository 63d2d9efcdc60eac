//! The words of an expression.

use num_bigint::BigInt;
use num_rational::BigRational;

use super::number::{CalcError, power_of_ten};

/// Maximum characters of an expression.
pub const MAX_CHARACTERS: usize = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Number(BigRational),
    Name(String),
    /// An operator, a parenthesis or a comma. `**` is `^`, and the typographic signs are their ASCII forms.
    Sign(char),
}

/// Splits an expression into its words.
///
/// # Errors
/// Returns an error for a character or a number that means nothing here.
pub fn tokens(text: &str) -> Result<Vec<Token>, CalcError> {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() > MAX_CHARACTERS {
        return Err(CalcError::TooLong);
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1).copied();
        match character {
            c if c.is_whitespace() => at += 1,
            '0'..='9' | '.' => {
                let (number, end) = number(&characters, at)?;
                tokens.push(Token::Number(number));
                at = end;
            }
            c if is_of_name(c) => {
                let length = characters[at..].iter().take_while(|c| is_of_name(**c) || c.is_ascii_digit()).count();
                tokens.push(Token::Name(characters[at..at + length].iter().collect()));
                at += length;
            }
            '*' if next == Some('*') => {
                tokens.push(Token::Sign('^'));
                at += 2;
            }
            c => {
                tokens.push(Token::Sign(sign(c)?));
                at += 1;
            }
        }
    }
    Ok(tokens)
}

fn is_of_name(c: char) -> bool {
    c.is_alphabetic() || c == '°' || c == '_'
}

fn sign(c: char) -> Result<char, CalcError> {
    Ok(match c {
        '+' | '-' | '*' | '/' | '^' | '%' | '!' | '(' | ')' | ',' => c,
        '×' | '·' | '⋅' => '*',
        '÷' | '∕' => '/',
        '−' | '–' => '-',
        '（' => '(',
        '）' => ')',
        '，' => ',',
        c => return Err(CalcError::Character(c)),
    })
}

/// Reads the number at a position; returns it with the position after it.
fn number(characters: &[char], start: usize) -> Result<(BigRational, usize), CalcError> {
    let rest = |at: usize, radix: u32| characters[at..].iter().take_while(|c| c.is_digit(radix)).count();
    let digits = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
    let wrong = |to: usize| CalcError::Number(digits(start, to.min(characters.len())));
    if let (Some('0'), Some(kind @ ('x' | 'b' | 'o'))) = (characters.get(start), characters.get(start + 1)) {
        let radix = match kind {
            'x' => 16,
            'o' => 8,
            _ => 2,
        };
        let length = rest(start + 2, radix);
        if length > 0 {
            let end = start + 2 + length;
            let whole = BigInt::parse_bytes(digits(start + 2, end).as_bytes(), radix).ok_or_else(|| wrong(end))?;
            return Ok((whole.into(), end));
        }
    }
    let mut end = start + rest(start, 10);
    let mut written = digits(start, end);
    let mut places = 0;
    if characters.get(end) == Some(&'.') {
        places = rest(end + 1, 10);
        written.push_str(&digits(end + 1, end + 1 + places));
        end += 1 + places;
    }
    if characters.get(end) == Some(&'.') {
        return Err(wrong(end + 1));
    }
    let whole = written.parse::<BigInt>().map_err(|_| wrong(end))?;
    let mut exponent = -(places as i64);
    if let Some('e' | 'E') = characters.get(end) {
        let signed = usize::from(matches!(characters.get(end + 1), Some('+' | '-')));
        let length = characters
            .get(end + 1 + signed..)
            .map_or(0, |after| after.iter().take_while(|c| c.is_ascii_digit()).count());
        if length > 0 {
            let from = end + 1;
            end = from + signed + length;
            let power: i64 = digits(from, end).trim_start_matches('+').parse().map_err(|_| CalcError::TooLarge)?;
            exponent = exponent.checked_add(power).ok_or(CalcError::TooLarge)?;
        }
    }
    Ok((BigRational::from(whole) * power_of_ten(exponent)?, end))
}
