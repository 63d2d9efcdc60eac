//! `calculator`: exact arithmetic with decimals, large integers, fractions and units. Nothing is executed: an expression is
//! parsed and evaluated by the rules below, within limits of length, nesting, digits and work.

mod evaluate;
mod functions;
mod number;
mod token;
mod units;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use self::evaluate::{Evaluated, evaluate};
use super::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, prepared, whole_number};
use crate::domain::{Effect, Shown, ToolAnswer, ToolSpec};

/// Digits of a result that is rounded, unless the call says otherwise.
const DIGITS: usize = 20;
const MAX_DIGITS: usize = 1_000;

pub struct Calculator(ToolSpec);

impl Default for Calculator {
    fn default() -> Self {
        Self(ToolSpec {
            name: "calculator".to_owned(),
            description: "Calculate exactly: decimals, large integers, fractions, powers, n!, percent, sqrt, sin, ln and the \
                          like, and units: \"5 ft 3 in to cm\", \"20 °C to °F\", \"3 GiB / (20 MB/s) to min\". Says whether \
                          the result is exact."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "expression": {"type": "string", "minLength": 1, "maxLength": token::MAX_CHARACTERS},
                    "digits": {"type": "integer", "minimum": 1, "maximum": MAX_DIGITS,
                        "description": "significant digits of a result that is rounded"},
                },
                "required": ["expression"],
            }),
            effect: Effect::Read,
        })
    }
}

#[derive(Deserialize)]
struct Arguments {
    expression: String,
    #[serde(default, deserialize_with = "whole_number")]
    digits: Option<usize>,
}

struct Calculation {
    expression: String,
    digits: usize,
}

impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let calculation =
            |Arguments { expression, digits }| Calculation { expression, digits: digits.unwrap_or(DIGITS) };
        prepared("calculator", arguments, calculation)
    }
}

impl PreparedCall for Calculation {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.expression)
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(async move {
            let (expression, digits) = (self.expression.clone(), self.digits);
            let evaluated = tokio::task::spawn_blocking(move || evaluate(&expression, digits)).await;
            let answer = match evaluated {
                Ok(Ok(Evaluated { text, exact })) => {
                    ToolAnswer::done(format!("calculated {}", self.expression), text).with_data(json!({"exact": exact}))
                }
                Ok(Err(error)) => ToolAnswer::failed(format!("not calculated: {error}.")),
                Err(error) => return Err(EndRun::Broken(error.to_string())),
            };
            Ok(answer.with_code(&self.expression))
        })
    }
}
