//! Choice of the next token: by temperature, and optionally restricted by a grammar.

use crate::lm::{EvaluatedPrompt, Lm, LmError};
use crate::request::Sampling;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// Number of tokens of the answer that the repeat penalty looks at (never at the prompt).
const PENALTY_WINDOW: i32 = 128;
const TOP_K: i32 = 40;

/// Chooses tokens for one text.
pub struct Sampler {
    grammar: Option<LlamaSampler>,
    chain: LlamaSampler,
}

impl Sampler {
    /// Creates a sampler for free text.
    pub fn free(model: &LlamaModel, sampling: Sampling) -> Self {
        Self { grammar: None, chain: chain(model, sampling) }
    }

    /// Creates a sampler for text under a GBNF grammar whose start rule is `root`.
    ///
    /// # Errors
    /// Returns [`LmError::Failed`] if llama.cpp cannot parse the grammar.
    pub fn under_grammar(model: &LlamaModel, grammar: &str, sampling: Sampling) -> Result<Self, LmError> {
        let grammar = LlamaSampler::grammar(model, grammar, "root").map_err(|e| LmError::Failed(e.to_string()))?;
        Ok(Self { grammar: Some(grammar), chain: chain(model, sampling) })
    }

    /// Chooses the next token after `prompt`.
    ///
    /// The unrestricted choice is checked against the grammar first, because that checks one token instead of the
    /// whole vocabulary. llama.cpp's `sample()` is not used: it also accepts the token, and its exceptions would
    /// end the process.
    ///
    /// # Errors
    /// Returns [`LmError::Failed`] if the grammar allows no token at all.
    pub fn next(&mut self, lm: &Lm<'_>, prompt: &EvaluatedPrompt) -> Result<LlamaToken, LmError> {
        let logits = lm.logits(prompt);
        let candidates = || {
            let all = (0..).zip(logits).map(|(id, logit)| LlamaTokenData::new(LlamaToken(id), *logit, 0.0));
            LlamaTokenDataArray::from_iter(all, false)
        };
        let mut token = choose(&mut self.chain, candidates())?;
        if let Some(grammar) = &mut self.grammar {
            if !allows(grammar, token) {
                let mut allowed = candidates();
                grammar.apply(&mut allowed);
                allowed.data.retain(|d| d.logit() > f32::NEG_INFINITY);
                if allowed.data.is_empty() {
                    return Err(LmError::Failed("the grammar allows no further token".into()));
                }
                token = choose(&mut self.chain, allowed)?;
            }
            grammar.try_accept(token).map_err(|e| LmError::Failed(e.to_string()))?;
        }
        self.chain.try_accept(token).map_err(|e| LmError::Failed(e.to_string()))?;
        Ok(token)
    }
}

fn choose(chain: &mut LlamaSampler, mut candidates: LlamaTokenDataArray) -> Result<LlamaToken, LmError> {
    chain.apply(&mut candidates);
    candidates.selected_token().ok_or_else(|| LmError::Failed("no token was chosen".into()))
}

fn allows(grammar: &mut LlamaSampler, token: LlamaToken) -> bool {
    let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
    grammar.apply(&mut one);
    one.data.first().is_some_and(|d| d.logit() > f32::NEG_INFINITY)
}

fn chain(model: &LlamaModel, sampling: Sampling) -> LlamaSampler {
    let mut samplers = Vec::new();
    if (sampling.repeat_penalty - 1.0).abs() > 1e-3 {
        samplers.push(LlamaSampler::penalties(model.n_vocab(), PENALTY_WINDOW, sampling.repeat_penalty, 0.0, 0.0));
    }
    if sampling.temperature <= 0.0 {
        samplers.push(LlamaSampler::greedy());
    } else {
        samplers.push(LlamaSampler::top_k(TOP_K));
        samplers.push(LlamaSampler::top_p(sampling.top_p, 1));
        samplers.push(LlamaSampler::temp(sampling.temperature));
        samplers.push(LlamaSampler::dist(sampling.seed));
    }
    LlamaSampler::chain(samplers, true)
}
