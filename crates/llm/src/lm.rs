//! The language model in memory: reading prompts into slots and writing one token after another.
//! Knows tokens and slots; nothing of messages, tools or HTTP.

use crate::slots::{Purpose, SLOTS, Slots};
use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// Tokens are read in batches that take about this long, so that a request can be cancelled between two.
const BATCH_TIME: Duration = Duration::from_millis(700);
/// Largest batch, in tokens; more is not faster on a CPU.
pub const MAX_BATCH: usize = 128;
const MIN_BATCH: usize = 8;

/// Why reading or writing ended early.
#[derive(Debug, thiserror::Error)]
pub enum LmError {
    /// The watcher asked to stop; what was read so far is kept.
    #[error("cancelled")]
    Stopped,
    /// The prompt is longer than the memory.
    #[error("the context is full")]
    Full,
    /// llama.cpp failed.
    #[error("the model failed: {0}")]
    Failed(String),
}

/// How far a prompt is read, in tokens. `cached` of `total` needed no reading; `done` includes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadProgress {
    pub total: usize,
    pub cached: usize,
    pub done: usize,
    pub elapsed: Duration,
}

/// Called after every batch; break to stop reading.
pub type Watch<'w> = &'w mut dyn FnMut(ReadProgress) -> ControlFlow<()>;

/// A prompt that has been read: its slot, ready to be written on.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub slot: usize,
    pub cached: usize,
    /// Which output of the last batch holds the logits of the next token.
    output: i32,
}

/// The model with its memory.
pub struct Lm<'m> {
    pub model: &'m LlamaModel,
    ctx: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    slots: Slots,
    batch_tokens: usize,
    limit: usize,
}

impl<'m> Lm<'m> {
    /// `limit` is the most tokens one prompt and its answer may have together.
    pub fn new(model: &'m LlamaModel, ctx: LlamaContext<'m>, limit: usize) -> Self {
        let batch = LlamaBatch::new(MAX_BATCH, 1);
        Self { model, ctx, batch, slots: Slots::default(), batch_tokens: 32, limit }
    }

    /// The most tokens one prompt and its answer may have together.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The logits of the next token after `reading`, one for each token of the vocabulary.
    pub fn logits(&self, reading: &Reading) -> &[f32] {
        self.ctx.get_logits_ith(reading.output)
    }

    /// Reads a prompt into a slot of its purpose, starting from the slot that shares the longest beginning.
    ///
    /// # Errors
    /// [`LmError::Stopped`] when the watcher broke off, [`LmError::Full`], [`LmError::Failed`].
    pub fn read(&mut self, prompt: &[LlamaToken], purpose: Purpose, watch: Watch<'_>) -> Result<Reading, LmError> {
        if prompt.is_empty() || prompt.len() >= self.limit {
            return Err(LmError::Full);
        }
        let ids: Vec<i32> = prompt.iter().map(|t| t.0).collect();
        // the last token is always read, because the next token's logits come with it; only the prefix needs none
        let reusable = if purpose == Purpose::Prefix { ids.len() } else { ids.len() - 1 };
        let plan = self.slots.plan(&ids[..reusable], purpose);
        self.prepare(plan)?;
        let (slot, cached) = (plan.into, plan.common);
        let start = Instant::now();
        let mut done = cached;
        let mut progress =
            |done: usize| watch(ReadProgress { total: ids.len(), cached, done, elapsed: start.elapsed() });
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
        Ok(Reading { slot, cached, output })
    }

    /// Appends one token the model wrote (or was made to write).
    ///
    /// # Errors
    /// [`LmError::Full`] at the limit, [`LmError::Failed`].
    pub fn write(&mut self, reading: &mut Reading, token: LlamaToken) -> Result<(), LmError> {
        if self.slots.tokens(reading.slot).len() + 1 >= self.limit {
            return Err(LmError::Full);
        }
        reading.output = self.decode(reading.slot, &[token])?;
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

    /// Decodes tokens at the end of a slot; empties other slots when the memory is full. Returns which output
    /// holds the logits after the last token.
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

    /// Whether the slot of `purpose` begins with all of `prompt`.
    pub fn holds(&self, prompt: &[LlamaToken], purpose: Purpose) -> bool {
        let ids: Vec<i32> = prompt.iter().map(|t| t.0).collect();
        self.slots.tokens(own(purpose)).starts_with(&ids)
    }

    /// Writes the state of the first tokens of a slot to a file.
    ///
    /// # Errors
    /// [`LmError::Failed`] with what the disk said.
    pub fn save(&self, prompt: &[LlamaToken], purpose: Purpose, file: &Path) -> Result<(), LmError> {
        let saved = self.ctx.state_seq_save_file(file, own(purpose) as i32, prompt);
        saved.map(|_| ()).map_err(|e| LmError::Failed(e.to_string()))
    }

    /// Loads a state saved by [`Lm::save`] into the slot of `purpose`; the file must hold exactly `prompt`.
    ///
    /// # Errors
    /// [`LmError::Failed`]; the slot is then empty.
    pub fn load(&mut self, prompt: &[LlamaToken], purpose: Purpose, file: &Path) -> Result<(), LmError> {
        let slot = own(purpose);
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

fn own(purpose: Purpose) -> usize {
    match purpose {
        Purpose::Prefix => 0,
        Purpose::Router => 1,
        Purpose::Arguments => 2,
        Purpose::Answer => 3,
    }
}

/// Sequences the context must be made for.
pub const SEQUENCES: u32 = SLOTS as u32;
