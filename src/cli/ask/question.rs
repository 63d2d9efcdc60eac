//! The question: from the command line and standard input.

use std::io::{IsTerminal as _, Read as _, stdin};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

/// Maximum length of standard input, in bytes: that of a message.
const MAX_INPUT: u64 = 1 << 20;

pub struct Question {
    pub text: String,
    /// Standard input, beside a question from the command line.
    input: Option<String>,
}

impl Question {
    /// Reads the question, and standard input unless it is a terminal.
    pub fn read(told: Option<&str>) -> anyhow::Result<Self> {
        let told = told.filter(|told| *told != "-");
        let is_terminal = stdin().is_terminal();
        if told.is_none() && is_terminal {
            bail!("there is no question: miniclaw ask \"…\", or send it to standard input");
        }
        let input = if is_terminal { String::new() } else { input()? };
        match told {
            Some(told) => Ok(Self { text: told.to_owned(), input: Some(input).filter(|input| !input.is_empty()) }),
            None if input.trim().is_empty() => bail!("there is no question: standard input is empty"),
            None => Ok(Self { text: input, input: None }),
        }
    }

    /// Returns what tells the model what is wrong with its JSON.
    pub fn correcting(wrong: &str) -> Self {
        let text =
            format!("This does not match the JSON Schema: {wrong}. Answer again with the JSON value and nothing else.");
        Self { text, input: None }
    }

    /// Returns the body of the request. It waits for a work under way.
    pub fn request(&self, session: &str) -> Value {
        let input = self.input.iter().map(|input| json!({"name": "stdin.txt", "content": input}));
        let attachments: Vec<Value> = input.collect();
        json!({"message": self.text, "session_id": session, "when": "next", "attachments": attachments})
    }
}

fn input() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    stdin().take(MAX_INPUT + 1).read_to_end(&mut bytes).context("reading standard input")?;
    if bytes.len() as u64 > MAX_INPUT {
        bail!("standard input is longer than 1 MiB; put it into a file of the home and name the file in the question");
    }
    String::from_utf8(bytes).context("standard input is no text in UTF-8")
}
