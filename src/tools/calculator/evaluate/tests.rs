use proptest::prelude::*;

use super::*;

fn said(expression: &str) -> String {
    evaluate(expression, 20).map_or_else(|error| format!("error: {error}"), |evaluated| evaluated.text)
}

#[test]
fn decimals_integers_and_fractions_are_exact() {
    for (expression, text) in [
        ("0.1 + 0.2", "= 0.3"),
        ("2^200", "= 1606938044258990275541962092341162602522202993782792835301376"),
        ("1/3", "= 1/3 ≈ 0.33333333333333333333 (rounded to 20 digits)"),
        ("1/3 * 3", "= 1"),
        ("100! / 98!", "= 9900"),
        ("-2^2", "= -4"),
        ("2^-2", "= 0.25"),
        ("2**3**2", "= 512"),
        ("1.5e3 * 2", "= 3000"),
        ("7 mod 3 + -7 % 3", "= 3"),
        ("15% of 80", "= 12"),
        ("200 * (1 + 5%)", "= 210"),
        ("0xff + 0b11", "= 258"),
        ("255 to hex", "= ff (base 16)"),
        ("sqrt(16) + cbrt(27)", "= 7"),
        ("gcd(12, 18) * lcm(4, 6)", "= 72"),
        ("min(3, 1, 2) + max(1, 2)", "= 3"),
        ("round(2.5) + floor(-0.5)", "= 2"),
        ("1 ÷ 8 × 3 − 1", "= -0.625"),
    ] {
        assert_eq!(said(expression), text, "{expression}");
    }
    assert_eq!(evaluate("22/7", 5).unwrap().text, "= 22/7 ≈ 3.1429 (rounded to 5 digits)");
    assert_eq!(evaluate("1/3 * 10^-20", 3).unwrap().text.split('≈').nth(1).unwrap(), " 3.33e-21 (rounded to 3 digits)");
}

#[test]
fn approximation_says_so() {
    for (expression, text) in [
        ("sqrt(2)", "≈ 1.4142135623731 (approximate: floating point)"),
        ("sin(pi/6)", "≈ 0.5 (approximate: floating point)"),
        ("ln(e)", "≈ 1 (approximate: floating point)"),
        ("2^0.5 * 0 + 1", "≈ 1 (approximate: floating point)"),
        ("exp(200)", "≈ 7.22597376812575e86 (approximate: floating point)"),
    ] {
        assert_eq!(said(expression), text, "{expression}");
        assert!(!evaluate(expression, 20).unwrap().exact);
    }
}

#[test]
fn units_are_converted_exactly() {
    for (expression, text) in [
        ("5 ft 3 in to cm", "= 160.02 cm"),
        ("20 °C to °F", "= 68 °F"),
        ("-40 F to C", "= -40 C"),
        ("3 GiB to MB", "= 3221.225472 MB"),
        ("60 km/h to m/s", "= 50/3 ≈ 16.666666666666666667 (rounded to 20 digits) m/s"),
        ("90 min to h", "= 1.5 h"),
        ("2 kilometers + 300 metres to m", "= 2300 m"),
        ("5 km in miles", "= 78125/25146 ≈ 3.1068559611866698481 (rounded to 20 digits) miles"),
        ("10 kg / 2 kg", "= 5"),
        ("3 GB / (20 MB/s) to min", "= 2.5 min"),
        ("5 m^2 to cm^2", "= 50000 cm^2"),
        ("1 kWh to kJ", "= 3600 kJ"),
        ("2 lb + 1 oz", "= 2.0625 lb"),
        ("10 Mbit to MB", "= 1.25 MB"),
        ("sqrt(9 m^2)", "= 3 m"),
    ] {
        assert_eq!(said(expression), text, "{expression}");
    }
}

#[test]
fn what_has_no_meaning_is_refused_with_the_reason() {
    for (expression, reason) in [
        ("1/0", "division by zero"),
        ("0^-1", "division by zero"),
        ("2 kg + 3 m", "kg and m do not go together"),
        ("5 km to s", "m and s do not go together"),
        ("2 +", "expected a number"),
        ("(2", "expected a closing parenthesis"),
        ("2 3", "expected an operator or the end"),
        ("1.2.3", "1.2. is not a number"),
        ("foo(1)", "there is no unit, function or constant \"foo\""),
        ("2 zorkmids", "there is no unit, function or constant \"zorkmids\""),
        ("import os", "there is no unit, function or constant \"import\""),
        ("x = 1", "\"=\" has no meaning here"),
        ("\"a\"", "\"\"\" has no meaning here"),
        ("sqrt(-1)", "there is no real root of a negative number"),
        ("ln(0 - 1)", "the function has no value there"),
        ("asin(2)", "the function has no value there"),
        ("1.5!", "only integers from 0 on have a factorial"),
        ("2^(1 m)", "an exponent has no unit"),
        ("", "expected a number"),
    ] {
        assert_eq!(said(expression), format!("error: {reason}"), "{expression}");
    }
}

#[test]
fn hostile_expressions_end_within_the_limits() {
    let repeated = |text: &str, times: usize| text.repeat(times);
    for (expression, error) in [
        ("9**9**9".to_owned(), CalcError::TooLarge),
        ("9^99999".to_owned(), CalcError::TooLarge),
        ("1e999999999999999999999".to_owned(), CalcError::TooLarge),
        ("10^-1000000".to_owned(), CalcError::TooLarge),
        ("(1/3)^100000".to_owned(), CalcError::TooLarge),
        ("2^9223372036854775807".to_owned(), CalcError::TooLarge),
        ("100000!".to_owned(), CalcError::TooLarge),
        ("1000!!".to_owned(), CalcError::TooLarge),
        ("m^9223372036854775807 * m".to_owned(), CalcError::TooLarge),
        (repeated("(", 400), CalcError::TooDeep),
        (repeated("-", 400), CalcError::TooDeep),
        (repeated("2^", 400), CalcError::TooDeep),
        (repeated("sqrt(", 180), CalcError::TooDeep),
        (repeated("1/(1+", 180), CalcError::TooDeep),
        (repeated("1", 2_000), CalcError::TooLong),
        (format!("3^10000{}", repeated("*3^10000/3^10000", 50)), CalcError::TooLarge),
        (format!("3^10000{}", repeated("/7+3^10000", 80)), CalcError::TooMuchWork),
        ("lcm(3^5047, 5^3445, 7^2849, 11^2312)".to_owned(), CalcError::TooLarge),
    ] {
        assert_eq!(evaluate(&expression, 1_000), Err(error), "{}", &expression[..expression.len().min(40)]);
    }
    // The continued fractions of both share thousands of terms.
    let near = "max(3^5000/7^2849, 3^5000/7^2849 + 1/(7^2849*2^7000)) - 3^5000/7^2849";
    assert_eq!(said(near).split(' ').next(), Some("≈"));
    assert_eq!((said("max(0.35, 0.3, 1/4)"), said("min(3, -2, 5)")), ("= 0.35".to_owned(), "= -2".to_owned()));
    assert!(evaluate("1500!", 20).unwrap().text.len() < 4_900);
    assert_eq!(said("1^99999999999 + (-1)^3 + 0^5 + 0^0"), "= 1");
}

/// An expression of small integers, with its value.
fn any_expression() -> impl Strategy<Value = (String, Option<BigRational>)> {
    let leaf = (0_i64..1_000, 0_u32..3).prop_map(|(digits, places)| {
        let value = BigRational::new(digits.into(), BigInt::from(10).pow(places));
        let text = match places {
            0 => digits.to_string(),
            places => {
                let padded = format!("{digits:0>width$}", width = places as usize + 1);
                let (whole, fraction) = padded.split_at(padded.len() - places as usize);
                format!("{whole}.{fraction}")
            }
        };
        (text, Some(value))
    });
    leaf.prop_recursive(5, 40, 2, |inner| {
        (inner.clone(), prop_oneof![Just('+'), Just('-'), Just('*'), Just('/')], inner).prop_map(
            |((left, one), sign, (right, other))| {
                let value = one.zip(other).and_then(|(one, other)| match sign {
                    '+' => Some(one + other),
                    '-' => Some(one - other),
                    '*' => Some(one * other),
                    _ if other.is_zero() => None,
                    _ => Some(one / other),
                });
                (format!("({left}) {sign} ({right})"), value)
            },
        )
    })
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_fractions((expression, value) in any_expression()) {
        let evaluated = evaluate(&expression, 20);
        match value {
            None => prop_assert_eq!(evaluated, Err(CalcError::Zero)),
            Some(value) => {
                let same = evaluate(&format!("({expression}) - ({})/({})", value.numer(), value.denom()), 20);
                prop_assert_eq!(same.unwrap().text, "= 0");
                let (written, exact) = text(&value, 20);
                prop_assert_eq!(evaluated.unwrap().text, format!("{} {written}", if exact { '=' } else { '≈' }));
            }
        }
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        let _ = evaluate(&text, 20);
    }

    #[test]
    fn any_words_are_answered(words in proptest::collection::vec(
        prop_oneof![Just("2"), Just("9999"), Just("1e4000"), Just("km"), Just("°C"), Just("to"), Just("("), Just(")"), Just("^"),
            Just("-"), Just("/"), Just("!"), Just("%"), Just("sqrt("), Just("ln("), Just(","), Just("pi"), Just("mod"), Just("0.1")],
        0..40,
    ), digits in 1_usize..1_000) {
        if let Ok(evaluated) = evaluate(&words.join(" "), digits) {
            prop_assert!(evaluated.text.len() < 6_000, "{}", evaluated.text.len());
        }
    }

    #[test]
    fn terminating_decimal_is_read_back(digits in -1_000_000_i64..1_000_000, places in 0_u32..8) {
        let number = BigRational::new(digits.into(), BigInt::from(10).pow(places));
        let (written, exact) = text(&number, 20);
        prop_assert!(exact);
        prop_assert_eq!(evaluate(&format!("{written} - ({digits}) / 10^{places}"), 20).unwrap().text, "= 0");
    }

    #[test]
    fn conversion_there_and_back_changes_nothing(value in 1_i64..1_000_000, pair in prop_oneof![
        Just(("km", "mi")), Just(("lb", "kg")), Just(("GiB", "Mbit")), Just(("gal", "mL")), Just(("week", "ms")), Just(("psi", "bar")),
    ]) {
        let (one, other) = pair;
        let there = evaluate(&format!("({value} {one} to {other})"), 20);
        prop_assert!(there.is_err(), "a conversion is the last part");
        let back = evaluate(&format!("{value} {one} / (1 {other}) * (1 {other}) to {one}"), 20);
        prop_assert_eq!(back.unwrap().text, format!("= {value} {one}"));
    }

    #[test]
    fn rounding_is_right(numerator in 1_i64..1_000_000, denominator in 1_i64..1_000_000, digits in 1_usize..12) {
        let number = BigRational::new(numerator.into(), denominator.into());
        let rounded: f64 = significant(&number, digits).parse().unwrap();
        let exact = numerator as f64 / denominator as f64;
        prop_assert!((rounded - exact).abs() <= exact * 10_f64.powi(1 - digits as i32), "{rounded} {exact}");
    }
}
