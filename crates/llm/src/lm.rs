//! The language model in memory: evaluates prompts into slots and generates one token at a time.
//! Works on tokens and slots only; messages, tools and HTTP belong to other modules.

use crate::slots::{Purpose, SLOTS, Slots};
use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Target duration of a batch. A request can be cancelled between two batches.
const BATCH_TIME: Duration = Duration::from_millis(700);
/// Maximum batch size, in tokens; larger batches are not faster on a CPU.
pub const MAX_BATCH: usize = 128;
const MIN_BATCH: usize = 8;

/// Why evaluation or generation ended early.
#[derive(Debug, thiserror::Error)]
pub enum LmError {
    /// The watcher asked to stop; the tokens evaluated so far stay in the KV cache.
    #[error("cancelled")]
    Stopped,
    /// The prompt does not fit into the context.
    #[error("the context is full")]
    Full,
    /// llama.cpp failed.
    #[error("the model failed: {0}")]
    Failed(String),
}

/// Progress of a prompt's evaluation, in tokens. `cached` of the `total` tokens came from the KV cache; `done` includes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptProgress {
    pub total: usize,
    pub cached: usize,
    pub done: usize,
    pub elapsed: Duration,
}

/// Called after every batch; a break stops the evaluation.
pub type Watch<'w> = &'w mut dyn FnMut(PromptProgress) -> ControlFlow<()>;

/// An evaluated prompt: its slot, to which tokens can be appended.
#[derive(Debug, Clone, Copy)]
pub struct EvaluatedPrompt {
    pub slot: usize,
    pub cached: usize,
    /// Index of the output of the last batch that holds the logits of the next token.
    output: i32,
}

/// The model with its KV cache.
pub struct Lm<'m> {
    pub model: &'m LlamaModel,
    ctx: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    slots: Slots,
    batch_tokens: usize,
    limit: usize,
}

impl<'m> Lm<'m> {
    /// Creates the wrapper. `limit` is the maximum number of tokens of one prompt and its answer together.
    pub fn new(model: &'m LlamaModel, ctx: LlamaContext<'m>, limit: usize) -> Self {
        let batch = LlamaBatch::new(MAX_BATCH, 1);
        Self { model, ctx, batch, slots: Slots::default(), batch_tokens: 32, limit }
    }

    /// Returns the maximum number of tokens of one prompt and its answer together.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the logits of the next token after `prompt`, one for each token of the vocabulary.
    pub fn logits(&self, prompt: &EvaluatedPrompt) -> &[f32] {
        self.ctx.get_logits_ith(prompt.output)
    }

    /// Evaluates a prompt into a slot of its purpose, starting from the slot that shares the longest prefix with it.
    ///
    /// # Errors
    /// Returns [`LmError::Stopped`] if the watcher breaks, [`LmError::Full`] if the prompt is empty or too
    /// long, or [`LmError::Failed`].
    pub fn evaluate(
        &mut self,
        prompt: &[LlamaToken],
        purpose: Purpose,
        watch: Watch<'_>,
    ) -> Result<EvaluatedPrompt, LmError> {
        if prompt.is_empty() || prompt.len() >= self.limit {
            return Err(LmError::Full);
        }
        let ids: Vec<i32> = prompt.iter().map(|t| t.0).collect();
        // the last token is always evaluated, because that yields the logits of the next token; only the prefix
        // needs no logits
        let reusable = if purpose == Purpose::Prefix { ids.len() } else { ids.len() - 1 };
        let plan = self.slots.plan(&ids[..reusable], purpose);
        self.prepare(plan)?;
        let (slot, cached) = (plan.into, plan.common);
        let start = Instant::now();
        let mut done = cached;
        let mut progress =
            |done: usize| watch(PromptProgress { total: ids.len(), cached, done, elapsed: start.elapsed() });
        if progress(done).is_break() {
            return Err(LmError::Stopped);
        }
        let mut output = 0;
        while done < ids.len() {
            let end = (done + self.batch_tokens).min(ids.len());
            let began = Instant::now();
            output = self.decode(slot, &prompt[done..end])?;
            self.adapt(end - done, began.elapsed());
            done = end;
            if progress(done).is_break() {
                return Err(LmError::Stopped);
            }
        }
        Ok(EvaluatedPrompt { slot, cached, output })
    }

    /// Appends one token that the model generated or that the caller chose.
    ///
    /// # Errors
    /// Returns [`LmError::Full`] at the limit, or [`LmError::Failed`].
    pub fn append_token(&mut self, prompt: &mut EvaluatedPrompt, token: LlamaToken) -> Result<(), LmError> {
        if self.slots.tokens(prompt.slot).len() + 1 >= self.limit {
            return Err(LmError::Full);
        }
        prompt.output = self.decode(prompt.slot, &[token])?;
        Ok(())
    }

    /// Makes slot `plan.into` hold exactly the first `plan.common` tokens of slot `plan.from`.
    fn prepare(&mut self, plan: crate::slots::Plan) -> Result<(), LmError> {
        let kept = self.slots.tokens(plan.from)[..plan.common].to_vec();
        let (from, into) = (plan.from as i32, plan.into as i32);
        let end = Some(plan.common as u32);
        let moved = match plan.from == plan.into {
            true => self.ctx.clear_kv_cache_seq(Some(plan.into as u32), end, None).map(|_| ()),
            false => self
                .ctx
                .clear_kv_cache_seq(Some(plan.into as u32), None, None)
                .and_then(|_| self.ctx.copy_kv_cache_seq(from, into, Some(0), end)),
        };
        self.slots.set(plan.into, &kept);
        moved.map_err(|e| LmError::Failed(e.to_string()))
    }

    /// Evaluates tokens at the end of a slot; clears other slots if the KV cache is full. Returns the index of the
    /// output that holds the logits after the last token.
    fn decode(&mut self, slot: usize, tokens: &[LlamaToken]) -> Result<i32, LmError> {
        loop {
            let start = self.slots.tokens(slot).len();
            self.batch.clear();
            for (i, token) in tokens.iter().enumerate() {
                let last = i + 1 == tokens.len();
                self.batch
                    .add(*token, (start + i) as i32, &[slot as i32], last)
                    .map_err(|e| LmError::Failed(e.to_string()))?;
            }
            match self.ctx.decode(&mut self.batch) {
                Ok(()) => {
                    let ids: Vec<i32> = tokens.iter().map(|t| t.0).collect();
                    self.slots.extend(slot, &ids);
                    return Ok(tokens.len() as i32 - 1);
                }
                Err(DecodeError::NoKvCacheSlot) => {
                    let victim = self.slots.victim(slot).ok_or(LmError::Full)?;
                    self.empty(victim)?;
                }
                Err(e) => return Err(LmError::Failed(e.to_string())),
            }
        }
    }

    fn empty(&mut self, slot: usize) -> Result<(), LmError> {
        self.slots.set(slot, &[]);
        let cleared = self.ctx.clear_kv_cache_seq(Some(slot as u32), None, None);
        cleared.map(|_| ()).map_err(|e| LmError::Failed(e.to_string()))
    }

    fn adapt(&mut self, tokens: usize, took: Duration) {
        if tokens < self.batch_tokens {
            return;
        }
        let fitting = tokens as f64 * BATCH_TIME.as_secs_f64() / took.as_secs_f64().max(1e-3);
        self.batch_tokens = (fitting as usize).clamp(MIN_BATCH, MAX_BATCH) / 8 * 8;
    }

    /// Returns whether the slot of `purpose` begins with all of `prompt`.
    pub fn holds(&self, prompt: &[LlamaToken], purpose: Purpose) -> bool {
        let ids: Vec<i32> = prompt.iter().map(|t| t.0).collect();
        self.slots.tokens(slot_of(purpose)).starts_with(&ids)
    }

    /// Saves the KV cache of a slot, which begins with `prompt`, to a file.
    ///
    /// # Errors
    /// Returns [`LmError::Failed`] with the I/O error.
    pub fn save(&self, prompt: &[LlamaToken], purpose: Purpose, file: &Path) -> Result<(), LmError> {
        let saved = self.ctx.state_seq_save_file(file, slot_of(purpose) as i32, prompt);
        saved.map(|_| ()).map_err(|e| LmError::Failed(e.to_string()))
    }

    /// Loads a state that [`Lm::save`] wrote into the slot of `purpose`; the file must hold exactly `prompt`.
    ///
    /// # Errors
    /// Returns [`LmError::Failed`] and leaves the slot empty.
    pub fn load(&mut self, prompt: &[LlamaToken], purpose: Purpose, file: &Path) -> Result<(), LmError> {
        let slot = slot_of(purpose);
        self.empty(slot)?;
        let loaded = self.ctx.state_seq_load_file(file, slot as i32, prompt.len());
        match loaded {
            Ok((tokens, _)) if tokens == prompt => {
                let ids: Vec<i32> = prompt.iter().map(|t| t.0).collect();
                self.slots.set(slot, &ids);
                Ok(())
            }
            Ok(_) => self.empty(slot).and(Err(LmError::Failed("the file holds another prompt".into()))),
            Err(e) => self.empty(slot).and(Err(LmError::Failed(e.to_string()))),
        }
    }
}

fn slot_of(purpose: Purpose) -> usize {
    match purpose {
        Purpose::Prefix => 0,
        Purpose::Router => 1,
        Purpose::Arguments => 2,
        Purpose::Answer => 3,
    }
}

/// Number of sequences that the context must support.
pub const SEQUENCES: u32 = SLOTS as u32;
