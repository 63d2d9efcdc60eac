//! The router chooses the tool that a question needs, or none. A small model that is asked to "call a tool if needed"
//! calls one even for a greeting; asked to pick one word from a list after a few examples, it is mostly right.
//!
//! The choice walks the token tree of all names, so it cannot name a tool that does not exist. It is biased towards
//! "none": a tool must be clearly more likely.

use crate::chatml::{Prompt, Tokenizer};
use crate::cues;
use crate::lm::{EvaluatedPrompt, Lm, LmError};
use crate::request::Tool;
use crate::turns::{Conversation, cut_middle, head, is_chinese};
use llama_cpp_2::token::LlamaToken;

/// The word for "no tool".
pub const NONE: &str = "none";
/// A tool is called only if the probability of "none" is below this.
const NONE_THRESHOLD: f32 = 0.5;
/// The same for later questions of a conversation, which may hold the answer already.
const NONE_THRESHOLD_LATER: f32 = 0.35;
/// The same for a question that names a file, an address or a command.
const NONE_THRESHOLD_EXTERNAL_REFERENCE: f32 = 0.8;
/// The same after a tool has returned a result: a further call needs more certainty.
const NONE_THRESHOLD_AFTER_RESULT: f32 = 0.08;
const DESCRIPTION_CHARS: usize = 110;
const QUESTION_CHARS: usize = 500;
const CONTEXT_CHARS: usize = 120;
/// Prefixes of the lines that start passages added by the server; these passages are not part of the question.
const RETRIEVED_PASSAGE_MARKERS: [&str; 2] = ["\n[记忆检索结果]", "\n[Retrieved memory]"];

/// Returns the fixed part of the prompt: the task, the tools, the examples.
pub fn prefix(tools: &[Tool]) -> Prompt {
    let mut prompt = Prompt::default();
    let mut task = String::from(
        "You choose which tool is needed to handle the user's message. Answer with one name from the list only.\n\
         Choose none for greetings, thanks, small talk, opinions, general knowledge, explanations, writing, \
         translating, or when the text to work on is already in the message.\n\
         Choose a tool only when the message asks for something that tool does.\n\nTools:\n",
    );
    for tool in tools {
        task.push_str(&format!("- {}: {}\n", tool.name, first_sentence(&tool.description)));
    }
    task.push_str("- none: no tool is needed");
    prompt.message("system", &task);
    for (question, answer) in crate::examples::for_tools(tools) {
        prompt.message("user", question).message("assistant", answer);
    }
    prompt
}

/// Returns the variable part of the prompt: the question, with a little of the preceding turn.
pub fn question(conversation: &Conversation) -> Prompt {
    let turn = conversation.last();
    let mut text = String::new();
    if let [.., before, _] = conversation.turns.as_slice()
        && is_follow_up(&turn.question)
        && !before.question.is_empty()
    {
        text.push_str(&format!("{} ", head(&one_line(&before.question), CONTEXT_CHARS)));
    }
    text.push_str(&cut_middle(strip_retrieved_passages(&turn.question), QUESTION_CHARS));
    for result in &turn.results {
        let got = head(&one_line(&result.text), CONTEXT_CHARS);
        text.push_str(&format!("\n(Done: {} {} returned: {got})", result.name, head(&result.arguments, CONTEXT_CHARS)));
    }
    let mut prompt = Prompt::default();
    prompt.message("user", &text).assistant();
    prompt
}

/// Returns whether a question makes sense only after the preceding one, such as "and tomorrow?". Only these
/// questions get the preceding question as context, because with it in front of every question the router chooses
/// tools too often.
fn is_follow_up(question: &str) -> bool {
    let question = question.trim().to_lowercase();
    let short = question.chars().count() <= if is_chinese(&question) { 12 } else { 40 };
    let starts = ["那", "还有", "再", "换成", "and ", "what about", "how about", "also ", "now "];
    let ends = ["呢", "呢？", "呢?"];
    short && (starts.iter().any(|s| question.starts_with(s)) || ends.iter().any(|e| question.ends_with(e)))
}

/// Returns the user's question without the passages that the server added.
pub fn strip_retrieved_passages(question: &str) -> &str {
    let end = RETRIEVED_PASSAGE_MARKERS.iter().filter_map(|marker| question.find(marker)).min();
    end.map_or(question, |end| &question[..end])
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a description, on one line.
pub fn first_sentence(description: &str) -> String {
    let line = one_line(description);
    let ends = line.char_indices().filter(|(i, c)| match c {
        '。' | '！' | '；' => true,
        '.' if line[..*i].ends_with("e.g") || line[..*i].ends_with("i.e") => false,
        '.' | '!' | ';' => line[i + 1..].starts_with(' ') || line.len() == i + 1,
        _ => false,
    });
    let end = ends.map(|(i, _)| i).find(|i| *i > 12).unwrap_or(line.len());
    head(&line[..end], DESCRIPTION_CHARS)
}

/// The situation of a question, which sets the threshold for "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutingContext {
    /// A tool must be called.
    MustCall,
    /// The first question of a conversation.
    First,
    /// A later question of a conversation.
    Later,
    /// The question names a file, an address or a command.
    ExternalReference,
    /// A tool has already returned a result for the question.
    AfterResult,
}

/// Returns the routing context of a question for which no tool has been called yet.
pub fn routing_context(conversation: &Conversation) -> RoutingContext {
    let question = strip_retrieved_passages(&conversation.last().question);
    match (cues::contains_external_reference(question), conversation.turns.len()) {
        (true, _) => RoutingContext::ExternalReference,
        (false, ..=1) => RoutingContext::First,
        (false, _) => RoutingContext::Later,
    }
}

/// The result of the choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen {
    /// Index of the tool; None is "no tool".
    pub tool: Option<usize>,
    /// Probability of "none" at the first token.
    pub none_probability: f32,
    /// Number of tokens computed for the choice.
    pub tokens: usize,
}

/// Chooses a tool after the router's prompt has been evaluated.
///
/// # Errors
/// Returns the errors of [`Lm::append_token`].
pub fn choose(
    lm: &mut Lm<'_>,
    tokenizer: Tokenizer<'_>,
    prompt: &mut EvaluatedPrompt,
    question: (&[Tool], RoutingContext),
) -> Result<Chosen, LmError> {
    let (tools, context) = question;
    let mut paths: Vec<(Option<usize>, Vec<LlamaToken>)> = Vec::new();
    for (i, tool) in tools.iter().enumerate() {
        paths.push((Some(i), path(tokenizer, &tool.name)));
    }
    let threshold = match context {
        RoutingContext::MustCall => None,
        RoutingContext::First => Some(NONE_THRESHOLD),
        RoutingContext::Later => Some(NONE_THRESHOLD_LATER),
        RoutingContext::ExternalReference => Some(NONE_THRESHOLD_EXTERNAL_REFERENCE),
        RoutingContext::AfterResult => Some(NONE_THRESHOLD_AFTER_RESULT),
    };
    if threshold.is_some() {
        paths.push((None, path(tokenizer, NONE)));
    }
    let mut depth = 0;
    let mut none_probability = 0.0;
    while paths.len() > 1 {
        let probabilities = probabilities(lm.logits(prompt), &next_tokens(&paths, depth));
        let none = paths.iter().find(|p| p.0.is_none()).and_then(|p| p.1.get(depth)).copied();
        let p_none = none.and_then(|t| probabilities.iter().find(|c| c.0 == t)).map_or(0.0, |c| c.1);
        if depth == 0 {
            none_probability = p_none;
        }
        let alone = paths.iter().filter(|p| p.1.get(depth).copied() == none).count() == 1;
        if let Some(threshold) = threshold
            && alone
        {
            if p_none >= threshold {
                return Ok(Chosen { tool: None, none_probability, tokens: depth + 1 });
            }
            paths.retain(|p| p.0.is_some());
        }
        let open = |t: LlamaToken| paths.iter().any(|p| p.1.get(depth) == Some(&t));
        let likeliest = probabilities.iter().filter(|c| open(c.0)).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some(best) = likeliest.map(|c| c.0) else { break };
        paths.retain(|p| p.1.get(depth) == Some(&best));
        depth += 1;
        if paths.len() > 1 {
            lm.append_token(prompt, best)?;
        }
    }
    Ok(Chosen { tool: paths.first().and_then(|p| p.0), none_probability, tokens: depth })
}

/// Returns the tokens of a name and of the message's end, so that no name is a prefix of another.
fn path(tokenizer: Tokenizer<'_>, name: &str) -> Vec<LlamaToken> {
    let mut tokens = tokenizer.text(name);
    tokens.push(tokenizer.end());
    tokens
}

fn next_tokens(paths: &[(Option<usize>, Vec<LlamaToken>)], depth: usize) -> Vec<LlamaToken> {
    let mut tokens: Vec<LlamaToken> = paths.iter().filter_map(|p| p.1.get(depth).copied()).collect();
    tokens.sort_unstable_by_key(|t| t.0);
    tokens.dedup();
    tokens
}

/// Returns the probability of each allowed token, normalised over the allowed tokens.
fn probabilities(logits: &[f32], allowed: &[LlamaToken]) -> Vec<(LlamaToken, f32)> {
    let value = |t: &LlamaToken| usize::try_from(t.0).ok().and_then(|i| logits.get(i)).copied().unwrap_or(f32::MIN);
    let top = allowed.iter().map(value).fold(f32::MIN, f32::max);
    let weights: Vec<f32> = allowed.iter().map(|t| (value(t) - top).exp()).collect();
    let sum: f32 = weights.iter().sum();
    allowed.iter().zip(weights).map(|(t, w)| (*t, w / sum)).collect()
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
