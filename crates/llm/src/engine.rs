//! The engine: the one thread that owns the model. It loads the model, then answers one request after another and
//! evaluates the shared prefix while the queue is empty.

use crate::chatml::{Prompt, Tokenizer};
use crate::fit::system_tokens;
use crate::lm::{Lm, LmError, MAX_BATCH, PromptProgress, SEQUENCES};
use crate::queue::{Event, Next, Prefix, Queue};
use crate::recipe::{ChatPipeline, Failure};
use crate::saved::PrefixCache;
use crate::slots::Purpose;
use crate::status::{Phase, PrefixState, Status};
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Size of the KV cache beyond one full conversation, in tokens: for the prefix, the router and other conversations.
const KV_HEADROOM: u32 = 3072;

/// Start options of the engine.
#[derive(Debug, Clone)]
pub struct Options {
    pub model: PathBuf,
    pub threads: i32,
    /// Maximum tokens of a prompt and its answer together.
    pub ctx: u32,
    /// Folder of the saved prefix states; None disables saving.
    pub cache: Option<PathBuf>,
}

/// State shared by the engine and the HTTP server.
pub struct Shared {
    pub status: Status,
    pub queue: Queue,
    /// Set once the model is loaded; used to count tokens.
    pub model: OnceLock<Arc<LlamaModel>>,
    /// Same as [`Options::ctx`].
    pub ctx: u32,
}

/// Loads the model and serves requests until the queue is closed. Blocks; call it on its own thread.
pub fn run(options: &Options, shared: &Arc<Shared>) {
    if let Err(why) = load_and_serve(options, shared) {
        eprintln!("{why}");
        shared.status.set_phase(Phase::Failed(why));
        while !shared.queue.is_closed() {
            // the HTTP server refuses requests before they reach the queue
            let _ = shared.queue.next();
        }
    }
}

fn load_and_serve(options: &Options, shared: &Arc<Shared>) -> Result<(), String> {
    let start = Instant::now();
    let mut backend = LlamaBackend::init().map_err(|e| format!("llama.cpp could not start: {e}"))?;
    backend.void_logs();
    let file = options.model.display();
    if !options.model.is_file() {
        return Err(format!("there is no file {file}"));
    }
    let reporter = Arc::clone(shared);
    let params = LlamaModelParams::default().with_progress_callback(move |share| {
        reporter.status.set_phase(Phase::Loading(share));
        !reporter.queue.is_closed()
    });
    let loaded = LlamaModel::load_from_file(&backend, &options.model, &params);
    if shared.queue.is_closed() {
        return Ok(());
    }
    let failed = |_| format!("{file} is not a GGUF model llama.cpp can load, or memory is short");
    let model = Arc::new(loaded.map_err(failed)?);
    let tokenizer = Tokenizer::new(&model)?;
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(options.ctx + KV_HEADROOM))
        .with_n_batch(MAX_BATCH as u32)
        .with_n_ubatch(MAX_BATCH as u32)
        .with_n_seq_max(SEQUENCES)
        .with_kv_unified(true)
        .with_n_threads(options.threads)
        .with_n_threads_batch(options.threads);
    let ctx = model.new_context(&backend, params).map_err(|e| format!("no memory for the context: {e}"))?;
    let prefix_cache = options.cache.as_ref().and_then(|folder| match PrefixCache::open(folder, &options.model) {
        Ok(cache) => Some(cache),
        Err(why) => {
            eprintln!("prefixes will not be saved: {why}");
            None
        }
    });
    let mut engine = Engine { lm: Lm::new(&model, ctx, options.ctx as usize), tokenizer, prefix_cache, shared };
    let _ = shared.model.set(Arc::clone(&model));
    eprintln!("loaded in {:.1} s, {} thread(s)", start.elapsed().as_secs_f32(), options.threads);
    shared.status.set_phase(Phase::Ready);
    engine.serve();
    Ok(())
}

struct Engine<'m> {
    lm: Lm<'m>,
    tokenizer: Tokenizer<'m>,
    prefix_cache: Option<PrefixCache>,
    shared: &'m Shared,
}

impl Engine<'_> {
    fn serve(&mut self) {
        loop {
            match self.shared.queue.next() {
                Next::Chat(job) => {
                    let done = ChatPipeline::new(&mut self.lm, self.tokenizer, &job).run();
                    if let Err(Failure::Error(error)) = done {
                        eprintln!("a request failed: {}", error.status());
                        job.send(Event::Failed(error));
                    }
                }
                Next::Prefix(prefix) => self.keep_ready(prefix),
                Next::Nothing => {}
                Next::End => return,
            }
        }
    }

    /// Evaluates the prefix and the router's prefix, or loads them from disk. Stops when a request arrives.
    fn keep_ready(&mut self, prefix: Prefix) {
        let system = system_tokens(self.tokenizer, Some(&prefix.system));
        let mut parts = vec![(system, Purpose::Prefix)];
        if !prefix.tools.is_empty() {
            let router: Prompt = crate::router::prefix(&prefix.tools);
            parts.push((self.tokenizer.prompt(&router), Purpose::Router));
        }
        let total: usize = parts.iter().map(|p| p.0.len()).sum();
        let mut before = 0;
        for (tokens, purpose) in parts {
            match self.keep_part(&tokens, purpose, &|done| (before + done) as f32 / total.max(1) as f32) {
                Ok(()) => before += tokens.len(),
                Err(LmError::Stopped) => return self.shared.queue.return_prefix(prefix),
                Err(why) => {
                    eprintln!("the prefix could not be read: {why}");
                    return self.shared.status.set_prefix(PrefixState::None);
                }
            }
        }
        self.shared.status.set_prefix(PrefixState::Ready);
    }

    fn keep_part(
        &mut self,
        tokens: &[LlamaToken],
        purpose: Purpose,
        share: &dyn Fn(usize) -> f32,
    ) -> Result<(), LmError> {
        self.shared.status.set_prefix(PrefixState::Evaluating(share(0)));
        if !self.lm.holds(tokens, purpose)
            && let Some(cache) = &self.prefix_cache
            && cache.load(&mut self.lm, tokens, purpose)
        {
            return Ok(());
        }
        let shared = self.shared;
        let mut watch = |p: PromptProgress| {
            shared.status.set_prefix(PrefixState::Evaluating(share(p.done)));
            match p.done < p.total && shared.queue.should_preempt() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        self.lm.evaluate(tokens, purpose, &mut watch)?;
        if let Some(cache) = &self.prefix_cache {
            cache.save(&self.lm, tokens, purpose);
        }
        Ok(())
    }
}
